"""What was measured of one way on one row, and whether a chooser kept its promise. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from tests.bench.costs.playing import Session
from tests.bench.costs.rows import Pair, Row, Way
from tests.bench.costs.sums import priced, total
from tests.bench.figures import Figure, at_most, rounded

MOST_ABOVE_BEST = 1.02
Measured = Mapping[Way, Sequence[Session]]


def told(sessions: Sequence[Session], pair: Pair) -> dict[str, Any]:
    """Tokens by price class and money: of the summaries, of the agent's calls behind them, of the first call behind each."""
    summaries = [one for session in sessions for one in session.summaries]
    calls = [one for session in sessions for one in session.calls]
    return {
        "summaries": len(summaries),
        "asked": dict(Counter(one.mode for one in summaries)),
        "misses": sum(len(one.misses) for one in summaries),
        "summary_calls": total(call for one in summaries for call in one.calls),
        "agent_before": total(priced(one.tokens, pair.agent) for one in calls if not one.generation),
        "agent_after": total(priced(one.tokens, pair.agent) for one in calls if one.generation),
        "agent_rebuild": total(priced(one.tokens, pair.agent) for one in calls if one.is_first),
    }


def verdicts(row: Row, pair: Pair, measured: Measured) -> list[Figure]:
    """One figure for each chooser that was played."""
    judge = _near_the_best if row.is_truthful else _after_one_miss
    return [judge(row, pair, way, measured) for way in measured if way.rivals]


def _near_the_best(row: Row, pair: Pair, way: Way, measured: Measured) -> Figure:
    """The chooser's money against that of the best of its rivals, over all sessions."""
    costs = {rival: _cost(measured[rival]) for rival in way.rivals}
    best = min(costs, key=lambda rival: costs[rival])
    sessions = measured[way]
    single = [
        one.cost_usd / min(measured[rival][at].cost_usd for rival in way.rivals)
        for at, one in enumerate(sessions)
    ]
    return at_most(
        f"{way} near the best: {row.name}, {pair.name}",
        _cost(sessions) / costs[best],
        MOST_ABOVE_BEST,
        len(sessions),
        best=best.value,
        usd=rounded(_cost(sessions)),
        usd_of_rivals={rival.value: rounded(cost) for rival, cost in costs.items()},
        by_session=[rounded(one) for one in single],
    )


def _after_one_miss(row: Row, pair: Pair, way: Way, measured: Measured) -> Figure:
    """The worst session: its money less its first miss, against the transcripts of the same session."""
    _, transcript = way.rivals
    sessions = measured[way]
    pairs = list(zip(sessions, measured[transcript], strict=True))
    ratios = [(one.cost_usd - one.first_miss_usd) / other.cost_usd for one, other in pairs]
    return at_most(
        f"{way} after one miss: {row.name}, {pair.name}",
        max(ratios),
        1.0,
        len(sessions),
        usd=rounded(_cost(sessions)),
        usd_of_rivals={rival.value: rounded(_cost(measured[rival])) for rival in way.rivals},
        with_the_miss=[rounded(one.cost_usd / other.cost_usd) for one, other in pairs],
        most_misses=max(sum(len(summary.misses) for summary in one.summaries) for one in sessions),
    )


def _cost(sessions: Sequence[Session]) -> float:
    return sum(one.cost_usd for one in sessions)
