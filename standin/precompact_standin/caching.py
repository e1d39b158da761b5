"""The prompt cache: what was written at a breakpoint can be read again as a prefix while it lives.

A prompt is a row of pieces. A look-up decides what is read, written and paid in full; nothing is stored until
`commit`, which belongs to the begin of the reply: so calls that run side by side all miss.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import msgspec

from precompact_standin.scenario import CacheLies

LOOK_BACK_PIECES = 20
TTL_S: Mapping[str, int] = {
    "5m": 300,
    "1h": 3_600,
    "30m": 1_800,
    "12h": 43_200,
    "in_memory": 300,
    "24h": 86_400,
}


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a prompt that is cached as a whole. `ttl` marks a breakpoint behind it."""

    key: bytes
    tokens: int
    ttl: str = ""
    group: str = ""
    """Neighbours of one group that is not "" count as one piece when a breakpoint looks back."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where one prompt stands: which entries it can see, and how short a prefix may be."""

    seed: bytes
    min_tokens: int
    look_back: int | None = LOOK_BACK_PIECES
    every_piece: bool = False
    """Whether all pieces up to the last breakpoint are stored, not the breakpoints alone."""


@dataclass(slots=True)
class Entry:
    """A stored prefix."""

    ttl: str
    expires_at_s: float
    readable_from_s: float


@dataclass(frozen=True, slots=True)
class CachePlan:
    """How the tokens of one prompt are accounted, and what to store when the reply begins."""

    total: int
    read: int = 0
    writes: Mapping[str, int] = field(default_factory=dict)
    renew: tuple[bytes, ...] = ()
    store: tuple[tuple[bytes, str], ...] = ()

    @property
    def written(self) -> int:
        """Tokens written, of all lifetimes."""
        return sum(self.writes.values())

    @property
    def uncached(self) -> int:
        """Tokens neither read nor written."""
        return self.total - self.read - self.written


def fingerprint(*values: Any) -> bytes:
    """A name of the values as they are written, order of fields included: the cache compares what is rendered."""
    return blake2b(msgspec.json.encode(values), digest_size=16).digest()


class PromptCache:
    """Entries by the hash of the whole prefix."""

    def __init__(self, now_s: Callable[[], float], lies: CacheLies) -> None:
        self._now_s = now_s
        self._lies = lies
        self._entries: dict[bytes, Entry] = {}
        self._lookups = 0

    def look_up(self, pieces: Sequence[Piece], place: Place) -> CachePlan:
        """Account for the prompt against what is stored now."""
        self._lookups += 1
        if self._lies.evict_every and self._lookups % self._lies.evict_every == 0:
            self._entries.clear()
        seed = fingerprint(self._lookups) if self._lies.other_workspace else place.seed
        prefixes = _prefixes(pieces, seed)
        marks = [index for index, piece in enumerate(pieces) if piece.ttl]
        hit = max((self._hit(pieces, prefixes, mark, place) for mark in marks), default=-1)
        return _account(pieces, prefixes, marks, hit, place)

    def commit(self, plan: CachePlan) -> None:
        """The reply begins: lifetimes of what was read start anew, what was written is stored."""
        now = self._now_s()
        for prefix in plan.renew:
            if (entry := self._entries.get(prefix)) is not None:
                entry.expires_at_s = now + TTL_S[entry.ttl]
        readable_from = now + self._lies.concurrent_writer_s
        for prefix, ttl in plan.store:
            self._entries[prefix] = Entry(ttl, now + TTL_S[ttl], readable_from)

    def _hit(self, pieces: Sequence[Piece], prefixes: Sequence[bytes], mark: int, place: Place) -> int:
        left = place.look_back
        for index in range(mark, -1, -1):
            if self._lives(prefixes[index]):
                return index
            if left is not None and not _same_group(pieces, index):
                left -= 1
                if left < 0:
                    return -1
        return -1

    def _lives(self, prefix: bytes) -> bool:
        entry, now = self._entries.get(prefix), self._now_s()
        return entry is not None and entry.readable_from_s <= now < entry.expires_at_s


def _prefixes(pieces: Sequence[Piece], seed: bytes) -> list[bytes]:
    found, state = [], seed
    for piece in pieces:
        state = blake2b(state + piece.key, digest_size=16).digest()
        found.append(state)
    return found


def _same_group(pieces: Sequence[Piece], index: int) -> bool:
    """Whether the piece in front belongs to the same run, so that stepping on it is free."""
    return index > 0 and pieces[index].group != "" and pieces[index - 1].group == pieces[index].group


def _account(
    pieces: Sequence[Piece], prefixes: Sequence[bytes], marks: Sequence[int], hit: int, place: Place
) -> CachePlan:
    sums = [0]
    for piece in pieces:
        sums.append(sums[-1] + piece.tokens)
    renew = tuple(prefixes[mark] for mark in {*marks, hit} if 0 <= mark <= hit)
    writes: dict[str, int] = {}
    store: list[tuple[bytes, str]] = []
    done = hit
    for mark in marks:
        if mark <= hit or sums[mark + 1] < place.min_tokens:
            continue
        ttl = pieces[mark].ttl
        writes[ttl] = writes.get(ttl, 0) + sums[mark + 1] - sums[done + 1]
        first = done + 1 if place.every_piece else mark
        store += [(prefixes[at], ttl) for at in range(first, mark + 1) if sums[at + 1] >= place.min_tokens]
        done = mark
    return CachePlan(sums[-1], sums[hit + 1], writes, renew, tuple(store))
