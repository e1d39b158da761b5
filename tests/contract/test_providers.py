"""One contract for every provider: the real SDKs at the stand-in, as streams and as JSON, and all that can go wrong."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
import pytest_asyncio

from precompact_shared.clock import monotonic_s
from precompact_shared.engine.types import Format
from precompact_standin import Reply as Spoken
from precompact_standin import Scenario, Step
from precompact_standin.scenario import Fault, FaultKind, FaultRule
from precompact_worker.providers.base import Reply
from precompact_worker.providers.clients import Clients
from precompact_worker.providers.native import Native
from precompact_worker.providers.verdicts import ProviderFailed, ProviderTimeout
from tests.contract.asking import KEYS, Asked, mode_of, request_for, settings_for, told_usage
from tests.contract.provider_faults import STATUS, Case, End, rows
from tests.support.backends import ACCESS_KEY, CALLER, CODE, KEY, NATIVE, SECRET, TEXT, Backend
from tests.support.standin import Served

pytestmark = pytest.mark.asyncio(loop_scope="module")
SERVERS = (*TEXT, *NATIVE)
LONG_S = 20
"""Nobody waits for what a server asks to wait for; the machine may be busy."""
OFTEN = {
    *("anthropic", "anthropic-json", "anthropic-bedrock-signed", "anthropic-bedrock-signed-json"),
    *("responses", "responses-json", "chat", "chat-json", "azure-chat"),
    *("native-anthropic", "native-anthropic-json", "native-bedrock", "native-compact"),
    *("native-trigger", "native-trigger-json"),
    *(one.name for one in CALLER),
}
"""Each dialect and way at least once; the same failures on the other platforms are slow tests."""
ROWS = [
    pytest.param(
        *row,
        id=f"{row[0].name}-{row[1].id}",
        marks=[] if row[0].name in OFTEN else [pytest.mark.slow],
    )
    for row in rows()
]
PINGED = [
    pytest.param(one, id=one.name, marks=[] if one.name in {"anthropic", "responses"} else [pytest.mark.slow])
    for one in SERVERS
    if one.streams
]
"""Each takes a second and a half."""
WHO: dict[str, Any] = {"keys": {KEY: "ours", ACCESS_KEY: "ours"}, "signers": {ACCESS_KEY: SECRET}}
"""Nobody else is let in, and a signature has to be right."""
SAID = Scenario(script=(Step(reply=Spoken(text="a record")),), **WHO)


@pytest.fixture(scope="module", autouse=True)
def keys() -> Iterator[None]:
    """Keys in the usual places."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in KEYS.items():
            patch.setenv(name, value)
        yield


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def clients(keys: None, standin_server: Served) -> AsyncIterator[Clients]:
    """Connections as a worker has them: one per provider, kept."""
    made = Clients(settings_for(standin_server))
    yield made
    await made.close()


def begin(standin: Served, backend: Backend, *faults: FaultRule, scenario: Scenario = SAID) -> None:
    """Play the scenario with these faults and without the paths that the provider lacks."""
    fields = {name: getattr(scenario, name) for name in ("keys", "signers", "script")}
    standin.play(Scenario(**fields, faults=faults, paths_off=backend.paths_off))


def generating(standin: Served) -> list[dict[str, object]]:
    """Calls that reached a path the server has."""
    return [entry for entry in standin.requests if entry.get("status") != 404 or "fault" in entry]


@pytest.mark.parametrize("backend", [*SERVERS, *CALLER], ids=str)
async def test_a_good_reply_is_taken_and_paid_for(
    standin: Served, clients: Clients, backend: Backend
) -> None:
    """Text or block, usage by price class, money, the provider's id; at the platform's own path, with its key."""
    begin(standin, backend)
    asked = Asked(backend, standin, clients)
    reply = await asked.reply()
    record, entry = asked.book.records()[-1], standin.requests[-1]
    check_words(standin, backend, reply)
    assert (record["provider"], record["model"]) == (backend.provider, backend.model)
    assert (record["outcome"], record["mode"], record["estimated"]) == ("ok", mode_of(backend), False)
    prompt = record["input_tokens"] + record["cache_read_tokens"] + record["cache_write_tokens"]  # type: ignore[operator]
    told = told_usage(backend, entry["usage"])
    assert (prompt, record["cache_read_tokens"], record["output_tokens"]) == told
    assert isinstance(record["cost_usd"], float)
    assert 0 < record["cost_usd"] < 0.1
    assert (entry["url"], entry["status"]) == (backend.url, 200)
    assert bool(entry.get("stream")) == (backend.streams and "/model/" not in backend.url)
    if backend not in CALLER:
        assert record["request_id"] == entry["request_id"]
    if backend.signs:
        service = "bedrock" if backend.format is Format.ANTHROPIC else "bedrock-mantle"
        assert entry["signed"] == {"scope": f"eu-central-1/{service}", "proven": True}


def check_words(standin: Served, backend: Backend, reply: Reply) -> None:
    """The words that were said: as text, or inside the block."""
    if not backend.is_native:
        assert (reply.text, reply.native) == ("a record", None)
        return
    assert reply.native is not None
    assert reply.native.family in {"claude-opus-5-5", "gpt-6-sol"}
    items = [json.loads(item) for item in reply.native.items]
    if backend.format is Format.ANTHROPIC:
        [block] = items[0]["content"]
        assert (block["type"], block["content"]) == ("compaction", "a record")
        assert block["signature"]
    else:
        sealed = standin.app.state.signer.unseal(items[-1]["encrypted_content"])
        assert sealed is not None
        assert (items[-1]["type"], sealed["text"]) == ("compaction", "a record")
    assert reply.text


@pytest.mark.parametrize("backend", CODE, ids=str)
async def test_summaries_by_code_keep_to_the_same_contract(
    standin: Served, clients: Clients, backend: Backend
) -> None:
    """A text, its size, and a record without cost."""
    asked = Asked(backend, standin, clients)
    reply = await asked.reply()
    assert "pomegranate" in reply.text
    [record] = asked.book.records()
    assert (record["provider"], record["outcome"], record["mode"]) == (backend.provider, "ok", "code")
    assert (record["output_tokens"], record["cost_usd"]) == (reply.tokens, 0.0)


@pytest.mark.parametrize("backend", SERVERS, ids=str)
async def test_what_was_read_from_a_cache_is_told_apart(
    standin: Served, clients: Clients, backend: Backend
) -> None:
    """By each provider's own convention: here the whole prompt includes it, there it does not."""
    begin(standin, backend, scenario=Scenario(**WHO))
    asked = Asked(backend, standin, clients)
    request = request_for(backend.format, 60, words=6)
    for _ in range(2):
        await asked.reply(request)
    record, entry = asked.book.records()[-1], generating(standin)[-1]
    prompt, read, _ = told_usage(backend, entry["usage"])  # type: ignore[arg-type]
    assert record["cache_read_tokens"] == read
    assert record["input_tokens"] + record["cache_write_tokens"] == prompt - read  # type: ignore[operator]
    if backend.format is not Format.ANTHROPIC:
        assert read > 1_000


@pytest.mark.parametrize(("backend", "case", "end"), ROWS)
async def test_every_failure_has_its_family_and_is_on_record(
    standin: Served, clients: Clients, backend: Backend, case: Case, end: End
) -> None:
    """No exception of an SDK's, no word of conversation, key or server; one call unless a second one helps."""
    begin(standin, backend, FaultRule(fault=case.fault), scenario=Scenario(**WHO))
    asked = Asked(backend, standin, clients, case.fields)
    begun_s = monotonic_s()
    failure = await asked.failure()
    assert monotonic_s() - begun_s < LONG_S
    assert (type(failure), asked.outcomes[-end.calls :]) == (end.family, [end.outcome] * end.calls)
    reached = [entry["url"] for entry in generating(standin)]
    assert reached == [backend.url] * end.calls or (end.family is ProviderTimeout and not reached)
    if case.fault.retry_after:
        assert getattr(failure, "retry_after_s", 0) == float(case.fault.retry_after)
    for record in asked.book.records()[-end.calls :]:
        check_record(record, end, case)


def check_record(record: dict[str, object], end: End, case: Case) -> None:
    """What was used is known, or estimated where a call did not come to its end; nothing where none was answered."""
    used = record["input_tokens"] + record["cache_read_tokens"] + record["cache_write_tokens"]  # type: ignore[operator]
    broken_off = end.outcome in {"cut_off", "unreachable", "timeout"}
    if broken_off or case.fault.kind in {FaultKind.ERROR_EVENT, FaultKind.FLAT_ERROR_EVENT}:
        assert used > 0
        assert isinstance(record["cost_usd"], float)
    elif case in STATUS:
        assert (used, record["estimated"]) == (0, False)


@pytest.mark.parametrize("model", ["claude-opus-5-5", "claude-opus-5-5-20260901", "claude-opus-5"])
async def test_a_platform_is_asked_for_a_model_by_its_own_name(
    standin: Served, clients: Clients, model: str
) -> None:
    """The session says what the agent calls; only where that is the same model is the policy's name for it used."""
    [backend] = [one for one in NATIVE if one.name == "native-bedrock"]
    begin(standin, backend)
    asked = Asked(backend, standin, clients)
    request = dataclasses.replace(request_for(backend.format), model=model)
    reply = await asked.reply(request)
    same = model.startswith("claude-opus-5-5")
    assert standin.requests[-1]["url"] == (backend.url if same else f"/model/{model}/invoke")
    assert reply.native is not None
    assert reply.native.family == ("claude-opus-5-5" if same else model)


@pytest.mark.parametrize("backend", [one for one in TEXT if "/model/" in one.url], ids=str)
async def test_bedrocks_older_models_are_asked_in_a_version_they_know(
    standin: Served, clients: Clients, backend: Backend
) -> None:
    """The SDK would write its own, newer one into the body."""
    begin(standin, backend)
    asked = Asked(backend, standin, clients, {"model": "anthropic.claude-opus-4-6-v1"})
    assert (await asked.reply()).text == "a record"
    assert "anthropic.claude-opus-4-6-v1" in standin.requests[-1]["url"]


async def test_a_server_without_compact_is_asked_by_trigger_from_then_on(
    standin: Served, clients: Clients
) -> None:
    """One call finds out; both are on record, and the next job does not try again."""
    backend = next(one for one in NATIVE if one.paths_off)
    begin(standin, backend, scenario=Scenario(**WHO))
    first = Asked(backend, standin, clients)
    await first.reply()
    assert first.outcomes == ["http_404", "ok"]
    again = Asked(backend, standin, clients, forgets=False)
    await again.reply()
    assert again.outcomes == ["ok"]
    paths = [entry["url"] for entry in standin.requests]
    assert paths == ["/v1/responses/compact", "/v1/responses", "/v1/responses"]


@pytest.mark.parametrize("backend", PINGED)
async def test_a_server_that_says_it_is_still_at_work_is_waited_for(
    standin: Served, clients: Clients, backend: Backend
) -> None:
    """Pings and comments, which the SDKs keep to themselves, are life: long prompts are read for minutes."""
    fault = Fault(kind=FaultKind.PINGED_STREAM, duration_s=1.5)
    begin(standin, backend, FaultRule(fault=fault))
    asked = Asked(backend, standin, clients, {"idle_timeout_s": 1.2})
    begun_s = monotonic_s()
    check_words(standin, backend, await asked.reply())
    assert monotonic_s() - begun_s > 1.3


PARAMS = {
    "context_management": {"edits": []},
    "stop_sequences": ["STOP"],
    "output_config": {"format": {"type": "json_schema", "schema": {}}, "task_budget": {"remaining": 5}},
    "tool_choice": {"type": "any"},
    "thinking": {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "error"}},
    "temperature": 0.2,
    "max_tokens": 0,
    "previous_response_id": "resp_1",
    "text": {"format": {"type": "json_schema"}},
    "truncation": "auto",
    "prompt_cache_key": "agent",
}
"""Of an agent's requests; none but the last may stand beside a compaction as it is."""


@pytest.mark.parametrize("backend", NATIVE, ids=str)
async def test_what_cannot_stand_beside_a_compaction_is_left_out(
    standin: Served, clients: Clients, backend: Backend
) -> None:
    """System prompt and tools go along, so that the agent's cache is read; what the provider would refuse does not."""
    begin(standin, backend, scenario=Scenario(**WHO))
    tool: dict[str, Any] = {"name": "read", "input_schema": {"type": "object"}}
    if backend.format is not Format.ANTHROPIC:
        tool = {"type": "function", "name": "read", "parameters": {"type": "object"}, "strict": False}
    prefix = {"system": "You are an agent.", "tools": [tool], "params": PARAMS}
    asked = Asked(backend, standin, clients)
    clients.unknown_ways(asked.spec).clear()
    native = Native(asked.spec, clients, prefix)
    reply = await native.summarise(request_for(backend.format), asked.book)
    assert reply.native is not None
    sent = set(standin.requests[-1]["fields"])
    if not backend.url.endswith("/compact"):
        assert "tools" in sent
    assert not sent & {"stop_sequences", "tool_choice", "temperature", "previous_response_id", "text"}


@pytest.mark.parametrize(
    ("asks", "waits"),
    [("7", 7.0), ("4000000", 300.0), ("-1", 1.0), ("never", 1.0), ("nan", 1.0), ("1e400", 1.0)],
)
@pytest.mark.parametrize("backend", SERVERS, ids=str)
async def test_what_a_server_asks_to_wait_is_bounded(
    standin: Served, clients: Clients, backend: Backend, asks: str, waits: float
) -> None:
    """And nobody sleeps here: the ledger does."""
    fault = Fault(kind=FaultKind.RATE_LIMITED, retry_after=asks)
    begin(standin, backend, FaultRule(fault=fault))
    begun_s = monotonic_s()
    failure = await Asked(backend, standin, clients).failure()
    assert isinstance(failure, ProviderFailed)
    assert failure.retry_after_s == waits
    assert monotonic_s() - begun_s < LONG_S
