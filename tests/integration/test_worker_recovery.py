"""Providers that fail for a reason that passes: who waits, who does not, and what the ledger says meanwhile."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from precompact_shared.clock import monotonic_s
from precompact_shared.engine.types import Format
from precompact_shared.processes import free_port
from precompact_shared.provider_spec import CallMode, ProviderName, ProviderSpec, Redaction
from precompact_shared.provider_spec import Fault as Scripted
from precompact_shared.store import AsyncStore
from precompact_shared.store.ops import ClaimSpec
from precompact_shared.store.types import JobKind, JobState, JobTag
from precompact_standin.scenario import Fault, FaultKind, FaultRule, Scenario
from precompact_worker.providers.clients import host_of
from precompact_worker.run import Runner
from precompact_worker.tools import Ended
from tests.integration.test_worker import EXTRACTIVE, Bench, new_bench
from tests.integration.test_worker_standin import Desk, desk
from tests.support.talk import turns
from tests.support.waiting import eventually_async

__all__ = ["desk", "new_bench"]

BACKGROUND = (JobKind.SPECULATIVE, JobKind.IDLE)
URGENT = (JobKind.DUE, JobKind.OVERFLOW, JobKind.MANUAL)


def failing(kind: FaultKind, *, path: str = "", **fault: Any) -> Scenario:
    """A stand-in at which every call fails like this, or every call to one path."""
    return Scenario(faults=(FaultRule(fault=Fault(kind=kind, **fault), path=path),))


def claude_only(desk: Desk, **fields: Any) -> None:
    """Anthropic, then what needs no model."""
    desk.policy(desk.spec(ProviderName.ANTHROPIC), **fields)
    desk.bench.filled.append(turns(40, words=12))


def ledger(desk: Desk, job: JobTag) -> JobTag:
    """The job as it stands."""
    return desk.bench.job(job)


def slots(bench: Bench) -> list[tuple[str, str]]:
    """Open candidates: slot and provider."""
    return [(tag.slot, tag.provider) for tag in bench.candidates()]


@pytest.mark.parametrize(
    ("kind", "outcome"),
    [
        (FaultKind.RATE_LIMITED, "rate_limit_error"),
        (FaultKind.OVERLOADED, "overloaded_error"),
        (FaultKind.SERVER_ERROR, "api_error"),
        (FaultKind.RESET, "unreachable"),
    ],
)
@pytest.mark.parametrize("wanted", BACKGROUND)
async def test_in_the_background_a_busy_model_is_waited_for(
    desk: Desk, kind: FaultKind, outcome: str, wanted: JobKind
) -> None:
    """One call, no thin candidate in the one place there is: the floor is stored, the job waits for its time."""
    claude_only(desk)
    desk.standin.play(failing(kind, retry_after="7"))
    job = desk.bench.filled.claim(wanted)
    assert await desk.bench.work(job) == Ended("retry", "provider_failed")
    assert slots(desk.bench) == [("floor", "extractive")]
    waiting = ledger(desk, job)
    assert (waiting.state, waiting.attempt) == (JobState.READY, 1)
    assert [told["outcome"] for told in waiting.calls] == [outcome]
    left_ms = waiting.not_before_ms - desk.bench.filled.view().now_ms
    assert 0 < left_ms <= 7_000
    if kind is FaultKind.RATE_LIMITED:
        assert left_ms > 5_000


@pytest.mark.parametrize("name", [ProviderName.ANTHROPIC, ProviderName.OPENAI])
@pytest.mark.parametrize("mode", [CallMode.TRANSCRIPT, CallMode.NATIVE])
async def test_a_call_that_nobody_received_is_on_record_and_costs_nothing(
    desk: Desk, name: ProviderName, mode: CallMode
) -> None:
    """The connection was refused; one that breaks after sending is estimated."""
    url = f"http://127.0.0.1:{free_port()}"
    settings = desk.bench.settings.model_copy(update={"provider_hosts": (host_of(url),)})
    if name is ProviderName.OPENAI:
        desk.bench.filled.format = Format.OPENAI_RESPONSES
    await desk.bench.runner.close()
    desk.bench.runner = Runner(
        AsyncStore(desk.bench.client), desk.bench.runner._layout, settings, now_s=monotonic_s
    )
    desk.policy(desk.spec(name, base_url=url, mode=mode))
    desk.bench.filled.append(turns(40, words=12))
    job = desk.bench.filled.claim()
    assert await desk.bench.work(job) == Ended("retry", "provider_failed")
    [told] = ledger(desk, job).calls
    assert (told["outcome"], told["input_tokens"], told["cost_usd"]) == ("no_connection", 0, 0)
    assert told["estimated"] is False


@pytest.mark.parametrize("wanted", URGENT)
async def test_what_somebody_waits_for_runs_the_chain_to_its_end(desk: Desk, wanted: JobKind) -> None:
    """The first 429 stops speculation, not `due`."""
    claude_only(desk)
    desk.standin.play(failing(FaultKind.RATE_LIMITED, retry_after="7"))
    job = desk.bench.filled.claim(wanted)
    assert await desk.bench.work(job) == Ended("stored")
    assert [provider for _, provider in slots(desk.bench)] == ["extractive"]
    assert [told["outcome"] for told in ledger(desk, job).calls] == ["rate_limit_error", "ok"]


async def test_in_the_background_the_next_model_of_the_chain_is_asked_first(desk: Desk) -> None:
    """Another provider's limits are others."""
    desk.policy(desk.spec(ProviderName.ANTHROPIC), desk.spec(ProviderName.OPENAI))
    desk.bench.filled.append(turns(40, words=12))
    desk.standin.play(failing(FaultKind.RATE_LIMITED, path="/messages", retry_after="600"))
    job = desk.bench.filled.claim()
    assert await desk.bench.work(job) == Ended("stored")
    assert slots(desk.bench) == [("speculative", "openai")]
    assert [told["provider"] for told in ledger(desk, job).calls] == ["anthropic", "openai"]


async def test_when_all_models_are_busy_the_longest_wait_counts(desk: Desk) -> None:
    """None of them is asked before its time."""
    desk.policy(desk.spec(ProviderName.ANTHROPIC), desk.spec(ProviderName.OPENAI))
    desk.bench.filled.append(turns(40, words=12))
    late = Fault(kind=FaultKind.RATE_LIMITED, retry_after="120")
    soon = Fault(kind=FaultKind.RATE_LIMITED, retry_after="2")
    rules = (FaultRule(fault=late, path="/messages"), FaultRule(fault=soon, path="/responses"))
    desk.standin.play(Scenario(faults=rules))
    job = desk.bench.filled.claim()
    assert (await desk.bench.work(job)).how == "retry"
    left_ms = ledger(desk, job).not_before_ms - desk.bench.filled.view().now_ms
    assert 110_000 < left_ms <= 120_000


async def test_a_wait_longer_than_the_bound_is_cut_to_it(desk: Desk) -> None:
    """Eleven days are not waited for; the attempt counts."""
    claude_only(desk)
    desk.standin.play(failing(FaultKind.RATE_LIMITED, retry_after="999999"))
    job = desk.bench.filled.claim()
    assert (await desk.bench.work(job)).how == "retry"
    left_ms = ledger(desk, job).not_before_ms - desk.bench.filled.view().now_ms
    assert 290_000 < left_ms <= 300_000


async def test_a_model_that_will_never_answer_is_not_waited_for(desk: Desk) -> None:
    """A wrong key does not pass: the deterministic candidate is the best there is."""
    claude_only(desk)
    desk.standin.play(failing(FaultKind.UNAUTHORIZED))
    job = desk.bench.filled.claim()
    assert await desk.bench.work(job) == Ended("stored")
    assert slots(desk.bench) == [("speculative", "extractive")]


async def test_a_timeout_in_the_background_is_waited_for_too(desk: Desk) -> None:
    """The call ends at the provider's own time, long before the job's."""
    desk.policy(desk.spec(ProviderName.ANTHROPIC, call_timeout_s=1.0))
    desk.bench.filled.append(turns(40, words=12))
    desk.standin.play(failing(FaultKind.SLOW_FIRST_BYTE))
    job = desk.bench.filled.claim()
    assert await desk.bench.work(job) == Ended("retry", "provider_timeout")
    assert slots(desk.bench) == [("floor", "extractive")]


async def is_due(bench: Bench, job: JobTag) -> bool:
    """Whether it may be tried again."""
    return bench.filled.view().now_ms >= bench.job(job).not_before_ms


async def test_it_is_tried_again_at_its_time_and_the_model_writes_the_candidate(desk: Desk) -> None:
    """What the wait was for."""
    claude_only(desk)
    desk.standin.play(
        Scenario(faults=(FaultRule(fault=Fault(kind=FaultKind.RATE_LIMITED, retry_after="1"), times=1),))
    )
    job = desk.bench.filled.claim()
    assert (await desk.bench.work(job)).how == "retry"
    assert await desk.bench.work(job) == Ended("skipped", "not_due")
    await eventually_async(lambda: is_due(desk.bench, job))
    assert await desk.bench.work(job) == Ended("stored")
    assert slots(desk.bench) == [("speculative", "anthropic")]
    assert [told["outcome"] for told in ledger(desk, job).calls] == ["rate_limit_error", "ok"]


async def test_a_candidate_costs_what_all_attempts_at_it_cost(desk: Desk) -> None:
    """A call that was broken off had to be paid as well."""
    claude_only(desk)
    desk.standin.play(Scenario(faults=(FaultRule(fault=Fault(kind=FaultKind.RESET_STREAM), times=1),)))
    job = desk.bench.filled.claim()
    assert (await desk.bench.work(job)).how == "retry"
    await eventually_async(lambda: is_due(desk.bench, job))
    assert await desk.bench.work(job) == Ended("stored")
    broken, done = ledger(desk, job).calls
    [tag] = desk.bench.candidates()
    assert broken["cost_usd"] > 0
    assert tag.cost_usd == pytest.approx(broken["cost_usd"] + done["cost_usd"])


async def test_after_the_last_attempt_it_is_dead_with_the_reason_and_the_floor_stays(desk: Desk) -> None:
    """Every call is on record; whoever reaches `hard` still has the floor."""
    claude_only(desk, attempts=2)
    desk.standin.play(failing(FaultKind.RATE_LIMITED, retry_after="0.01"))
    job = desk.bench.filled.claim()
    for _ in range(2):
        await eventually_async(lambda: is_due(desk.bench, job))
        assert await desk.bench.work(job) == Ended("retry", "provider_failed")
    dead = ledger(desk, job)
    assert (dead.state, dead.reason, len(dead.calls)) == (JobState.DEAD, "provider_failed", 2)
    assert slots(desk.bench) == [("floor", "extractive")]


async def test_a_waiting_retry_becomes_due_with_the_limit_and_then_asks_its_whole_chain(desk: Desk) -> None:
    """Claimed as due while it waits five minutes: the same job begins at once."""
    claude_only(desk)
    desk.standin.play(failing(FaultKind.RATE_LIMITED, retry_after="300"))
    job = desk.bench.filled.claim()
    assert (await desk.bench.work(job)).how == "retry"
    reach_limit(desk, job)
    assert ledger(desk, job).kind == JobKind.DUE
    assert await desk.bench.work(job) == Ended("stored")
    assert slots(desk.bench) == [("speculative", "extractive")]


async def test_a_limit_that_is_reached_while_the_model_is_asked_counts_in_this_attempt(desk: Desk) -> None:
    """No second round of refusals: the ledger is asked when the model has failed."""
    desk.policy(desk.spec(ProviderName.ANTHROPIC, call_timeout_s=2.0))
    desk.bench.filled.append(turns(40, words=12))
    desk.standin.play(failing(FaultKind.SLOW_FIRST_BYTE))
    job = desk.bench.filled.claim()
    working = asyncio.create_task(desk.bench.work(job))
    await eventually_async(lambda: begun(desk, job))
    reach_limit(desk, job)
    assert await working == Ended("stored")
    assert slots(desk.bench) == [("speculative", "extractive")]
    assert ledger(desk, job).attempt == 1


def reach_limit(desk: Desk, job: JobTag) -> None:
    """What a scheduler does when the limit is reached: the live job is in the way, and becomes due."""
    filled = desk.bench.filled
    answer = filled.store.run(filled.ops.claim(None, ClaimSpec(jid="due", kind=JobKind.DUE)))
    assert (answer.o, answer.jid) == ("in_flight", job.jid)


async def begun(desk: Desk, job: JobTag) -> bool:
    """Whether the job's first paid call is noted."""
    return bool(ledger(desk, job).calls)


async def test_a_refresh_waits_as_well_and_its_base_stays(desk: Desk) -> None:
    """There is a candidate already: nothing hurries."""
    claude_only(desk)
    await desk.done()
    [base] = desk.bench.candidates()
    desk.bench.filled.append(turns(30, start=40, words=12))
    desk.standin.play(failing(FaultKind.OVERLOADED))
    job = desk.bench.filled.claim(JobKind.REFRESH, base=base.cid)
    assert (await desk.bench.work(job)).how == "retry"
    assert ("speculative", "anthropic") in slots(desk.bench)


async def test_a_chain_without_models_never_waits(desk: Desk) -> None:
    """There is nobody to wait for."""
    desk.policy(EXTRACTIVE)
    desk.bench.filled.append(turns(40, words=12))
    assert (await desk.done()).state == JobState.DONE


async def test_a_chain_of_nobody_who_may_write_is_dead_with_a_reason(desk: Desk) -> None:
    """Native alone, where masking excludes it: a person has to change the policy."""
    spec = desk.spec(ProviderName.ANTHROPIC, mode=CallMode.NATIVE)
    desk.policy(spec, redact=Redaction.ALWAYS, fallback=False)
    desk.bench.filled.append(turns(40, words=12))
    job = desk.bench.filled.claim()
    assert await desk.bench.work(job) == Ended("dead", "provider_configuration")


async def test_a_bad_record_is_no_reason_to_wait(desk: Desk) -> None:
    """It would be as bad a minute later."""
    desk.policy(ProviderSpec(name=ProviderName.SCRIPTED, fault=Scripted.EMPTY))
    desk.bench.filled.append(turns(40, words=12))
    await desk.done()
    assert slots(desk.bench) == [("speculative", "extractive")]
