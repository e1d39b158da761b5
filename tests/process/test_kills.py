"""Killing any process at any moment loses nothing, doubles nothing, adopts nothing twice (I1-I3, I6)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator

import pytest

from precompact_shared.clock import sleep_s
from precompact_shared.policy import Policy, ProviderName, ProviderSpec
from precompact_shared.store import reading
from precompact_shared.store.keys import split_name
from tests.process.agents import Agent
from tests.process.killing import blows, revive, strike
from tests.support import tally
from tests.support.stack import QUICK, Shape, Stack
from tests.support.waiting import eventually

AGENTS = 4
SLOW_SUMMARY = ProviderSpec(name=ProviderName.SCRIPTED, delay_s=0.3)
FOUND_AGAIN_S = QUICK["lease_s"] + QUICK["sweep_s"] + QUICK["resend_s"] + QUICK["lag_s"]
"""I6: what anybody left behind is found within these; jobs then need their own time."""


@pytest.fixture
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A service of its own: it will not survive unharmed."""
    with Stack(tmp_path_factory.mktemp("kills"), Shape(settings={"job_attempts": 20})) as service:
        yield service


@pytest.mark.process
@pytest.mark.parametrize("seed", [1])
def test_twenty_kills_lose_and_double_nothing(stack: Stack, seed: int) -> None:
    """Workers, schedulers, APIs, the state's Redis and the broker, hit 22 times while four agents talk."""
    _survive(stack, seed, 22)


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.parametrize("seed", [2, 3, 4, 5])
def test_two_hundred_kills_lose_and_double_nothing(stack: Stack, seed: int) -> None:
    """The same over 4 x 55 kills."""
    _survive(stack, seed, 55)


def _survive(stack: Stack, seed: int, kills: int) -> None:
    tenant, key = stack.new_tenant(Policy(providers=(SLOW_SUMMARY,), p95_job_s=1))
    urls = stack.api_urls
    agents = [Agent(urls[n % len(urls)], key, f"agent-{n}", 100 * seed + n) for n in range(AGENTS)]
    for agent in agents:
        agent.start()
    hit: Counter[str] = Counter()
    for blow in blows(seed, kills):
        sleep_s(blow.pause_s)  # not a wait for anything: the moment of the blow is the test's input
        strike(stack, blow)
        hit[blow.victim] += 1
        sleep_s(blow.down_s)
        revive(stack, blow)
    stack.heal()
    eventually(
        lambda: all(_adoptions(stack, tenant, a) >= 2 for a in agents), 60, "two adoptions in each session"
    )
    for agent in agents:
        agent.finish()
    assert [problem for agent in agents for problem in agent.problems] == []
    _all_jobs_end(stack)
    for agent in agents:
        _nothing_lost_or_doubled(stack, tenant, agent)
        _chain_stands_for_what_it_covers(stack, tenant, agent)
    statuses = sum((Counter(agent.statuses) for agent in agents), Counter[str]())
    adopted = sum(_adoptions(stack, tenant, agent) for agent in agents)
    tally.count("kills", kills)
    tally.remark(
        f"kills with seed {seed}: {dict(hit)}; prepares {dict(statuses)}; adoptions {adopted}; lost 0, doubled 0"
    )


def _adoptions(stack: Stack, tenant: str, agent: Agent) -> int:
    return len(stack.store.run(reading.checkpoints(stack.session(tenant, agent.session_id))))


def _all_jobs_end(stack: Stack) -> None:
    """No job stays live and no event unhandled longer than I6 allows, once everybody is back."""

    def open_work() -> list[str]:
        rows: list[str] = []
        for shard in stack.layout.all_shards():
            rows += [str(member) for member in stack.client.zrange(shard.open_jobs, 0, -1)]
            rows += [str(member) for member in stack.client.zrange(shard.unhandled, 0, -1)]
        return rows

    eventually(lambda: not open_work(), 4 * FOUND_AGAIN_S, "every job ends and every event is decided on")


def _nothing_lost_or_doubled(stack: Stack, tenant: str, agent: Agent) -> None:
    keys = stack.session(tenant, agent.session_id)
    view = stack.store.run(stack.ops(tenant, agent.session_id).view()).view
    assert view is not None
    held = stack.store.run(reading.bodies(keys, range(view.length)))
    got = [json.loads(body) for body in held if body is not None]
    assert len(got) == len(agent.said), f"{agent.session_id}: {len(got)} held, {len(agent.said)} said"
    assert got == agent.said, f"{agent.session_id}: what is held differs from what was said"


def _chain_stands_for_what_it_covers(stack: Stack, tenant: str, agent: Agent) -> None:
    """Each checkpoint covers a prefix that is still the history's, further than the one before; no version twice."""
    keys = stack.session(tenant, agent.session_id)
    chain = stack.store.run(reading.checkpoints(keys))
    tags = {tag.cid: tag for tag in stack.store.run(reading.candidates(keys))}
    reaches = [record.upto for record in chain]
    versions = [record.adopted_version for record in chain]
    assert reaches == sorted(set(reaches))
    assert versions == sorted(set(versions))
    metas = stack.store.run(reading.metas(keys, [upto - 1 for upto in reaches]))
    for record, meta in zip(chain, metas, strict=True):
        assert meta is not None
        assert tags[record.cid].prefix == meta.chain, (
            f"{agent.session_id}: checkpoint {record.n} covers other content"
        )
    known = {(record.adopted_version, record.cid) for record in chain}
    assert set(agent.adoptions) <= known, f"{agent.session_id} was told of an adoption that is not there"


def test_open_job_members_name_their_session() -> None:
    """What the sweeper finds can be split back into tenant and session."""
    assert split_name("acme/chat/1") == ("acme", "chat/1")
