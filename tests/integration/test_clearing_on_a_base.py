"""Clearing on top of a checkpoint: what stands for the covered part stays whole, for every model and the next summary."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from precompact_shared.engine.types import Format
from precompact_shared.policy import Policy
from precompact_shared.provider_spec import ProviderName, ProviderSpec
from precompact_shared.store import reading
from precompact_shared.store.tenants import save_policy
from precompact_shared.store.types import JobKind
from precompact_worker.tools import Ended
from tests.integration.test_clearing_adoption import RESULTS, Session, anthropic_step
from tests.support.service import Service
from tests.support.standin import Served
from tests.support.talk import turns, user
from tests.support.workers import worker_of

CLAUDE, OTHER = "claude-opus-5-5", "claude-haiku-4-5"


@pytest.fixture
async def session(
    service: Service, http: httpx.Client, standin: Served, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Session]:
    """A session of Claude's whose worker uses the stand-in."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test")
    async with worker_of(service, standin.url) as runner:
        yield Session(service, http, runner, Format.ANTHROPIC)


def policy(service: Service, standin: Served, preset: str, **fields: Any) -> None:
    """The tenant's."""
    spec = ProviderSpec(name=ProviderName.ANTHROPIC, model=CLAUDE, base_url=standin.url)
    chosen = Policy(preset=preset, providers=(spec,), fallback=False, **fields)
    service.store.run(save_policy(service.tenant, chosen))


async def cleared_on_top(session: Session) -> str:
    """A checkpoint of the talk so far, large results behind it, and those cleared; the second checkpoint's id."""
    session.prepare([*turns(40, words=12), user("Find the fault.")], adopt="never", model=CLAUDE)
    assert await session.work(JobKind.MANUAL) == Ended("stored")
    first = session.candidate()
    session.adopt(first.cid)
    steps = [message for number in range(RESULTS) for message in anthropic_step(number)]
    session.prepare(steps, adopt="never", model=CLAUDE)
    assert await session.work() == Ended("stored")
    second = session.candidate()
    assert (second.kind, second.upto) == ("clearing", first.upto)
    session.adopt(second.cid)
    return second.cid


async def test_another_model_never_sees_the_block_below_a_clearing(
    session: Session, service: Service, standin: Served
) -> None:
    """It reads the summary beside it; the block's own model reads the block."""
    policy(service, standin, "anthropic-native")
    cid = await cleared_on_top(session)
    own = session.prepare([], model=CLAUDE)
    assert own["context"]["checkpoint"] == cid
    assert own["context"]["insert"][0]["content"][0]["type"] == "compaction"
    assert own["request"]["headers"] == {"anthropic-beta": "compact-2026-09-04"}
    other = session.prepare([], model=OTHER)
    shown = json.dumps(other["context"]["insert"])
    assert other["context"]["checkpoint"] == cid
    assert "compaction" not in shown
    assert "request 0" in shown
    assert other["request"]["headers"] == {}


async def test_the_summary_behind_a_clearing_goes_on_from_the_record_before_it(
    session: Session, service: Service, standin: Served
) -> None:
    """Nothing that only the record says is lost by the step in between, and the count of generations goes on."""
    policy(service, standin, "precompact")
    cid = await cleared_on_top(session)
    bodies = [
        service.store.run(reading.candidate_body(service.keys("s"), tag.cid))
        for tag in service.store.run(reading.checkpoints(service.keys("s")))
    ]
    first, second = (json.loads(body) for body in bodies if body is not None)
    assert second["summary"] == first["summary"]
    assert (first["since_rebuild"], second["since_rebuild"]) == (1, 1)
    assert len(first["summary"]) > 1_000
    session.prepare(turns(60, start=40, words=12), adopt="never", model=CLAUDE)
    assert await session.work(JobKind.MANUAL) == Ended("stored")
    third = session.candidate()
    body = service.store.run(reading.candidate_body(service.keys("s"), third.cid))
    assert body is not None
    assert third.upto > 80
    assert json.loads(body)["since_rebuild"] == 2
    assert cid != third.cid
