"""`make bench-cost`: what summaries cost in each mode, and whether the chooser keeps its promise; one JSON object on stdout.

100-turn sessions of a coding agent that caches its prompt are played against the strict stand-in: a real API takes them
down, a worker's own code makes the summaries through the real SDK, the stand-in accounts for every token by its price
class, and the ledger's account has to be the same. Money is list price.

What counts. `prefix`, `transcript`, `transcript_cheap` are model summaries a policy may fix; `auto` chooses between
the live prefix on the agent's model and a transcript to the policy's model, so its rivals are those two, and
`auto_one_model`'s are the same with the agent's model alone. `native` is chosen by a preset or a policy, never by
price: its block binds the session to a provider, so it is told beside them and is no rival. A chooser's money is that of its
summary calls. The agent's own calls are told apart: the context behind a summary has the same shape whoever wrote it, so
its cache is rebuilt at the same price, and the choice does not change that.

On truthful rows a chooser may cost 2 % more than its best rival in all sessions together: the first summary of a new tenant
is chosen before anybody knows how long its summaries are. On lying rows no session may cost more than its transcripts,
its first miss left out. Exit code 0 also when a figure is missed: this reports, it does not judge.
"""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from precompact_shared.logging import configure_logging
from precompact_shared.processes import interruptible
from tests.bench.costs import rows
from tests.bench.costs.ground import Ground, ground
from tests.bench.costs.playing import play_all
from tests.bench.costs.rows import Pair, Row, Way
from tests.bench.costs.talk import make_talk
from tests.bench.costs.verdicts import told, verdicts
from tests.bench.figures import Figure

TURNS = 100
PRICED = (Way.PREFIX, Way.TRANSCRIPT, Way.CHEAP, Way.AUTO, Way.AUTO_ALONE)


@dataclass(frozen=True, slots=True)
class Block:
    """One row with one pair of models: the ways that are played, and how many sessions."""

    row: Row
    pair: Pair
    ways: tuple[Way, ...]
    sessions: int


BLOCKS = (
    Block(rows.TRUTHFUL, rows.CLOSE, tuple(Way), 8),
    Block(rows.TRUTHFUL, rows.PREFIX_WINS, PRICED, 2),
    Block(rows.TRUTHFUL, rows.TRANSCRIPT_WINS, PRICED, 2),
    Block(rows.TRUTHFUL, rows.OPENAI, tuple(Way), 2),
    Block(rows.SLOW, rows.PREFIX_WINS, PRICED, 2),
    Block(rows.HOUR, rows.PREFIX_WINS, PRICED, 2),
    Block(rows.EXPIRED, rows.PREFIX_WINS, PRICED, 2),
    Block(rows.UNMARKED, rows.PREFIX_WINS, PRICED, 2),
    Block(rows.EVICTED, rows.PREFIX_WINS, PRICED, 5),
    Block(rows.NOWHERE, rows.PREFIX_WINS, PRICED, 2),
    Block(rows.OTHER_WORKSPACE, rows.PREFIX_WINS, PRICED, 3),
    Block(rows.OTHER_WORKSPACE, rows.OPENAI, PRICED, 2),
    Block(rows.CONCURRENT, rows.PREFIX_WINS, PRICED, 2),
)


def main(names: list[str]) -> int:
    """Plays the blocks of the named rows, all by default."""
    there = {block.row.name for block in BLOCKS}
    if unknown := set(names) - there:
        sys.stderr.write(f"no such row: {', '.join(sorted(unknown))}; there are {', '.join(sorted(there))}\n")
        return 2
    configure_logging(process="bench", level="WARNING")
    begun = time.perf_counter()
    measured: list[dict[str, Any]] = []
    figures: list[Figure] = []
    with ground() as on:
        for block in BLOCKS:
            if not names or block.row.name in names:
                report, judged = _measure(on, block)
                measured.append(report)
                figures += judged
    print(json.dumps(_report(measured, figures, time.perf_counter() - begun), indent=1))
    return 0


def _measure(on: Ground, block: Block) -> tuple[dict[str, Any], list[Figure]]:
    row, pair = block.row, block.pair
    _say(f"{row.name}, {pair.name}: {block.sessions} sessions in {len(block.ways)} ways …")
    talks = [make_talk(seed, TURNS) for seed in range(1, block.sessions + 1)]
    played = {way: play_all(on, talks, way, pair, row) for way in block.ways}
    ways = {way.value: told(sessions, pair) for way, sessions in played.items()}
    report = {"row": row.name, "about": row.about, "truthful": row.is_truthful, "models": pair.name}
    return {**report, "sessions": block.sessions, "ways": ways}, verdicts(row, pair, played)


def _report(measured: list[dict[str, Any]], figures: list[Figure], took_s: float) -> Mapping[str, Any]:
    return {
        "about": __doc__,
        "turns": TURNS,
        "blocks": measured,
        "figures": [figure.report() for figure in figures],
        "within": {figure.name: figure.ok for figure in figures},
        "missed": [figure.name for figure in figures if not figure.ok],
        "machine": {
            "cpus": os.cpu_count(),
            "python": platform.python_version(),
            "system": platform.system(),
            "load_at_end": [round(each, 2) for each in os.getloadavg()],
        },
        "seconds": round(took_s, 1),
    }


def _say(line: str) -> None:
    sys.stderr.write(f"bench-cost: {line}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    with interruptible():
        sys.exit(main(sys.argv[1:]))
