"""A request at `hard` while the session's job waits for a provider's time."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from precompact_shared.policy import Policy
from precompact_shared.provider_spec import ProviderName, ProviderSpec
from precompact_shared.store import reading
from precompact_shared.store.tenants import save_policy
from precompact_shared.store.types import JobKind, JobState, JobTag
from precompact_standin.scenario import Fault, FaultKind, FaultRule, Scenario
from precompact_worker.run import Ref, Runner
from precompact_worker.tools import Ended
from tests.support.candidates import claim
from tests.support.service import Service
from tests.support.standin import Served
from tests.support.talk import turns
from tests.support.waiting import eventually_async
from tests.support.workers import worker_of

CLAUDE = "claude-opus-5-5"
HARD = {"format": "anthropic", "model": CLAUDE, "window": 20_000, "max_output": 1_000}
"""Twenty turns of 600 tokens are far below, thirty-four beyond `hard`."""


@pytest.fixture
async def runner(service: Service, standin: Served, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Runner]:
    """A worker whose tenant uses the stand-in, which is busy for five minutes."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test")
    busy = Fault(kind=FaultKind.RATE_LIMITED, retry_after="300")
    standin.play(Scenario(faults=(FaultRule(fault=busy),)))
    spec = ProviderSpec(
        name=ProviderName.ANTHROPIC, model=CLAUDE, base_url=standin.url, window=200_000, max_output=32_000
    )
    service.store.run(save_policy(service.tenant, Policy(providers=(spec,))))
    async with worker_of(service, standin.url) as made:
        yield made


def prepare(http: httpx.Client, news: list[Any], length: int, **options: Any) -> dict[str, Any]:
    """One call before a model call."""
    body = {**HARD, "seen": {"version": 0, "length": length}, "messages": news, **options}
    response = http.post("/v1/sessions/h/prepare", json=body)
    assert response.status_code == 200, response.text
    found: dict[str, Any] = response.json()
    return found


def ledger(service: Service, job: JobTag) -> JobTag:
    """The job as it stands."""
    found = service.store.run(reading.job(service.keys("h"), job.jid))
    assert found is not None
    return found


async def waiting_retry(service: Service, http: httpx.Client, runner: Runner) -> JobTag:
    """A speculative job that the provider has put off for five minutes."""
    prepare(http, turns(20, words=12), 0)
    job = claim(service, "h")
    assert await runner.run(Ref(service.tenant, "h", job.jid)) == Ended("retry", "provider_failed")
    return ledger(service, job)


async def test_who_does_not_wait_gets_the_floor_at_once_and_the_job_is_due(
    service: Service, http: httpx.Client, runner: Runner
) -> None:
    """Nobody waits for a server's five minutes, and no second job is paid for."""
    job = await waiting_retry(service, http, runner)
    assert job.state == JobState.READY
    answer = prepare(http, turns(14, start=20, words=12), 40)
    assert answer["status"] == "reduced", answer["compaction"]
    now = ledger(service, job)
    assert now.kind == JobKind.DUE
    # An adoption is a new version: what was not running and had announced nothing ends with the old one.
    assert (now.state, now.reason) == (JobState.CANCELLED, "version_changed")


async def test_who_waits_gets_the_full_candidate_of_the_same_job(
    service: Service, http: httpx.Client, runner: Runner
) -> None:
    """It begins anew, past the model that is still busy, down to the provider that needs none."""
    job = await waiting_retry(service, http, runner)
    answers: list[dict[str, Any]] = []
    news = turns(14, start=20, words=12)
    asking = threading.Thread(target=lambda: answers.append(prepare(http, news, 40, wait=20)))
    asking.start()

    async def is_hurried() -> bool:
        return ledger(service, job).kind == JobKind.DUE

    await eventually_async(is_hurried)
    assert await runner.run(Ref(service.tenant, "h", job.jid)) == Ended("stored")
    asking.join(20)
    assert [answer["status"] for answer in answers] == ["waited"]
    jobs = service.store.run(reading.jobs(service.keys("h")))
    assert [one.jid for one in jobs] == [job.jid]
