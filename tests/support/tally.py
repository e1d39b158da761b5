"""What a run has done in numbers: tests add up, the run's last lines tell (histories played, kills, compactions, ...).

Several processes may run the tests; each gives its part away at its end, and the one that reports puts them together.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from tests.support import recordings

_counts: Counter[str] = Counter()
_remarks: list[str] = []


def count(what: str, number: int = 1) -> None:
    """Adds to a number that the run's last lines show."""
    _counts[what] += number


def remark(text: str) -> None:
    """A line of its own at the end of the run."""
    _remarks.append(text)


def lines() -> list[str]:
    """What to show."""
    where = "" if recordings.data_dir() else " (../shared/data/dev is absent)"
    used = f"recordings used: {len(recordings.used)}{where}"
    return [used, *_remarks, *(f"{what}: {number}" for what, number in sorted(_counts.items()))]


def part() -> dict[str, Any]:
    """What this process has counted, as JSON can carry it."""
    return {"counts": dict(_counts), "remarks": list(_remarks), "recordings": sorted(recordings.used)}


def put_together(told: dict[str, Any]) -> None:
    """Adds another process's part to this one's."""
    _counts.update(told["counts"])
    _remarks.extend(told["remarks"])
    recordings.used.update(told["recordings"])
