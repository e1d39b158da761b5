"""One contract for every provider that calls a server: the real SDKs, and everything a server can answer."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from precompact_shared.clock import monotonic_s
from precompact_shared.engine.preset import load_preset
from precompact_shared.engine.summary import extract
from precompact_shared.engine.tokens import count_message
from precompact_shared.engine.types import Entry, Format
from precompact_shared.errors import PrecompactError
from precompact_shared.policy import Policy
from precompact_shared.provider_spec import ProviderSpec
from precompact_shared.settings import Settings
from precompact_shared.store.types import JobKind, JobState, JobTag
from precompact_worker.book import Book
from precompact_worker.providers.base import Reply, Request
from precompact_worker.providers.clients import Clients
from precompact_worker.providers.registry import Desk, make_chain
from precompact_worker.providers.verdicts import (
    ProviderFailed,
    ProviderMisconfigured,
    ProviderOverflow,
    ProviderRefused,
    ProviderRejected,
    ProviderTimeout,
    ProviderUnusable,
)
from tests.support.fake_llm import Answer, FakeLLM, failing, hanging_up, silent
from tests.support.talk import turns
from tests.support.wires import WIRES, Wire

SECRET_KEY = "sk-test-planted-key-0123456789"
WORDS = "the secret word is pomegranate"
HTML = b"<html><body>502 Bad Gateway</body></html>"
PRESET = load_preset("precompact")


@pytest.fixture(params=WIRES, ids=lambda wire: wire.name)
def wire(request: pytest.FixtureRequest) -> Wire:
    """Each protocol."""
    found: Wire = request.param
    return found


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys in the usual places; no proxy in between."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", SECRET_KEY)
    monkeypatch.setenv("OPENAI_API_KEY", SECRET_KEY)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def request_for(count: int = 12) -> Request:
    """A summary of some turns."""
    messages = [{"role": "user", "content": WORDS}, *turns(count, words=4)]
    covered = tuple(
        Entry(seq, one, count_message(Format.ANTHROPIC, one, None)) for seq, one in enumerate(messages)
    )
    carried = extract(Format.ANTHROPIC, covered, None)
    return Request(
        format=Format.ANTHROPIC,
        preset=PRESET,
        carried=carried,
        known=carried,
        covered=covered,
        covered_tokens=sum(entry.tokens for entry in covered),
        max_tokens=1_000,
        focus=None,
        attempt=1,
    )


class Call:
    """One summary asked of a server that gives these answers."""

    def __init__(self, wire: Wire, *answers: Answer, **fields: Any) -> None:
        self.wire = wire
        self.server = FakeLLM(list(answers))
        self.fields = fields
        job = JobTag(jid="j", version=1, kind=JobKind.DUE, state=JobState.RUNNING, fence=3)
        self.book = Book(job, monotonic_s, Policy().price_of)

    async def run(self, request: Request | None = None) -> Reply:
        """The reply, or what it raises."""
        async with self.server as server:
            spec: ProviderSpec = self.wire.spec(server.url, **self.fields)
            settings = Settings(anthropic_base_url=spec.base_url, openai_base_url=spec.base_url)
            clients = Clients(settings)
            try:
                [provider] = make_chain([spec], Desk(Policy(), Format.ANTHROPIC, clients))
                return await provider.summarise(request or request_for(), self.book)
            finally:
                await clients.close()

    async def failure(self, request: Request | None = None) -> PrecompactError:
        """What it raises; it pickles, and tells nothing that was sent."""
        with pytest.raises(PrecompactError) as raised:
            await self.run(request)
        again = pickle.loads(pickle.dumps(raised.value))  # noqa: S301
        assert str(again) == str(raised.value)
        told = f"{raised.value!r} {self.book.records()}"
        assert "pomegranate" not in told
        assert SECRET_KEY not in told
        assert raised.value.__cause__ is None
        assert raised.value.__suppress_context__ or raised.value.__context__ is None
        return raised.value

    @property
    def outcomes(self) -> list[object]:
        """Of the calls on record."""
        return [record["outcome"] for record in self.book.records()]


async def test_a_good_reply_is_taken_and_paid_for(wire: Wire) -> None:
    """Text, usage by price class, money, the provider's id."""
    call = Call(wire, wire.reply("a record"))
    reply = await call.run()
    assert reply.text == "a record"
    [record] = call.book.records()
    assert (record["input_tokens"], record["cache_read_tokens"], record["output_tokens"]) == (900, 50, 70)
    assert (record["outcome"], record["request_id"], record["mode"]) == ("ok", "req_a", "transcript")
    assert isinstance(record["cost_usd"], float)
    assert 0 < record["cost_usd"] < 0.01
    [sent] = call.server.requests
    asked = wire.asked(sent.body)
    assert "pomegranate" in asked
    assert asked.rindex("## Addresses") > asked.rindex("pomegranate")
    assert sent.headers["authorization"] == f"Bearer {SECRET_KEY}"


async def test_a_stream_without_its_end_is_no_reply(wire: Wire) -> None:
    """The SDK raises nothing; the text looks complete."""
    call = Call(wire, wire.reply("half a record", stop="none"))
    assert isinstance(await call.failure(), ProviderFailed)
    assert call.outcomes == ["cut_off"]


async def test_a_connection_that_breaks_inside_the_stream(wire: Wire) -> None:
    """What was used until then is on record where the protocol told it."""
    call = Call(wire, wire.reply("half a record", stop="none", ends="early"))
    assert isinstance(await call.failure(), ProviderFailed)
    assert call.outcomes == ["unreachable"]
    if wire.name == "anthropic":
        assert call.book.records()[0]["input_tokens"] == 900


async def test_an_error_inside_the_stream(wire: Wire) -> None:
    """Status 200 was sent long ago."""
    call = Call(wire, wire.error_event("overloaded"))
    assert isinstance(await call.failure(), ProviderFailed)


async def test_a_stream_that_falls_silent(wire: Wire) -> None:
    """The idle time is bounded, not the whole call alone."""
    begun_s = monotonic_s()
    call = Call(wire, wire.reply("half", stop="none", ends="never"), idle_timeout_s=0.3)
    assert isinstance(await call.failure(), ProviderTimeout)
    assert monotonic_s() - begun_s < 5
    assert call.outcomes == ["timeout"]


async def test_a_server_that_says_nothing(wire: Wire) -> None:
    """The call's own time."""
    call = Call(wire, silent, call_timeout_s=0.3)
    assert isinstance(await call.failure(), ProviderTimeout)


async def test_a_server_that_hangs_up(wire: Wire) -> None:
    """Once; the ledger repeats, not the SDK."""
    call = Call(wire, hanging_up)
    assert isinstance(await call.failure(), ProviderFailed)
    assert len(call.server.requests) == 1


@pytest.mark.parametrize("text", ["", " \n"])
async def test_an_empty_reply_is_asked_for_once_more(wire: Wire, text: str) -> None:
    """Then somebody else."""
    call = Call(wire, wire.reply(text), wire.reply("a record"))
    assert (await call.run()).text == "a record"
    assert call.outcomes == ["empty", "ok"]
    again = Call(wire, wire.reply(text))
    assert isinstance(await again.failure(), ProviderUnusable)
    assert again.outcomes == ["empty", "empty"]
    assert all(record["output_tokens"] == 70 for record in again.book.records())


async def test_a_tool_call_is_no_record(wire: Wire) -> None:
    """However good its arguments."""
    call = Call(wire, wire.reply("let me look", stop="tool"))
    assert isinstance(await call.failure(), ProviderUnusable)


async def test_a_reply_that_was_cut_off_gets_twice_the_room_once(wire: Wire) -> None:
    """And is on record with what it cost."""
    call = Call(wire, wire.reply("a rec", stop="length"), wire.reply("a record"))
    assert (await call.run()).text == "a record"
    assert call.outcomes == ["max_tokens", "ok"]
    rooms = [
        one.body.get("max_tokens") or one.body.get("max_output_tokens") or one.body["max_completion_tokens"]
        for one in call.server.requests
    ]
    assert rooms[1] == 2 * rooms[0]
    twice = Call(wire, wire.reply("a rec", stop="length"))
    assert isinstance(await twice.failure(), ProviderUnusable)
    assert len(twice.server.requests) == 2


@pytest.mark.parametrize("stop", ["refusal", "filter"])
async def test_a_refusal_is_not_repeated(wire: Wire, stop: str) -> None:
    """The same text would be refused again."""
    call = Call(wire, wire.reply("I can't", stop=stop))
    assert isinstance(await call.failure(), ProviderRefused)
    assert len(call.server.requests) == 1


async def test_too_large_a_source_is_divided_further_from_the_original(wire: Wire) -> None:
    """70 %, then 50 % of the room: nothing is left out, everything is on record."""
    call = Call(
        wire,
        wire.error(400, "overflow"),
        wire.reply("a record"),
        window=6_000,
        max_output=600,
    )
    request = request_for(30)
    reply = await call.run(request)
    assert reply.text == "a record"
    assert reply.seen_tokens is not None
    assert reply.seen_tokens >= 0.97 * request.covered_tokens
    assert call.outcomes[0] in {"prompt_too_long", "context_length_exceeded"}
    asked = [wire.asked(one.body) for one in call.server.requests[1:]]
    assert len(asked) > 1
    for number in range(30):
        assert sum(f"request {number}:" in one for one in asked) >= 1
    assert "a record" in asked[1]


async def test_a_source_that_never_fits_is_given_up(wire: Wire) -> None:
    """After 100, 70, 50 and 35 %."""
    call = Call(wire, wire.error(400, "overflow"))
    assert isinstance(await call.failure(), ProviderOverflow)
    assert len(call.server.requests) == 4


@pytest.mark.parametrize(
    ("status", "kind", "family"),
    [
        (429, "rate", ProviderFailed),
        (500, "api_error", ProviderFailed),
        (503, "server_error", ProviderFailed),
        (529, "overloaded_error", ProviderFailed),
        (401, "key", ProviderMisconfigured),
        (403, "permission_error", ProviderMisconfigured),
        (404, "not_found_error", ProviderMisconfigured),
        (402, "billing_error", ProviderMisconfigured),
        (413, "request_too_large", ProviderOverflow),
        (400, "invalid_request_error", ProviderRejected),
    ],
)
async def test_each_status_has_its_family(
    wire: Wire, status: int, kind: str, family: type[PrecompactError]
) -> None:
    """And the server's text goes nowhere."""
    call = Call(wire, wire.error(status, kind, text=f"refused: {WORDS}"))
    assert type(await call.failure()) is family


@pytest.mark.parametrize(("asked", "waits"), [("7", 7.0), ("4000000", 300.0), ("-1", 1.0), ("never", 1.0)])
async def test_what_a_server_asks_to_wait_is_bounded(wire: Wire, asked: str, waits: float) -> None:
    """And nobody sleeps here: the ledger does."""
    begun_s = monotonic_s()
    failure = await Call(wire, wire.error(429, "rate", retry_after=asked)).failure()
    assert isinstance(failure, ProviderFailed)
    assert failure.retry_after_s == waits
    assert monotonic_s() - begun_s < 5


@pytest.mark.parametrize(("status", "body"), [(200, HTML), (200, b""), (502, HTML)])
async def test_a_page_in_place_of_an_answer(wire: Wire, status: int, body: bytes) -> None:
    """A proxy in between; it passes."""
    call = Call(wire, failing(status, body))
    assert isinstance(await call.failure(), ProviderFailed)


async def test_an_account_without_money_is_no_rate_limit() -> None:
    """OpenAI says both with 429."""
    wire = WIRES[1]
    call = Call(wire, wire.error(429, "insufficient_quota"))
    assert isinstance(await call.failure(), ProviderMisconfigured)


async def test_a_window_nobody_knows_is_refused_with_what_to_do(wire: Wire) -> None:
    """No call is made on a guess."""
    spec = wire.spec("http://127.0.0.1:9", window=None).model_copy(update={"model": "house-model"})
    clients = Clients(Settings(anthropic_base_url=spec.base_url, openai_base_url=spec.base_url))
    [provider] = make_chain([spec], Desk(Policy(), Format.ANTHROPIC, clients))
    with pytest.raises(ProviderMisconfigured, match="window"):
        await provider.summarise(request_for(), Call(wire).book)
