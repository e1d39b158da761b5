"""The places a cut may take, with the sizes on both sides of each. Made once, O(n)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from precompact_shared.engine.cut.outcome import Cut, CutReason, Skip, SkipReason
from precompact_shared.engine.cut.safe import safe_positions
from precompact_shared.engine.cut.stretch import Stretch
from precompact_shared.engine.formats.reading import as_json
from precompact_shared.engine.oversized import shown_tokens
from precompact_shared.engine.preset import CutRule, KeepBy
from precompact_shared.engine.types import Entry, Role


@dataclass(frozen=True, slots=True)
class Places:
    """Positions count from 0 at the first of the entries; `usable` ones cover something new and are safe."""

    stretch: Stretch
    rule: CutRule
    budget: float
    """Of the tail, in the unit of `kept`."""
    covered: Sequence[int]
    """Tokens of the unpinned entries before each position."""
    kept: Sequence[int]
    """Size of all entries from each position on, as shown: tokens, or JSON characters by the rule."""
    tail_tokens: Sequence[int]
    """The same in tokens."""
    safe: tuple[int, ...]
    usable: tuple[int, ...] = ()

    @classmethod
    def of(cls, stretch: Stretch, rule: CutRule, keep_tokens: int) -> Places:
        """The places of these entries, all safe ones not yet sifted."""
        unpinned = (0 if stretch.pinned(p) else entry.tokens for p, entry in enumerate(stretch.entries))
        tokens = _from_behind(shown_tokens(stretch.entries, stretch.facts, rule))
        kept, budget = tokens, float(keep_tokens)
        if rule.keep_by is KeepBy.HISTORY_SHARE:
            kept = _from_behind(json_characters(entry) for entry in stretch.entries)
            budget = kept[0] * rule.keep_history_share
        elif rule.keep_by is KeepBy.NOTHING:
            budget = 0.0
        covered = list(accumulate(unpinned, initial=0))
        return cls(stretch, rule, budget, covered, kept, tokens, safe_positions(stretch))

    def ahead(self, at_least: int, last: int) -> Places | Skip:
        """With the usable positions: beyond the entry `at_least`, at most `last`; or why there are none."""
        inner = [p for p in self.safe if 0 < p <= last]
        if not inner:
            return Skip(SkipReason.OPEN_CALL if self.stretch.pairing.open else SkipReason.NO_SAFE_CUT)
        ahead = [p for p in inner if self.seq(p) > at_least]
        if not ahead:
            return Skip(SkipReason.NOT_AHEAD)
        usable = tuple(p for p in ahead if self.covered[p])
        return replace(self, usable=usable) if usable else Skip(SkipReason.ONLY_PINNED)

    def seq(self, position: int) -> int:
        """The `seq` that a cut at this position covers up to."""
        entries = self.stretch.entries
        return entries[position].seq if position < len(entries) else entries[-1].seq + 1

    def turns(self) -> tuple[int, ...]:
        """The usable positions at which a turn of the user begins."""
        return tuple(p for p in self.usable if self.stretch.starts_turn(p))

    def newest_turn(self) -> int | None:
        """Where the newest turn of the user begins, usable or not; None without any."""
        return next((p for p in reversed(range(len(self.stretch))) if self.stretch.starts_turn(p)), None)

    def within_turns(self, starts: Iterable[int]) -> list[int]:
        """Those of these turn starts that leave no more turns than the rule allows, in order."""
        listed = list(starts)
        return listed[-self.rule.keep_turns :] if self.rule.keep_turns else listed

    def waits_from(self) -> int:
        """Where begins what waits for the model's answer by the rule of a user message; the length for nothing."""
        newest = self.stretch.newest_user_turn()
        if newest is None or any(one.role is Role.ASSISTANT for one in self.stretch.facts[newest + 1 :]):
            return len(self.stretch)
        starts = (p for p in reversed(range(newest + 1)) if self.stretch.starts_turn(p))
        return next(starts, newest)

    def cut(self, position: int, reason: CutReason) -> Cut:
        """The cut at this position."""
        split = position < len(self.stretch) and not self.stretch.starts_turn(position)
        return Cut(
            upto=self.seq(position),
            split_turn=split,
            covered_tokens=self.covered[position],
            kept_tokens=self.tail_tokens[position],
            reason=reason,
            turn_start=self._turn_start(position) if split else None,
        )

    def _turn_start(self, position: int) -> int:
        starts = (p for p in reversed(range(position)) if self.stretch.starts_turn(p))
        return self.seq(next(starts, 0))


def json_characters(entry: Entry) -> int:
    """The length of an entry as compact JSON."""
    return len(as_json(entry.message))


def _from_behind(sizes: Iterable[int]) -> list[int]:
    return list(accumulate(reversed(list(sizes)), initial=0))[::-1]
