"""Sessions played from their first call to their last, compacted in one way."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass

from precompact_shared.store.types import JobTag
from tests.bench.costs.agent import Agent, Called
from tests.bench.costs.dialects import dialect_of
from tests.bench.costs.ground import AGENT_KEY, Ground
from tests.bench.costs.rows import Pair, Row, Way
from tests.bench.costs.sums import Priced, priced
from tests.bench.costs.talk import Talk
from tests.bench.wire import Line, Place

START_SHARE = 0.75
"""Of the limit, where a summary is begun: always at the same call, whoever writes it."""
ROUNDING_USD = 1e-6


@dataclass(frozen=True, slots=True)
class Summary:
    """One compaction: how it was asked for, and each of its model calls."""

    mode: str
    calls: tuple[Priced, ...]

    @property
    def cost_usd(self) -> float:
        """Of all its calls."""
        return sum(one.cost_usd for one in self.calls)

    @property
    def misses(self) -> tuple[Priced, ...]:
        """The calls that looked for something in the cache and did not find it."""
        return tuple(one for one in self.calls if self.mode == "prefix" and one.tokens.is_miss)


@dataclass(frozen=True, slots=True)
class Session:
    """What one session cost: its summaries, and the agent's own calls."""

    summaries: tuple[Summary, ...]
    calls: tuple[Called, ...]

    @property
    def cost_usd(self) -> float:
        """Of the summaries."""
        return sum(one.cost_usd for one in self.summaries)

    @property
    def first_miss_usd(self) -> float:
        """What the first call that missed the cache cost; 0 where none did."""
        return next((call.cost_usd for one in self.summaries for call in one.misses), 0.0)


def play_all(ground: Ground, talks: Sequence[Talk], way: Way, pair: Pair, row: Row) -> list[Session]:
    """One after the other, all of one tenant: what it has learnt from one holds for the next. The cache begins empty."""
    tenant, place = ground.tenant(way, pair)
    dialect = dialect_of(pair.agent)
    sessions = []
    for number, talk in enumerate(talks):
        ground.begin(row)
        lines = Line(place), Line(Place.of(ground.standin.url, AGENT_KEY))
        with closing(Agent(ground, talk, pair, row, dialect, *lines, f"talk-{number}")) as agent:
            sessions.append(_play(agent, tenant))
    return sessions


def _play(agent: Agent, tenant: str) -> Session:
    summaries: list[Summary] = []
    for step in agent.talk.steps:
        agent.step(step)
        if agent.limit_share >= START_SHARE and not agent.ground.view(tenant, agent.session).candidates:
            summaries.append(_summarise(agent, tenant))
            agent.reconnect()
    return Session(tuple(summaries), tuple(agent.calls))


def _summarise(agent: Agent, tenant: str) -> Summary:
    """A job, told by the provider's own account of it, which has to be the ledger's."""
    log = agent.ground.standin.requests
    before = len(log)
    job = agent.ground.work(tenant, agent.session)
    usages = [agent.dialect.tokens(entry["usage"]) for entry in log[before:] if "usage" in entry]
    calls = tuple(priced(tokens, str(call["model"])) for tokens, call in zip(usages, job.calls, strict=True))
    _compare(job, calls)
    return Summary(str(job.calls[0]["mode"]), calls)


def _compare(job: JobTag, calls: Sequence[Priced]) -> None:
    """The ledger's tokens and money against the provider's account. Raises AssertionError where they part."""
    for call, one in zip(job.calls, calls, strict=True):
        mine = tuple(call[f"{name}_tokens"] for name in ("input", "cache_read", "cache_write", "output"))
        tokens = one.tokens
        assert mine == (tokens.input, tokens.read, tokens.written, tokens.output), (call, tokens)
        assert abs(call["cost_usd"] - one.cost_usd) < ROUNDING_USD, (call, one)
