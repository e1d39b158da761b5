"""When things happened in a recording, and how fast it is played. Only delays are compressed, never clocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Any

STEP_S = 10.0
"""Between two messages where the recording does not say."""
IDLE_MOST_S = 60.0
"""A longer gap is somebody being away; it is cut to this."""
SPEEDS = (20.0, 30.0, 40.0, 60.0, 80.0)
PLAY_S = 38.0
"""Real seconds a play should take at most; the slowest speed that manages is chosen, else the fastest."""
_MS_FROM = 1e11
"""A number above this is milliseconds since the epoch, not seconds."""
_MOST_STAMP = 1e15
"""No time at all from here on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """Seconds of session time between each message and the one before it (the first: 0)."""

    gaps_s: tuple[float, ...]
    cut: int
    """Gaps that were longer than allowed."""
    cut_s: float
    """Seconds of session time left out by that."""
    assumed: int
    """Gaps the recording does not tell."""

    @property
    def total_s(self) -> float:
        """Session time of the whole recording."""
        return sum(self.gaps_s)

    def between(self, start: int, stop: int) -> float:
        """Session time from message `start - 1` to message `stop - 1`."""
        return sum(self.gaps_s[start:stop])


def read_pace(timestamps: Sequence[Any] | None, count: int) -> Pace:
    """The pace of `count` messages. Times that are absent or unreadable count as unknown."""
    stamps = [_seconds(stamp) for stamp in timestamps or ()][:count]
    stamps += [None] * (count - len(stamps))
    known = [None if a is None or b is None else max(0.0, b - a) for a, b in pairwise(stamps)]
    long = [gap for gap in known if gap is not None and gap > IDLE_MOST_S]
    gaps = (STEP_S if gap is None else min(gap, IDLE_MOST_S) for gap in known)
    return Pace(
        gaps_s=(0.0, *gaps)[:count],
        cut=len(long),
        cut_s=sum(long) - IDLE_MOST_S * len(long),
        assumed=sum(gap is None for gap in known),
    )


def choose_speed(total_s: float) -> float:
    """The slowest speed at which `total_s` of session time play within the real time allowed."""
    return next((speed for speed in SPEEDS if total_s / speed <= PLAY_S), SPEEDS[-1])


def _seconds(stamp: Any) -> float | None:
    if isinstance(stamp, bool) or stamp is None:
        return None
    if isinstance(stamp, int | float):
        known = abs(stamp) < _MOST_STAMP  # NaN is not
        return None if not known else stamp / 1000 if stamp > _MS_FROM else float(stamp)
    try:
        return datetime.fromisoformat(stamp).timestamp()
    except (TypeError, ValueError, OverflowError, OSError):
        return None
