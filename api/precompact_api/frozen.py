"""The frozen context of a checkpoint: what stands in for `[0, keep_from)`, byte for byte as adopted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from precompact_shared.engine.edits import edit_from_json, edit_to_json
from precompact_shared.engine.types import Edit


class _Stored(msgspec.Struct, frozen=True):
    insert: list[msgspec.Raw]
    keep_from: int
    edits: list[dict[str, Any]] = []
    digests: dict[str, str] = {}
    state: dict[str, Any] = {}


class CandidateBody(msgspec.Struct, frozen=True):
    """What the API needs of the body a worker stored with a candidate."""

    insert: list[msgspec.Raw]


@dataclass(frozen=True, slots=True)
class FrozenContext:
    """Parsed once. `insert` holds each message's own bytes."""

    insert: tuple[msgspec.Raw, ...]
    keep_from: int
    edits: tuple[Edit, ...]
    digests: Mapping[int, str]
    """Digest of every entry that an edit changes: an edit holds only for the entry it was made for."""

    def messages(self) -> list[dict[str, Any]]:
        """The insert as parsed messages."""
        return [msgspec.json.decode(raw) for raw in self.insert]


_stored = msgspec.json.Decoder(_Stored).decode
_candidate = msgspec.json.Decoder(CandidateBody).decode


def read_frozen(body: bytes) -> FrozenContext:
    """The context of stored bytes."""
    stored = _stored(body)
    digests = {int(seq): digest for seq, digest in stored.digests.items()}
    return FrozenContext(
        tuple(stored.insert), stored.keep_from, tuple(map(edit_from_json, stored.edits)), digests
    )


def freeze(candidate_body: bytes, keep_from: int, edits: Sequence[Edit], digests: Mapping[int, str]) -> bytes:
    """The bytes a checkpoint keeps: the candidate's insert as it is, and the edits of the tail of this moment."""
    insert = _candidate(candidate_body).insert
    named = {str(seq): digest for seq, digest in digests.items()}
    return msgspec.json.encode(_Stored(insert, keep_from, [edit_to_json(edit) for edit in edits], named))
