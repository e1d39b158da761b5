"""The place to take: walk back from the newest entry until the keep budget is met."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate

from precompact_shared.engine.cut.safe import safe_positions
from precompact_shared.engine.cut.stretch import Stretch
from precompact_shared.engine.preset import Boundary
from precompact_shared.engine.types import Entry, Format

_WORTH_KEEPING = 0.25
"""Share of the keep budget below which a tail is too little to go on with."""
_NEWEST_TURN = 2.0
"""The turn of the newest user message stays whole up to this multiple of the keep budget."""


class CutReason(StrEnum):
    """Why the cut lies where it lies."""

    TURN_START = "turn_start"
    """In front of a user's turn, within the budget."""
    NEWEST_TURN = "newest_turn"
    """In front of the newest user message, which is kept although its turn is larger than the budget."""
    INSIDE_TURN = "inside_turn"
    """No turn starts within the budget: its head is covered, its end kept."""
    UNIT_OVER_BUDGET = "unit_over_budget"
    """The newest unit alone is larger than the budget; it stays whole."""


class SkipReason(StrEnum):
    """Why there is nothing to cut. None of these is an error."""

    EMPTY = "empty"
    """No entries."""
    ALL_FITS = "all_fits"
    """Everything is within the keep budget."""
    OPEN_CALL = "open_call"
    """A call that waits for its result stands before every place to cut."""
    NO_SAFE_CUT = "no_safe_cut"
    """The rules leave no place: all entries belong together."""
    NOT_AHEAD = "not_ahead"
    """Every safe place lies at or before what is covered already."""
    ONLY_PINNED = "only_pinned"
    """Whatever could be covered is pinned."""
    ONE_TURN = "one_turn"
    """All there is is the newest turn, and it is small enough to stay whole."""


@dataclass(frozen=True, slots=True)
class Cut:
    """Cover entries with `seq < upto`, keep the rest. Tokens as the entries carry them, pinned ones not covered."""

    upto: int
    split_turn: bool
    """The tail begins inside a turn: its user message is covered."""
    covered_tokens: int
    kept_tokens: int
    reason: str
    turn_start: int | None = None
    """With `split_turn`: `seq` of the entry that begins the divided turn, as far back as these entries go."""


@dataclass(frozen=True, slots=True)
class Skip:
    """Nothing to cut."""

    reason: SkipReason


def plan_cut(
    format: Format,  # noqa: A002
    entries: Sequence[Entry],
    *,
    keep_tokens: int,
    at_least: int,
    boundary: Boundary = Boundary.TURN,
) -> Cut | Skip:
    """Where to cut these entries (from the current `upto` to the end) so that about `keep_tokens` of them stay.

    The result's `upto` is a `seq` beyond `at_least`, its position one of `safe_cuts`, and at least one entry stays.
    With `Boundary.TURN` the newest genuine user message stays whenever its turn fits twice the budget.
    Takes O(n); raises `InvalidEntry` for an entry that is no message of the format.
    """
    if not entries:
        return Skip(SkipReason.EMPTY)
    places = _Places.of(Stretch.of(format, entries))
    if places.covered[-1] <= keep_tokens:
        return Skip(SkipReason.ALL_FITS)
    usable = places.usable(at_least)
    if isinstance(usable, Skip):
        return usable
    choose = _by_turn if boundary is Boundary.TURN else _by_budget
    return choose(places, usable, keep_tokens)


@dataclass(frozen=True, slots=True)
class _Places:
    """Sizes on both sides of every position."""

    stretch: Stretch
    safe: tuple[int, ...]
    covered: list[int]
    """Tokens of the unpinned entries before each position."""
    kept: list[int]
    """Tokens of all entries from each position on."""

    @classmethod
    def of(cls, stretch: Stretch) -> _Places:
        unpinned = (0 if stretch.pinned(p) else entry.tokens for p, entry in enumerate(stretch.entries))
        backwards = accumulate((entry.tokens for entry in reversed(stretch.entries)), initial=0)
        return cls(
            stretch, safe_positions(stretch), list(accumulate(unpinned, initial=0)), list(backwards)[::-1]
        )

    def usable(self, at_least: int) -> list[int] | Skip:
        """The safe positions that cover something new and keep something, or why there are none."""
        inner = [p for p in self.safe if 0 < p < len(self.stretch)]
        if not inner:
            return Skip(SkipReason.OPEN_CALL if self.stretch.pairing.open else SkipReason.NO_SAFE_CUT)
        ahead = [p for p in inner if self.stretch.entries[p].seq > at_least]
        if not ahead:
            return Skip(SkipReason.NOT_AHEAD)
        return [p for p in ahead if self.covered[p]] or Skip(SkipReason.ONLY_PINNED)

    def cut(self, position: int, reason: CutReason) -> Cut:
        return Cut(
            upto=self.stretch.entries[position].seq,
            split_turn=not self.stretch.starts_turn(position),
            covered_tokens=self.covered[position],
            kept_tokens=self.kept[position],
            reason=reason,
        )


_Choice = Callable[[_Places, list[int], int], Cut | Skip]


def _by_turn(places: _Places, usable: list[int], keep_tokens: int) -> Cut | Skip:
    newest = places.stretch.newest_user_turn()
    if newest is not None and places.kept[newest] <= _NEWEST_TURN * keep_tokens:
        usable = [p for p in usable if p <= newest]
        if not usable:
            return Skip(SkipReason.ONE_TURN)
    within = [p for p in usable if places.kept[p] <= keep_tokens]
    worth = _WORTH_KEEPING * keep_tokens
    turns = (p for p in within if places.kept[p] >= worth and places.stretch.starts_turn(p))
    if (turn := next(turns, None)) is not None:
        return places.cut(turn, CutReason.TURN_START)
    if within and places.kept[within[0]] >= worth:
        return places.cut(within[0], CutReason.INSIDE_TURN)
    return _around_a_large_unit(places, usable, within, keep_tokens)


def _around_a_large_unit(places: _Places, usable: list[int], within: list[int], keep_tokens: int) -> Cut:
    """The places near the budget are too small or too large: rather somewhat too much than nearly nothing."""
    larger = [p for p in usable if places.kept[p] > keep_tokens]
    fallback = larger[-1] if larger else within[0]
    if within and places.kept[fallback] > _NEWEST_TURN * keep_tokens:
        fallback = within[0]
    if places.kept[fallback] <= keep_tokens:
        return places.cut(fallback, CutReason.INSIDE_TURN)
    newest = fallback == places.stretch.newest_user_turn()
    return places.cut(fallback, CutReason.NEWEST_TURN if newest else CutReason.UNIT_OVER_BUDGET)


def _by_budget(places: _Places, usable: list[int], keep_tokens: int) -> Cut | Skip:
    reached = max(p for p in range(len(places.stretch)) if places.kept[p] >= keep_tokens or p == 0)
    position = next((p for p in usable if p >= reached), usable[-1])
    if places.kept[position] > keep_tokens and position < reached:
        return places.cut(position, CutReason.UNIT_OVER_BUDGET)
    starts = places.stretch.starts_turn(position)
    return places.cut(position, CutReason.TURN_START if starts else CutReason.INSIDE_TURN)
