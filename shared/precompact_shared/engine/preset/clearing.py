"""What a preset says about clearing old tool results."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from precompact_shared.engine.catalogue import ToolKind
from precompact_shared.engine.shorten import Ends, Unit

_NOTHING = Ends(Unit.CHARACTERS, 0, 0)


class ClearMode(StrEnum):
    """What becomes of a result."""

    CLEAR = "clear"
    """A note takes the place of all it holds."""
    COLLAPSE = "collapse"
    """Each long text keeps its two ends; what is not text stays."""
    NOTHING = "nothing"
    """It stays as it is."""


@dataclass(frozen=True, slots=True)
class KindRule:
    """How results of one kind of tool differ from the rest."""

    kind: ToolKind
    mode: ClearMode
    ends: Ends


@dataclass(frozen=True, slots=True, kw_only=True)
class ClearingRule:
    """Which results may go, and which of these stay because they are recent. Every number 0 = no such protection.

    Results that may go are walked from the newest to the oldest; what one protection keeps, no later one counts.
    """

    mode: ClearMode = ClearMode.CLEAR
    ends: Ends = _NOTHING
    """Collapsing: how much stays of a text."""
    kinds: tuple[KindRule, ...] = ()
    """Kinds that are treated otherwise. Where their `ends` win nothing, `ends` of the rule is tried."""
    clearable: tuple[ToolKind, ...] = ()
    """Kinds whose results may go; empty = every kind. What the catalogue protects stays in any case."""
    protected: tuple[str, ...] = ()
    """Patterns of tool names whose results stay."""
    exempt_user_turns: int = 0
    """Results behind the beginning of so many newest user turns stay."""
    exempt_tool_turns: int = 0
    """Results of so many newest replies with calls stay."""
    keep_recent_tokens: int = 0
    """Results with fewer tokens than this behind them stay."""
    keep_recent: int = 0
    """So many newest results stay."""
    protect_tokens: int = 0
    """The newest results stay that together have no more tokens than this."""
    from_tokens: int = 0
    """In a context smaller than this nothing is cleared at all."""
    min_saving_tokens: int = 0
    """With less to win nothing is cleared at all."""
    stops_at_cleared: bool = False
    """Nothing older than a result that is cleared already is looked at."""

    def treatment(self, kind: ToolKind) -> tuple[ClearMode, tuple[Ends, ...]]:
        """What is done to results of this kind, and the ends to try in order."""
        own = next((rule for rule in self.kinds if rule.kind is kind), None)
        return (self.mode, (self.ends,)) if own is None else (own.mode, (own.ends, self.ends))
