"""The safe places: the intersection of the rules."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate

from precompact_shared.engine.cut.rules import RULES
from precompact_shared.engine.cut.stretch import Stretch
from precompact_shared.engine.types import Entry, Format


def safe_cuts(format: Format, entries: Sequence[Entry]) -> tuple[int, ...]:  # noqa: A002
    """The positions `p` in `0..n`, ascending, at which these entries may be cut: `[0, p)` covered, `[p, n)` kept.

    Positions are relative to the slice, not `seq`. 0 is always safe. Takes O(n).
    Raises `InvalidEntry` for an entry that is no message of the format.
    """
    return safe_positions(Stretch.of(format, entries))


def safe_positions(stretch: Stretch) -> tuple[int, ...]:
    """As `safe_cuts`, for a stretch already read."""
    forbidden = _covered(len(stretch) + 1, (span for rule in RULES for span in rule.forbids(stretch)))
    return tuple(position for position, count in enumerate(forbidden) if not count)


def _covered(size: int, spans: Iterable[range]) -> list[int]:
    """How many of the spans hold each position; linear however much they overlap."""
    steps = [0] * (size + 1)
    for span in spans:
        steps[span.start] += 1
        steps[span.stop] -= 1
    return list(accumulate(steps))[:size]
