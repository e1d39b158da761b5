"""What a job works on: the entries of a session at its start, and the base it builds on. Values; `loading` reads them."""

from __future__ import annotations

from dataclasses import dataclass

from precompact_shared.engine.cut import safe_cuts
from precompact_shared.engine.summary import Carried
from precompact_shared.engine.types import Edit, Entry, Format, Message
from precompact_shared.errors import Retryable
from precompact_shared.store.types import SessionView


class SnapshotGone(Retryable):
    """Entries of the snapshot are no longer there; the ledger will say whether the job still is."""

    code = "snapshot_gone"


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """What the next candidate stands on: the current checkpoint, a candidate in a refresh, or nothing."""

    upto: int = 0
    insert: tuple[Message, ...] = ()
    carried: Carried | None = None
    """None: the facts have to be read off the originals again."""
    pinned: tuple[int, ...] = ()
    """Pinned entries that stand in the insert."""
    summary: str = ""
    """The readable summary that stands for it."""
    since_rebuild: int = 0
    """Generations since the originals were read as a whole, the very first one counted in."""
    is_rebuilt: bool = False
    """What stands for the originals is put aside: they are read again."""

    @property
    def read_from(self) -> int:
        """First entry that has to be read."""
        return self.upto if self.carried is not None else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """What the current checkpoint edits, as far as it still holds."""

    edits: tuple[Edit, ...] = ()
    saved: tuple[tuple[int, int], ...] = ()
    """Of the cleared entries among them: seq and saved tokens."""
    through: int = 0
    """Where the cleared ones end."""


NOTHING_HELD = Held()


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """Read once, never changed: what happens to the session meanwhile is told by the ledger."""

    view: SessionView
    base: Base
    entries: tuple[Entry, ...]
    """From `base.read_from` to the length at the start."""
    chains: tuple[str, ...]
    """Chain digest behind each of `entries`."""
    pinned: tuple[Entry, ...]
    """Pinned entries in front of `entries`."""
    replaced_before: int
    """Tokens of `[0, base.upto)` in the context as it stands, less what clearing saves behind that."""
    held: Held = NOTHING_HELD

    @property
    def format(self) -> Format:
        """The session's wire format."""
        return Format(self.view.format)

    @property
    def made_from(self) -> int:
        """First entry that the next generation is made of itself, not by way of the base's summary."""
        return 0 if self.base.is_rebuilt else self.base.upto

    @property
    def opening(self) -> tuple[Message, ...]:
        """The messages that stand for what lies in front of that."""
        return () if self.base.is_rebuilt else self.base.insert

    def between(self, start: int, stop: int) -> tuple[Entry, ...]:
        """Entries `[start, stop)`, which must have been read."""
        first = self.base.read_from
        return self.entries[start - first : stop - first]

    def sent_tail(self, upto: int) -> tuple[Entry, ...]:
        """Entries from `upto` on, without those that belong to a call which still waits for its result."""
        tail = self.between(upto, self.view.length)
        waiting = min((seq for seq, _ in self.view.open if seq >= upto), default=None)
        if waiting is None:
            return tail
        whole = (place for place in safe_cuts(self.format, tail) if upto + place <= waiting)
        return tail[: max(whole, default=0)]

    def prefix(self, upto: int) -> str:
        """Chain digest of `[0, upto)`."""
        return self.chains[upto - 1 - self.base.read_from]

    def tokens_before(self, upto: int) -> int:
        """Estimated tokens of the context up to `upto`."""
        kept_small = sum(tokens for seq, tokens in self.held.saved if seq >= upto)
        entries = self.between(self.base.upto, upto)
        return self.replaced_before + kept_small + sum(entry.tokens for entry in entries)
