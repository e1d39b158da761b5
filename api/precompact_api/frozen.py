"""The frozen context of a checkpoint: what stands in for `[0, keep_from)`, byte for byte as adopted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from precompact_shared.engine.edits import edit_from_json, edit_to_json
from precompact_shared.engine.types import Edit


class NativeBlock(msgspec.Struct, frozen=True):
    """Beside a provider's own block: who may read it, and what everybody else is shown."""

    family: str
    readable: list[msgspec.Raw]


class _Stored(msgspec.Struct, frozen=True):
    insert: list[msgspec.Raw]
    keep_from: int
    edits: list[dict[str, Any]] = []
    digests: dict[str, str] = {}
    state: dict[str, Any] = {}
    cleared: list[int] = []
    native: NativeBlock | None = None


class CandidateBody(msgspec.Struct, frozen=True):
    """What the API needs of the body a worker stored with a candidate."""

    insert: list[msgspec.Raw]
    edits: list[dict[str, Any]] = []
    """Clearing: the new edits."""
    saved: list[tuple[int, int]] = []
    """Clearing: seq and saved tokens of each entry they change."""
    native: NativeBlock | None = None


@dataclass(frozen=True, slots=True)
class Rendering:
    """One way in which a checkpoint opens a context. `is_readable`: the summary beside a block, for other models."""

    messages: list[dict[str, Any]]
    is_readable: bool


@dataclass(frozen=True, slots=True)
class FrozenContext:
    """Parsed once. `insert` holds each message's own bytes."""

    insert: tuple[msgspec.Raw, ...]
    keep_from: int
    edits: tuple[Edit, ...]
    digests: Mapping[int, str]
    """Digest of every entry that an edit changes: an edit holds only for the entry it was made for."""
    cleared: frozenset[int] = frozenset()
    """Entries whose edits clear or collapse a result: these are carried on, and end where the chain says."""
    native: NativeBlock | None = None

    def insert_for(self, family: str) -> tuple[msgspec.Raw, ...]:
        """The insert for models of this family: an opaque block is nobody else's."""
        if self.native is None or self.native.family == family:
            return self.insert
        return tuple(self.native.readable)

    def renderings(self) -> Iterator[Rendering]:
        """All that may ever have opened a context with this checkpoint, as parsed messages."""
        yield Rendering([msgspec.json.decode(raw) for raw in self.insert], is_readable=False)
        if self.native is not None:
            yield Rendering([msgspec.json.decode(raw) for raw in self.native.readable], is_readable=True)


_stored = msgspec.json.Decoder(_Stored).decode
read_candidate = msgspec.json.Decoder(CandidateBody).decode


def read_frozen(body: bytes) -> FrozenContext:
    """The context of stored bytes."""
    stored = _stored(body)
    digests = {int(seq): digest for seq, digest in stored.digests.items()}
    return FrozenContext(
        tuple(stored.insert),
        stored.keep_from,
        tuple(map(edit_from_json, stored.edits)),
        digests,
        frozenset(stored.cleared),
        stored.native,
    )


def freeze(
    insert: Sequence[msgspec.Raw],
    keep_from: int,
    edits: Sequence[Edit],
    digests: Mapping[int, str],
    cleared: Iterable[int] = (),
    *,
    native: NativeBlock | None = None,
) -> bytes:
    """The bytes a checkpoint keeps: its insert as it is, and the edits of the tail of this moment."""
    named = {str(seq): digest for seq, digest in digests.items()}
    told = [edit_to_json(edit) for edit in edits]
    return msgspec.json.encode(
        _Stored(list(insert), keep_from, told, named, cleared=sorted(cleared), native=native)
    )
