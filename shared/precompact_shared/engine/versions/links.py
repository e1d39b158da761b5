"""Which calls of a history are open, dead, and which results are orphans; by position, since ids repeat."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from precompact_shared.engine.pairing import MOST_OPEN
from precompact_shared.engine.types import Format
from precompact_shared.engine.versions.values import Entry


@dataclass(frozen=True, slots=True)
class Links:
    """`(seq, "<kind>:<id>")` of calls without a result, `(seq, part)` of results without a call."""

    open: tuple[tuple[int, str], ...] = ()
    dead: tuple[tuple[int, str], ...] = ()
    orphans: tuple[tuple[int, int], ...] = ()


@dataclass(slots=True)
class _Walk:
    open: list[tuple[int, str]] = field(default_factory=list)
    dead: list[tuple[int, str]] = field(default_factory=list)
    orphans: list[tuple[int, int]] = field(default_factory=list)

    def close_block(self) -> None:
        self.dead += self.open
        self.open = []

    def give_up_beyond(self, most: int) -> None:
        """The oldest, where more are open than may be."""
        excess = max(0, len(self.open) - most)
        self.dead += self.open[:excess]
        self.open = self.open[excess:]

    def take(self, seq: int, entry: Entry) -> None:
        for name, part in entry.results:
            asked = next((call for call in reversed(self.open) if call[1] == name), None)
            if asked is None:
                self.orphans.append((seq, part))
            else:
                self.open.remove(asked)
        self.open += [(seq, call) for call in entry.calls]


def links_of(format: str, entries: Sequence[Entry]) -> Links:  # noqa: A002 - the word of the design
    """Walks the history once; a result answers the newest open call of its kind and id."""
    walk = _Walk()
    before = ""
    for seq, entry in enumerate(entries):
        if _closes(format, before, entry.role):
            walk.close_block()
        walk.take(seq, entry)
        if format == Format.OPENAI_RESPONSES:
            walk.give_up_beyond(MOST_OPEN)
        before = entry.role
    return Links(tuple(walk.open), tuple(walk.dead), tuple(walk.orphans))


def _closes(format: str, before: str, role: str) -> bool:  # noqa: A002
    if format == "anthropic":
        return role == "a" and before not in ("a", "")
    return format == "openai-chat" and role != "t"
