"""Latency of `prepare` against a bare Redis round trip through the same HTTP stack, with adoptions."""

from __future__ import annotations

from collections import Counter

import msgspec

from tests.bench.agent import Agent
from tests.bench.figures import Figure, at_most, rounded, spread_ms
from tests.bench.ground import Ground
from tests.bench.turns import turn
from tests.bench.wire import Line, request, settle

SESSIONS = 8
CALLS = 320
"""For each session; with 1,500 tokens a turn and a window of 200,000 a compaction comes about every 90 calls."""
WINDOW = 200_000
SIZE_BYTES = 4_500


def against_a_round_trip(ground: Ground) -> Figure:
    """One prepare, one bare call, in turns, over one connection each; scheduler and worker at work."""
    _, place = ground.tenant()
    took: list[float] = []
    bare_took: list[float] = []
    adopting: list[float] = []
    statuses: Counter[str] = Counter()
    with Line(place) as line, Line(ground.bare) as bare:
        settle()
        for number in range(SESSIONS):
            agent = Agent(line, f"talk-{number}", WINDOW, SIZE_BYTES)
            for call in range(CALLS):
                answer = agent.prepare()
                ping = bare.ask(request(ground.bare, "/ping", msgspec.json.encode(turn(call, SIZE_BYTES))))
                ping.json()
                took.append(answer.took_s)
                bare_took.append(ping.took_s)
                statuses[agent.status] += 1
                if agent.status == "adopted":
                    adopting.append(answer.took_s)
    assert adopting, "no adoption happened: this measures nothing"
    ours, bare_ms = spread_ms(took), spread_ms(bare_took)
    return at_most(
        "prepare_latency_p99",
        ours["p99"] / bare_ms["p99"],
        3.0,
        len(took),
        p50_ratio=rounded(ours["p50"] / bare_ms["p50"]),
        p90_ratio=rounded(ours["p90"] / bare_ms["p90"]),
        prepare_ms=ours,
        bare_ms=bare_ms,
        adopting_ms=spread_ms(adopting),
        statuses=dict(statuses),
        share_adopting=rounded(len(adopting) / len(took)),
        body_bytes=SIZE_BYTES,
        note="closed loop, one caller; request by request in turns, so both sides share whatever else runs",
    )
