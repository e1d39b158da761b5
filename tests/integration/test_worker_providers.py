"""A job whose summary a model writes: nudges, fallbacks, usage, and what happens when the work is stopped in mid-stream."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from precompact_shared.clock import monotonic_s, now_ms
from precompact_shared.engine.preset import load_preset
from precompact_shared.policy import Policy
from precompact_shared.provider_spec import Redaction
from precompact_shared.store import AsyncStore
from precompact_shared.store.spending import day_of, session_spent, tenant_spent
from precompact_shared.store.tenants import save_policy
from precompact_shared.store.types import JobKind, JobState, JobTag
from precompact_worker.providers.clients import host_of
from precompact_worker.run import Runner
from precompact_worker.tools import Ended
from tests.integration.test_worker import Bench, announced, new_bench
from tests.support.fake_llm import Answer, FakeLLM
from tests.support.talk import turns, user
from tests.support.waiting import eventually_async
from tests.support.wires import WIRES, Wire

__all__ = ["new_bench"]

PRESET = load_preset("precompact")
KEY = "sk-test-planted-key-0123456789"
SENTENCE = "The parser was looked at and nothing was changed yet."


def record(*, without: str = "") -> str:
    """A record as a model might write it."""
    headings = [section.heading for section in PRESET.summary.sections if section.heading != without]
    return "\n\n".join(f"{heading}\n{SENTENCE}" for heading in headings)


@pytest.fixture(params=WIRES, ids=lambda wire: wire.name)
def wire(request: pytest.FixtureRequest) -> Wire:
    """Each protocol."""
    found: Wire = request.param
    return found


class Office:
    """A bench whose tenant uses a provider at a server of the test's own."""

    def __init__(self, bench: Bench, wire: Wire) -> None:
        self.bench = bench
        self.wire = wire
        self.server = FakeLLM([])

    async def open(self, *answers: Answer, fallback: bool = True, **fields: Any) -> None:
        """The server gives these answers."""
        self.server.answers = list(answers)
        await self.server.__aenter__()
        bench = self.bench
        settings = bench.settings.model_copy(update={"provider_hosts": (host_of(self.server.url),)})
        layout = bench.runner._layout
        bench.runner = Runner(AsyncStore(bench.client), layout, settings, now_s=monotonic_s)
        spec = self.wire.spec(self.server.url)
        policy = Policy(providers=(spec,), fallback=fallback, **fields)
        bench.store.run(save_policy(bench.filled.tenant, policy))

    async def close(self) -> None:
        """Ends server and connections."""
        await self.bench.runner.close()
        if self.server.url:
            await self.server.__aexit__()

    def calls(self, job: JobTag) -> list[dict[str, Any]]:
        """The calls on record."""
        return self.bench.job(job).calls


@pytest.fixture
async def office(
    new_bench: Callable[[str, str, float], Bench],
    redis_url: str,
    tenant: str,
    wire: Wire,
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncIterator[Office]:
    """A bench with a lease of 0.6 seconds."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    made = Office(new_bench(redis_url, tenant, 0.6), wire)
    yield made
    await made.close()


async def test_a_models_record_becomes_a_candidate_with_what_code_knows(office: Office) -> None:
    """And with what it cost."""
    bench = office.bench
    await office.open(office.wire.reply(record()))
    bench.filled.append([user("Never touch `write_table` in main.py."), *turns(40, words=12)])
    job = bench.filled.claim(JobKind.DUE)
    assert await bench.work(job) == Ended("stored")
    [tag] = bench.candidates()
    body = bench.body(tag.cid)
    assert SENTENCE in body["summary"]
    assert "Never touch `write_table` in main.py" in body["summary"]
    assert (tag.coverage, body["evidence"]) == (1.0, 1.0)
    [told] = office.calls(job)
    assert (told["outcome"], told["estimated"], told["mode"]) == ("ok", False, "transcript")
    assert told["cost_usd"] > 0


async def test_the_second_generation_shows_the_first_apart(office: Office) -> None:
    """Only what is new is sent as transcript."""
    bench = office.bench
    await office.open(office.wire.reply(record()))
    await bench.work(bench.claimed())
    [first] = bench.candidates()
    bench.adopt(first)
    bench.filled.append(turns(40, start=40, words=12))
    assert await bench.work(bench.filled.claim()) == Ended("stored")
    asked = office.wire.asked(office.server.requests[-1].body)
    previous = asked[asked.index("<previous-record>") : asked.index("</previous-record>")]
    transcript = asked[asked.index("<transcript ") : asked.index("</transcript>")]
    assert SENTENCE in previous
    assert "request 0:" not in transcript
    assert "request 45:" in transcript


async def test_a_record_without_a_heading_is_sent_back_once(office: Office) -> None:
    """With the heading named, and the bad record in between."""
    bench = office.bench
    await office.open(office.wire.reply(record(without="## Open")), office.wire.reply(record()))
    job = bench.claimed()
    assert await bench.work(job) == Ended("stored")
    assert [told["outcome"] for told in office.calls(job)] == ["ok", "ok"]
    asked = office.wire.asked(office.server.requests[1].body)
    assert 'The heading "## Open" is missing' in asked
    assert asked.index("<transcript ") < asked.index(SENTENCE) < asked.index("is missing")


async def test_after_one_nudge_the_next_in_the_chain_is_asked(office: Office) -> None:
    """A model that cannot keep to the form."""
    bench = office.bench
    await office.open(office.wire.reply("It went well."))
    job = bench.claimed()
    assert await bench.work(job) == Ended("stored")
    assert bench.candidates()[0].provider == "extractive"
    assert [told["outcome"] for told in office.calls(job)] == ["ok", "section_missing", "ok"]


async def test_a_rate_limit_is_a_time_in_the_ledger(office: Office) -> None:
    """Bounded, however long the server asks for."""
    bench = office.bench
    await office.open(office.wire.error(429, "rate", retry_after="9999999"), fallback=False)
    job = bench.claimed()
    assert await bench.work(job) == Ended("retry", "provider_failed")
    waiting = bench.job(job)
    assert waiting.state == JobState.READY
    assert 290_000 < waiting.not_before_ms - bench.filled.view().now_ms <= 300_000
    assert len(waiting.calls) == 1


async def test_a_wrong_key_is_dead_with_its_reason(office: Office) -> None:
    """A person has to act; requeueing by itself would only cost."""
    bench = office.bench
    await office.open(office.wire.error(401, "key"), fallback=False)
    job = bench.claimed()
    assert await bench.work(job) == Ended("dead", "provider_configuration")


async def test_a_host_that_nobody_allowed_gets_no_key(office: Office) -> None:
    """A tenant's policy alone sends a deployment's key nowhere."""
    bench = office.bench
    await office.open(office.wire.reply(record()), fallback=False)
    spec = office.wire.spec("http://127.0.0.1:1")
    bench.store.run(save_policy(bench.filled.tenant, Policy(providers=(spec,), fallback=False)))
    assert await bench.work(bench.claimed()) == Ended("dead", "provider_configuration")
    assert office.server.requests == []


async def asked(office: Office, count: int) -> bool:
    """Whether the server has got so many requests."""
    return len(office.server.requests) >= count


async def test_a_rewrite_in_mid_stream_stores_nothing_and_keeps_the_usage(office: Office) -> None:
    """What the provider will bill is on record, told or estimated."""
    bench = office.bench
    await office.open(office.wire.reply(record(), stop="none", ends="never"))
    job = bench.claimed()
    working = asyncio.create_task(bench.work(job))
    await eventually_async(lambda: asked(office, 1))
    await eventually_async(lambda: announced(bench, job))
    bench.filled.view()
    bench.filled.rewind(3)
    assert await asyncio.wait_for(working, 10) == Ended("lost", "version_changed")
    assert bench.candidates() == []
    assert bench.job(job).state == JobState.CANCELLED
    [told] = office.calls(job)
    assert told["input_tokens"] > 0
    assert told["outcome"] == "cancelled"


async def test_a_provider_that_could_not_be_asked_is_on_record_with_the_reason(office: Office) -> None:
    """Nobody knows its model's window: code writes, and the job says why; nothing is sent, nothing costs."""
    bench = office.bench
    await office.open()
    spec = office.wire.spec(office.server.url).model_copy(update={"model": "nobody-knows-1", "window": None})
    bench.store.run(save_policy(bench.filled.tenant, Policy(providers=(spec,))))
    job = bench.claimed(JobKind.MANUAL)
    assert await bench.work(job) == Ended("stored")
    told, written = office.calls(job)
    assert (told["provider"], told["mode"], told["outcome"]) == (spec.name, "none", "provider_configuration")
    assert (told["input_tokens"], told["cost_usd"], written["provider"]) == (0, 0, "extractive")
    assert office.server.requests == []


async def test_a_worker_that_vanishes_in_mid_stream_leaves_its_call_on_record(office: Office) -> None:
    """No bad candidate; the next worker does the job; both calls are there."""
    bench = office.bench
    await office.open(
        office.wire.reply(record(), stop="none", ends="never"), office.wire.reply(record()), attempts=3
    )
    job = bench.claimed()
    working = asyncio.create_task(bench.work(job))
    await eventually_async(lambda: asked(office, 1))
    for task in bench.runner._running:
        task.cancel()  # no drain: nothing is told to the ledger, as when the process is killed
    with pytest.raises(asyncio.CancelledError):
        await working
    assert [told["outcome"] for told in office.calls(job)] == ["begun"]
    assert all(tag.slot == "floor" for tag in bench.candidates())

    async def again() -> bool:
        bench.store.run(bench.filled.ops.due(job.jid, resend_ms=0, max_attempts=3))
        return (await bench.work(job)).how == "stored"

    await eventually_async(again)
    assert [tag.slot for tag in bench.candidates()] == ["speculative"]
    assert bench.job(job).state == JobState.DONE
    begun, done = office.calls(job)
    assert (begun["outcome"], begun["estimated"], done["outcome"]) == ("begun", True, "ok")
    assert begun["input_tokens"] > 0
    spent = bench.store.run(session_spent(bench.filled.keys))
    assert spent.input_tokens == begun["input_tokens"] + done["input_tokens"]
    assert spent.cost_usd == pytest.approx(begun["cost_usd"] + done["cost_usd"])
    days = {day_of(job.created_ms), day_of(now_ms())}  # midnight may pass meanwhile
    rows = [row for day in days for row in bench.store.run(tenant_spent(bench.filled.tenant, day))]
    assert sum(row.calls for row in rows) == spent.calls == 2
    assert sum(row.cost_usd for row in rows) == pytest.approx(spent.cost_usd)
    assert sum(row.estimated_tokens for row in rows) == begun["input_tokens"]
    assert sum(row.silent_calls for row in rows) == 1


async def test_a_drain_in_mid_stream_gives_the_job_back_with_its_usage(office: Office) -> None:
    """No attempt is spent."""
    bench = office.bench
    await office.open(office.wire.reply(record(), stop="none", ends="never"))
    job = bench.claimed()
    working = asyncio.create_task(bench.work(job))
    await eventually_async(lambda: asked(office, 1))
    bench.runner.drain()
    assert await working == Ended("release", "drain")
    assert (bench.job(job).state, bench.job(job).attempt) == (JobState.READY, 0)
    assert [told["outcome"] for told in office.calls(job)] == ["cancelled"]


PLANTED = "sk-ant-api03-plantedplantedplantedplanted"


@pytest.mark.parametrize("redact", [Redaction.TRANSCRIPT, Redaction.ALWAYS])
async def test_planted_secrets_never_leave_where_the_policy_says_so(
    office: Office, redact: Redaction, capfd: pytest.CaptureFixture[str]
) -> None:
    """Not in a transcript, a nudge, a second generation's record; nor in logs, in the ledger or the tag."""
    bench = office.bench
    await office.open(
        office.wire.reply(record(without="## Open")), office.wire.reply(record()), redact=redact
    )
    said = [
        user(f"Use `{PLANTED}` for the calls, and https://bob:{PLANTED}@example.org."),
        *turns(40, words=12),
    ]
    bench.filled.append(said)
    job = bench.filled.claim(focus=f"the key {PLANTED}")
    assert await bench.work(job) == Ended("stored")
    [tag] = bench.candidates()
    bench.adopt(tag)
    bench.filled.append(turns(40, start=40, words=12))
    second = bench.filled.claim()
    assert await bench.work(second) == Ended("stored")
    for one in office.server.requests:
        assert PLANTED not in str(one.body)
    assert len(office.server.requests) >= 3
    told = f"{bench.job(job).calls} {bench.job(second)} {tag} {capfd.readouterr()}"
    assert PLANTED not in told
    assert KEY not in told
