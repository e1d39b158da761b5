"""A span that somebody asked for: `from` and `upto` moved to safe places, or the reason why not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from precompact_shared.engine.cut.outcome import Skip, SkipReason
from precompact_shared.engine.cut.safe import safe_cuts
from precompact_shared.engine.types import Entry, Format


@dataclass(frozen=True, slots=True)
class Span:
    """Summarise entries `[start, upto)`; what lies between the earlier compaction and `start` stays word for word."""

    start: int
    upto: int


def span_by_hand(
    format: Format,  # noqa: A002
    entries: Sequence[Entry],
    *,
    covered: int,
    start: int | None = None,
    upto: int,
) -> Span | Skip:
    """The span of these entries (from `covered`, the current `upto`, to the end) that was asked for.

    Both ends move back to the nearest safe place. `start` None begins where the earlier compaction ended.
    """
    end = entries[-1].seq + 1 if entries else covered
    refused = _refuse(covered, end, start, upto)
    if refused is not None:
        return Skip(refused)
    safe = [entries[place].seq if place < len(entries) else end for place in safe_cuts(format, entries)]
    first = covered if start is None else _at_or_before(safe, start, covered)
    last = _at_or_before(safe, min(upto, end), covered)
    return Span(first, last) if last > first else Skip(SkipReason.NO_SAFE_CUT)


def _refuse(covered: int, end: int, start: int | None, upto: int) -> SkipReason | None:
    if end <= covered:
        return SkipReason.EMPTY
    if start is not None and start < covered:
        return SkipReason.FROM_ALREADY_COVERED
    if upto <= covered:
        return SkipReason.UPTO_ALREADY_COVERED
    return SkipReason.FROM_BEYOND_THE_END if start is not None and start >= end else None


def _at_or_before(safe: Sequence[int], wanted: int, least: int) -> int:
    return max((place for place in safe if place <= wanted), default=least)
