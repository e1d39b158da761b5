"""One job is told to wait: what nobody waits for keeps away from that provider, what somebody waits for does not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from precompact_shared.provider_spec import ProviderName
from precompact_shared.store.holds import held_ms
from precompact_shared.store.ops import ClaimSpec
from precompact_shared.store.types import JobKind, JobState, JobTag, Seen
from precompact_standin.scenario import Fault, FaultKind, FaultRule, Scenario
from precompact_worker.holds import spread_s
from precompact_worker.run import Ref
from precompact_worker.tools import Ended
from tests.integration.test_worker import new_bench
from tests.integration.test_worker_standin import Desk, desk
from tests.support.filling import Filled
from tests.support.talk import turns
from tests.support.waiting import eventually

__all__ = ["desk", "new_bench"]

WAIT_S = 60


def limited(path: str = "", *, kind: FaultKind = FaultKind.RATE_LIMITED, wait_s: float = WAIT_S) -> Scenario:
    """A stand-in that is at its limit for the first call, and fine from then on."""
    fault = Fault(kind=kind, retry_after=str(wait_s))
    return Scenario(faults=(FaultRule(fault=fault, path=path, times=1),))


def other_session(desk: Desk, name: str) -> Filled:
    """A second session of the same tenant, as long."""
    filled = replace(desk.bench.filled, session=name, seen=Seen(0, 0))
    filled.append(turns(40, words=12))
    return filled


async def worked(desk: Desk, filled: Filled, job: JobTag) -> Ended:
    """One message of Celery for a session's job."""
    return await desk.bench.runner.run(Ref(filled.tenant, filled.session, job.jid))


async def told_to_wait(desk: Desk, scenario: Scenario, *names: ProviderName) -> None:
    """A chain of these, whose first call met the limit for a job of the first session."""
    desk.policy(*(desk.spec(name) for name in names))
    desk.bench.filled.append(turns(40, words=12))
    desk.standin.play(scenario)
    await desk.bench.work(desk.bench.filled.claim())


def asked(desk: Desk) -> Sequence[str]:
    """Paths of what came in at the stand-in."""
    return [request["path"] for request in desk.standin.requests]


@pytest.mark.parametrize("kind", [JobKind.SPECULATIVE, JobKind.IDLE])
async def test_after_a_limit_no_job_of_the_tenant_asks_there_in_the_background(
    desk: Desk, kind: JobKind
) -> None:
    """It goes back with a time and without an attempt spent; its floor is stored; nothing is called, nothing recorded."""
    await told_to_wait(desk, limited(), ProviderName.ANTHROPIC)
    calls = len(asked(desk))
    second = other_session(desk, "s2")
    job = second.claim(kind)
    assert await worked(desk, second, job) == Ended("release", "provider_held")
    view = second.view()
    assert len(asked(desk)) == calls
    assert view.job is not None
    assert (view.job.state, view.job.attempt, view.job.calls) == (JobState.READY, 0, [])
    assert [tag.slot for tag in view.candidates] == ["floor"]
    left_s = (view.job.not_before_ms - view.now_ms) / 1000
    assert WAIT_S / 2 < left_s <= WAIT_S * 1.25


@pytest.mark.parametrize("kind", [JobKind.DUE, JobKind.OVERFLOW, JobKind.MANUAL])
async def test_what_somebody_waits_for_is_held_back_by_nothing(desk: Desk, kind: JobKind) -> None:
    """Never `due`: it asks, and here it is answered."""
    await told_to_wait(desk, limited(), ProviderName.ANTHROPIC)
    second = other_session(desk, "s2")
    assert await worked(desk, second, second.claim(kind)) == Ended("stored")
    assert "anthropic" in [tag.provider for tag in second.view().candidates]


async def test_what_is_held_back_and_becomes_due_asks_at_once(desk: Desk) -> None:
    """The limit is reached: the job that waited begins anew, and its provider is asked."""
    await told_to_wait(desk, limited(), ProviderName.ANTHROPIC)
    second = other_session(desk, "s2")
    job = second.claim()
    await worked(desk, second, job)
    assert (
        second.store.run(second.ops.claim(None, ClaimSpec(jid=f"{job.jid}2", kind=JobKind.DUE))).o
        == "in_flight"
    )
    assert await worked(desk, second, job) == Ended("stored")


async def test_another_provider_of_the_chain_is_asked_in_its_place(desk: Desk) -> None:
    """Its limits are its own."""
    await told_to_wait(desk, limited("/messages"), ProviderName.ANTHROPIC, ProviderName.OPENAI)
    second = other_session(desk, "s2")
    assert await worked(desk, second, second.claim()) == Ended("stored")
    assert asked(desk).count("/v1/messages") == 1
    assert "openai" in [tag.provider for tag in second.view().candidates]


async def test_another_model_there_and_another_tenant_are_not_held_back(desk: Desk) -> None:
    """Limits are of a key and a model."""
    await told_to_wait(desk, limited(), ProviderName.ANTHROPIC)
    place, tenant = desk.spec(ProviderName.ANTHROPIC).place, desk.bench.filled.tenant
    held = f"{place}|{desk.spec(ProviderName.ANTHROPIC).model}"
    assert desk.bench.store.run(held_ms(tenant, held)) > 0
    assert desk.bench.store.run(held_ms(f"{tenant}x", held)) == 0
    desk.policy(desk.spec(ProviderName.ANTHROPIC, model="claude-sonnet-5-5"))
    second = other_session(desk, "s2")
    assert await worked(desk, second, second.claim()) == Ended("stored")


async def test_when_the_time_is_over_the_background_goes_on(desk: Desk) -> None:
    """The mark ends by itself."""
    await told_to_wait(desk, limited(wait_s=1), ProviderName.ANTHROPIC)
    spec = desk.spec(ProviderName.ANTHROPIC)
    place = f"{spec.place}|{spec.model}"
    eventually(lambda: desk.bench.store.run(held_ms(desk.bench.filled.tenant, place)) == 0, 10, "no hold")
    second = other_session(desk, "s2")
    assert await worked(desk, second, second.claim()) == Ended("stored")


@pytest.mark.parametrize("kind", [FaultKind.OVERLOADED, FaultKind.SERVER_ERROR])
async def test_a_busy_server_holds_back_nobody_else(desk: Desk, kind: FaultKind) -> None:
    """Overload is no limit of this tenant's."""
    await told_to_wait(desk, limited(kind=kind), ProviderName.ANTHROPIC)
    second = other_session(desk, "s2")
    assert await worked(desk, second, second.claim()) == Ended("stored")


def test_those_who_were_held_back_do_not_come_back_all_at_once() -> None:
    """None before the time, none later than a quarter of it, and not many together."""
    times = [spread_s(100, f"acme:s{number}:0:speculative:00") for number in range(200)]
    assert min(times) >= 100
    assert max(times) <= 125
    assert len({round(time) for time in times}) > 15
