"""The stand-in's time: the machine's, moved on by whoever tests, or standing still until moved."""

from __future__ import annotations

import time


class Clock:
    """Seconds since the epoch. With `start_s` it stands still there; `advance` moves it in both cases."""

    def __init__(self, start_s: float | None = None) -> None:
        self._fixed_s = start_s
        self._moved_s = 0.0

    def now_s(self) -> float:
        """Seconds since the epoch, as this server sees them."""
        base = time.time() if self._fixed_s is None else self._fixed_s
        return base + self._moved_s

    def advance(self, duration_s: float) -> None:
        """Move on by so many seconds."""
        self._moved_s += duration_s
