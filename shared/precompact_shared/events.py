"""What a shard's stream says. Readers decode, never guess: an event that is none is reported as `Garbage`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

import msgspec


class EventType(StrEnum):
    """What happened."""

    SIZE = "size"
    JOB = "job"
    CANDIDATE = "candidate"
    ADOPTED = "adopted"
    REVERTED = "reverted"
    CLOSED = "closed"
    DELETED = "deleted"


class JobRef(msgspec.Struct, frozen=True):
    """The session's live job as a size event names it."""

    jid: str
    kind: str
    state: str
    version: int


class CandidateRef(msgspec.Struct, frozen=True, array_like=True):
    """An open candidate as a size event names it."""

    cid: str
    slot: str
    upto: int
    tokens_after: int
    length_at_snapshot: int
    tokens_at_snapshot: int
    tokens_before: int | None = None


class Event(msgspec.Struct, frozen=True):
    """One event; which fields are set depends on `t`. A size event is a full statement, never a delta."""

    t: str
    tenant: str
    session: str
    version: int
    length: int
    at_ms: int = 0
    tokens: int = 0
    window: int | None = None
    max_output: int | None = None
    model: str | None = None
    observed_limit: int | None = None
    upto: int = 0
    cp: str | None = None
    growth: float = 0.0
    open: int = 0
    anchored: bool = False
    rewritten: bool = False
    job: JobRef | None = None
    cands: Sequence[CandidateRef] = ()
    jid: str | None = None
    kind: str | None = None
    state: str | None = None
    reason: str | None = None
    urgency: int = 0
    cid: str | None = None
    slot: str | None = None
    n: int | None = None


class Garbage(Exception):
    """An entry of a stream that is no event of ours."""


_decode = msgspec.json.Decoder(Event).decode


def decode_event(fields: Mapping[bytes, bytes] | Sequence[Any]) -> Event:
    """The event in a stream entry's fields (a mapping, or names and values in turn). Raises `Garbage`."""
    try:
        if isinstance(fields, Mapping):
            return _decode(fields[b"e"])
        return _decode(fields[1]) if fields[0] == b"e" else _decode(fields[fields.index(b"e") + 1])
    except (msgspec.MsgspecError, KeyError, IndexError, ValueError, TypeError):
        raise Garbage from None
