"""`make bench`: one JSON object on stdout, progress on stderr. `python -m tests.bench NAME…` runs some blocks only.

Every ratio compares the service with a bare baseline, or with itself, in one run, in interleaved blocks. Exit code 0
also when a figure is missed: this reports, it does not judge.
"""

from __future__ import annotations

import json
import os
import platform
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Mapping
from functools import partial

from precompact_shared.processes import interruptible
from tests.bench.blocks import appending, cutting, deciding, growing, preparing, starting
from tests.bench.figures import Figure
from tests.bench.ground import Ground, ground
from tests.support.stack import Shape

Block = Callable[[Ground], Iterable[Figure]]

ALONE = Shape(apis=1, schedulers=0, workers=0)
WHOLE = Shape(
    apis=1,
    schedulers=1,
    workers=1,
    settings={"lease_s": 30.0, "sweep_s": 5.0, "lag_s": 5.0, "resend_s": 30.0},
)
UNDECIDED = Shape(
    apis=1,
    schedulers=1,
    workers=0,
    settings={"lease_s": 30.0, "sweep_s": 30.0, "lag_s": 60.0, "resend_s": 60.0},
)
"""Without worker; the sweeper leaves alone what piles up while the scheduler is made to stand still."""

BLOCKS: dict[str, tuple[Shape, Block]] = {
    "append": (ALONE, lambda on: [appending.throughput(on)]),
    "prepare": (WHOLE, lambda on: [preparing.against_a_round_trip(on)]),
    "growth": (WHOLE, growing.work_and_bytes),
    "held": (WHOLE, lambda on: [appending.while_held(on)]),
    "start": (WHOLE, lambda on: [starting.event_to_job(on)]),
    "scheduler": (UNDECIDED, lambda on: [deciding.events_per_second(on)]),
}

OFFLINE: dict[str, Callable[[], Iterable[Figure]]] = {"cut": cutting.cut_and_projection}
"""Blocks that need no process."""


def main(names: list[str]) -> int:
    """Runs the named blocks, all by default."""
    unknown = set(names) - set(BLOCKS) - set(OFFLINE)
    if unknown:
        there = ", ".join((*OFFLINE, *BLOCKS))
        sys.stderr.write(f"no such block: {', '.join(sorted(unknown))}; there are {there}\n")
        return 2
    begun = time.perf_counter()
    figures = _tell({name: block for name, block in OFFLINE.items() if not names or name in names})
    figures += [figure for shape in (ALONE, WHOLE, UNDECIDED) for figure in _measure(shape, names)]
    report = {
        "figures": [figure.report() for figure in figures],
        "missed": [figure.name for figure in figures if figure.ok is False],
        "machine": {
            "cpus": os.cpu_count(),
            "python": platform.python_version(),
            "system": platform.system(),
            "load_at_end": [round(each, 2) for each in os.getloadavg()],
        },
        "seconds": round(time.perf_counter() - begun, 1),
    }
    print(json.dumps(report, indent=1))
    return 0


def _measure(shape: Shape, names: list[str]) -> list[Figure]:
    wanted = {
        name: block
        for name, (where, block) in BLOCKS.items()
        if where is shape and (not names or name in names)
    }
    if not wanted:
        return []
    _say(
        f"starting {shape.apis} API, {shape.schedulers} scheduler, {shape.workers} worker, Redis and the bare app"
    )
    with ground(shape) as on:
        return _tell({name: partial(block, on) for name, block in wanted.items()})


def _tell(blocks: Mapping[str, Callable[[], Iterable[Figure]]]) -> list[Figure]:
    found: list[Figure] = []
    for name, block in blocks.items():
        _say(f"{name} …")
        begun = time.perf_counter()
        found += _try(name, block)
        _say(f"{name}: {time.perf_counter() - begun:.0f} s")
    return found


def _try(name: str, block: Callable[[], Iterable[Figure]]) -> list[Figure]:
    """A block that fails is reported as missed; the others still run."""
    try:
        return list(block())
    except Exception as error:  # noqa: BLE001 - whatever it is, it belongs into the report
        traceback.print_exc()
        why = f"{type(error).__name__}: {error}"[:500]
        return [Figure(name=name, ratio=None, reach="to be measured", ok=False, n=0, details={"error": why})]


def _say(line: str) -> None:
    sys.stderr.write(f"bench: {line}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    with interruptible():
        sys.exit(main(sys.argv[1:]))
