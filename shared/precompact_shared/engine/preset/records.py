"""What each key of a preset means. All values are data; 0, empty and false say that a system has no such thing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from precompact_shared.engine.shorten import Ends


class KeepBy(StrEnum):
    """What bounds the tail that stays word for word."""

    TOKENS = "tokens"
    """A budget in tokens: fixed, or a share of the limit between two bounds."""
    HISTORY_SHARE = "history_share"
    """A share of the JSON characters there are now, whatever the window."""
    NOTHING = "nothing"
    """No tail: everything that is not waiting for an answer is covered."""


class Boundary(StrEnum):
    """Where a cut prefers to fall."""

    TURN = "turn"
    """In front of a genuine user message, if the tail it leaves is worth keeping; the newest one stays if it can."""
    ANY = "any"
    """At the first safe place where the tail has reached its budget, inside a turn if need be."""
    EXCHANGE = "exchange"
    """In front of a genuine user message within the budget; inside the newest turn only if that alone is larger."""
    USER = "user"
    """Only in front of a plain user message (no results in it); where none follows, see `plan_cut`."""
    END = "end"
    """Behind the newest entry that may be covered."""


class Waiting(StrEnum):
    """What waits for the model's answer at the end of the history and therefore stays, whatever the budget."""

    USER = "user"
    """A user message that nobody has answered yet; results of tools are covered."""
    STEP = "step"
    """The same, and a tool call with results that the model has not seen."""


class Holding(StrEnum):
    """What a section of the summary is filled with by code."""

    REQUESTS = "requests"
    """The user's own words, newest first."""
    CONSTRAINTS = "constraints"
    """Sentences of the user that stay true: always, never, must, do not."""
    PLAN = "plan"
    """The plan as the agent last wrote it."""
    LAST_WORDS = "last_words"
    """The newest assistant text of the covered part."""
    OUTCOMES = "outcomes"
    """How the assistant answered earlier requests."""
    FILES = "files"
    """Files modified and files read, cumulative."""
    FAILURES = "failures"
    """Tool calls whose last try failed, with the error."""
    COMMANDS = "commands"
    """The newest shell commands."""
    OPEN = "open"
    """The request that has no finished answer yet."""
    ADDRESSES = "addresses"
    """The covered turns and where `recall` finds them."""


class SectionCheck(StrEnum):
    """How strictly the headings of a summary are checked."""

    ALL = "all"
    """Every heading once, in order, with something under it."""
    ANY = "any"
    """At least one heading on a line of its own."""
    NONE = "none"
    """Prose is as good as headings."""


class Form(StrEnum):
    """What stands in for the covered entries."""

    MESSAGE = "message"
    """A message with a readable summary."""
    NATIVE = "native"
    """The provider's own block, unchanged; the readable summary is kept beside it for other models."""


class SummaryPlace(StrEnum):
    """Where the summary stands among the messages that replace what is covered."""

    FIRST = "first"
    """Behind pinned entries, in front of everything else."""
    LAST = "last"
    """Behind the user texts that were kept."""
    BEFORE_LAST_USER = "before_last_user"
    """In front of the newest user text that was kept; last, where none was."""


class StatePlace(StrEnum):
    """Where what is true now (rules, files, plan) stands among those messages."""

    AROUND_SUMMARY = "around_summary"
    """What hardly changes in front of the summary, so that a cache keeps it; what changes behind it."""
    BEHIND_SUMMARY = "behind_summary"
    BEFORE_LAST_USER = "before_last_user"
    """In front of the newest user text that was kept, else in front of the summary."""


@dataclass(frozen=True, slots=True)
class Trigger:
    """When. The limit is the least of those terms that are not 0; `hard` is the most a request may ever have."""

    limit_share_of_hard: float
    limit_share_of_window: float
    limit_tokens: int
    limit_reserve_tokens: int
    """Window less this many tokens, or less `limit_reserve_share` of it if that is more."""
    limit_reserve_share: float
    limit_reserve_min_window: int
    """Under this window the reserve is the share alone."""
    limit_below_hard_tokens: int
    """`hard` less this many tokens."""
    limit_tokens_least: int
    """A `limit_tokens` below this is refused when it is set."""
    limit_bytes: int
    """A history stored in so many bytes counts as at the limit, whatever its tokens."""
    limit_is_exceeded: bool
    """True: only a size above the limit counts as reached; False: the limit itself does."""
    override_only_lowers: bool
    """A share of `hard` that a policy sets may lower the limit and never raises it."""
    output_max_tokens: int
    """`hard` = window - output limit - margin; at most so much is set aside for output, 0 = all of it."""
    margin_share: float
    start_low: float
    start_high: float
    start_band_tokens: int
    """Speculation starts no earlier than so many tokens in front of the limit; 0 = the shares alone decide."""
    min_tokens: int
    small_window_tokens: int
    small_window_min_share: float

    def with_limit_share(self, share: float) -> Trigger:
        """As a policy wants it: a share of `hard` in place of all other terms, or beside them if it may only lower."""
        if self.override_only_lowers:
            return replace(self, limit_share_of_hard=share)
        return replace(
            self,
            limit_share_of_hard=share,
            limit_share_of_window=0.0,
            limit_tokens=0,
            limit_reserve_tokens=0,
            limit_reserve_share=0.0,
            limit_below_hard_tokens=0,
        )


@dataclass(frozen=True, slots=True)
class CutRule:
    """Where. `keep_tokens` is the budget, or its upper bound where `keep_share` of the limit is one."""

    keep_by: KeepBy
    keep_tokens: int
    keep_min_tokens: int
    keep_share: float
    """Budget as a share of the limit, between the two numbers above; 0 = `keep_tokens` alone."""
    keep_share_max: float
    """Never more than this share of the limit."""
    keep_history_share: float
    """Of the JSON characters, with `keep_by = "history_share"`; above 0 and below 1."""
    keep_turns: int
    """At most so many turns of the user; 0 = any number."""
    boundary: Boundary
    waiting: Waiting
    cuts_if_all_fits: bool
    """True: a history within the budget keeps its newest exchange alone; False: there is nothing to cut."""
    huge_characters: int
    """A text in the tail that is longer is shown as head and tail with its address; 0 = never."""
    huge_head_characters: int
    huge_tail_characters: int

    def with_keep_tokens(self, tokens: int) -> CutRule:
        """As a policy wants it: this budget, still bounded by `keep_share_max`."""
        return replace(self, keep_tokens=tokens, keep_min_tokens=0, keep_share=0.0)

    def without_shortening(self) -> CutRule:
        """For those who show every text of the tail whole, and so have to count it whole."""
        return replace(self, huge_characters=0)

    def budget(self, limit: int) -> int:
        """The keep budget in tokens at this limit."""
        if self.keep_by is KeepBy.NOTHING:
            return 0
        wanted = int(limit * self.keep_share) if self.keep_share else self.keep_tokens
        clamped = max(self.keep_min_tokens, min(self.keep_tokens, wanted))
        return min(clamped, int(limit * self.keep_share_max))


@dataclass(frozen=True, slots=True)
class Adoption:
    """The soft gates: when a candidate is still worth adopting below the limit."""

    growth_keeps: float
    growth_min_tokens: int
    growth_limit_share: float
    growth_hard_share_max: float
    saving_min_tokens: int
    saving_min_share: float


@dataclass(frozen=True, slots=True)
class Section:
    """One heading of a summary. `share` is its part of `max_tokens`; what it leaves, the others may use."""

    heading: str
    closing: str
    """A line that ends the section, such as a closing tag; empty = none."""
    asks: str
    """What a writer is asked to put under it."""
    holds: tuple[Holding, ...]
    """Empty: a heading over the sections that follow."""
    share: float
    most: int
    """At most so many items of those that code fills in; 0 = as many as fit."""


@dataclass(frozen=True, slots=True)
class SummaryRule:
    """What. `split_sections` are those of the head of a turn that the cut divides; none = it is part of the rest."""

    max_tokens: int
    check: SectionCheck
    instructions: str
    """What a writer is told besides the sections."""
    result_ends: Ends
    """What a writer sees of one tool result; with head and tail 0 always the whole of it."""
    rebuild_every: int
    """Every so many generations one is made of the originals instead of the previous one; 0 = none."""
    rebuild_max_tokens: int
    """Of originals that are read again for it, in tokens of the session's model; with more of them it is left out. 0 = any number."""
    split_max_tokens: int
    split_heading: str
    split_sections: tuple[Section, ...]
    sections: tuple[Section, ...]


@dataclass(frozen=True, slots=True)
class Injection:
    """How it comes back: a user message made of opening, preface, summary, closing; an empty acknowledgement = none."""

    form: Form
    place: SummaryPlace
    state_place: StatePlace
    opening: str
    closing: str
    preface: str
    acknowledgement: str
    continuation: str
    """A user message behind the summary that tells the model to go on; empty = none."""
    replays_on_overflow: bool
    """The user turn that was too large is sent again behind the summary, media as labels."""
    replay_missing: str
    """What is said where there is none to send again."""
    user_texts_tokens: int
    """User messages of the covered part that are kept, newest first, up to so many tokens; 0 = none."""
    user_texts_whole: bool
    """True: the one that crosses the line ends the walk; False: it loses its middle."""


@dataclass(frozen=True, slots=True)
class Recovery:
    """What if it fails."""

    nudges: int
    chain_ends_with: str
