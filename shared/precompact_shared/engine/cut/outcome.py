"""What planning a cut ends in: a place, or a reason why there is none."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class CutReason(StrEnum):
    """Why the cut lies where it lies."""

    TURN_START = "turn_start"
    """In front of a user's turn, within the budget."""
    NEWEST_TURN = "newest_turn"
    """In front of the newest user message, which is kept although its turn is larger than the budget."""
    LAST_EXCHANGE = "last_exchange"
    """Everything would fit; the newest exchange alone is kept, as the preset wants it."""
    INSIDE_TURN = "inside_turn"
    """No turn starts within the budget: its head is covered, its end kept."""
    UNIT_OVER_BUDGET = "unit_over_budget"
    """The newest unit alone is larger than the budget; it stays whole."""
    EARLIER_TURN = "earlier_turn"
    """No allowed place lies within the budget; the last one in front of it is taken."""
    EVERYTHING = "everything"
    """All entries are covered."""
    WAITING = "waiting"
    """All entries are covered but those that wait for the model's answer."""


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
    """All there is is the newest turn, and it is small enough to stay whole or waits for its answer."""
    FROM_ALREADY_COVERED = "from_already_covered"
    """By hand: `from` lies in what an earlier compaction covers."""
    UPTO_ALREADY_COVERED = "upto_already_covered"
    """By hand: `upto` lies in what an earlier compaction covers."""
    FROM_BEYOND_THE_END = "from_beyond_the_end"
    """By hand: `from` lies behind the last entry."""


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
