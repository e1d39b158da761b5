"""A stretch of history as the cut rules see it: facts and links by position, computed once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

from precompact_shared.engine.formats import facts
from precompact_shared.engine.pairing import Pairing, pair_facts
from precompact_shared.engine.types import Entry, Facts, Format, Role


@dataclass(frozen=True, slots=True)
class Stretch:
    """Entries of one session in order, without gaps. Positions count from 0 and are not `seq`."""

    format: Format
    entries: Sequence[Entry]
    facts: tuple[Facts, ...]
    pairing: Pairing
    head: int
    """Number of system and developer entries that open the history; 0 for a slice that starts later."""

    @classmethod
    def of(cls, wire: Format, entries: Sequence[Entry]) -> Stretch:
        """Reads the facts and pairs the calls of these entries; raises `InvalidEntry` for what is no message."""
        known = tuple(facts(wire, entry.message) for entry in entries)
        return cls(wire, entries, known, pair_facts(wire, known), _head(entries, known))

    def __len__(self) -> int:
        return len(self.entries)

    def pinned(self, position: int) -> bool:
        """Whether the entry is never covered: its caller said so, or it is system text at the history's head."""
        return self.entries[position].pinned or position < self.head

    def newest_user_turn(self) -> int | None:
        """Position of the newest genuine user message, or None."""
        return next((p for p in reversed(range(len(self))) if self.facts[p].user_turn), None)

    def starts_turn(self, position: int) -> bool:
        """Whether a turn of the user begins here: a genuine user message, or the system text that introduces one."""
        if position and self._opens(position - 1):
            return False
        while position < len(self) and self.facts[position].role is Role.SYSTEM:
            position += 1
        return position < len(self) and self.facts[position].user_turn

    def _opens(self, position: int) -> bool:
        known = self.facts[position]
        return known.user_turn or known.role is Role.SYSTEM


def _head(entries: Sequence[Entry], known: Sequence[Facts]) -> int:
    if not entries or entries[0].seq:
        return 0
    return sum(1 for _ in takewhile(lambda one: one.role is Role.SYSTEM, known))
