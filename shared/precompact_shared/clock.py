"""The only place that reads a clock or sleeps; everything else takes `now` as an argument."""

from __future__ import annotations

import time


def now_ms() -> int:
    """Wall-clock milliseconds since the epoch. For records and logs; the store's truth is Redis TIME."""
    return time.time_ns() // 1_000_000


def monotonic_s() -> float:
    """Seconds of a clock that never jumps. For deadlines and durations inside one process."""
    return time.monotonic()


def sleep_s(duration_s: float) -> None:
    """Blocks this thread. For the edges of a process (polling a child's readiness), never for waiting on work."""
    time.sleep(duration_s)
