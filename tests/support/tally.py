"""What a run has done in numbers: tests add up, the run's last lines tell (histories played, kills, compactions, ...)."""

from __future__ import annotations

from collections import Counter

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
    return [*_remarks, *(f"{what}: {number}" for what, number in sorted(_counts.items()))]
