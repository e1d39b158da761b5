"""The sender's own books: digests of what it sent, held against what the service holds and hands out."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from precompact_shared.engine.edits import InvalidEdit, apply_context, edit_from_json
from precompact_shared.engine.types import Message


def digest_of(message: Any) -> str:
    """SHA-256 of a message as JSON with sorted keys: the sender's own name for it."""
    text = json.dumps(message, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class Statement:
    """A context as the service stated it, in history coordinates."""

    checkpoint: str | None
    insert: tuple[Message, ...]
    keep_from: int
    edits: tuple[Mapping[str, Any], ...]


@dataclass(slots=True)
class Books:
    """Everything sent so far, and what was found missing or twice."""

    messages: list[Message] = field(default_factory=list)
    digests: list[str] = field(default_factory=list)
    lost: int = 0
    doubled: int = 0
    boundaries: dict[str, int] = field(default_factory=dict)
    """Checkpoint -> where its contexts began to keep entries."""

    def note_sent(self, messages: Sequence[Message]) -> None:
        """Enter what is sent, in order."""
        self.messages.extend(messages)
        self.digests.extend(map(digest_of, messages))

    def check_context(self, statement: Statement, handed_out: Sequence[Message]) -> None:
        """Every entry from `keep_from` on is there once, edited at most as stated; none in front of it is."""
        self._check_boundary(statement)
        expected = Counter(map(digest_of, self._expected(statement)))
        actual = Counter(map(digest_of, handed_out))
        self.lost += (expected - actual).total()
        self.doubled += (actual - expected).total()
        kept = set(self.digests[statement.keep_from :])
        covered = set(self.digests[: statement.keep_from])
        self.doubled += sum(one in kept and one not in covered for one in map(digest_of, statement.insert))

    def check_history(self, entries: Sequence[tuple[int, Message]]) -> None:
        """What the service holds is what was sent, at the same places, each once."""
        held = Counter(seq for seq, _ in entries)
        told = dict(entries)
        for seq, digest in enumerate(self.digests):
            self.lost += seq not in told or digest_of(told[seq]) != digest
        self.doubled += sum(count - 1 for count in held.values())
        self.doubled += sum(seq >= len(self.digests) for seq in held)

    def check_chain(self, upto: Mapping[str, int]) -> None:
        """What a checkpoint covers ends where its contexts begin: a gap lost entries, an overlap doubled them."""
        for checkpoint, keep_from in self.boundaries.items():
            if checkpoint in upto:
                self.lost += max(0, keep_from - upto[checkpoint])
                self.doubled += max(0, upto[checkpoint] - keep_from)

    def _check_boundary(self, statement: Statement) -> None:
        if statement.checkpoint is None:
            self.lost += statement.keep_from
            self.doubled += len(statement.insert)
            return
        known = self.boundaries.setdefault(statement.checkpoint, statement.keep_from)
        self.lost += max(0, statement.keep_from - known)
        self.doubled += max(0, known - statement.keep_from)

    def _expected(self, statement: Statement) -> list[Message]:
        try:
            edits = [edit_from_json(edit) for edit in statement.edits]
            return apply_context(self.messages, statement.insert, statement.keep_from, edits)
        except InvalidEdit:
            return self.messages  # an edit nobody can apply: everything behind it shows as a difference
