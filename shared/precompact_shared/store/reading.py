"""Reads as plain commands: inside Lua a large read costs several times as much and blocks the shard."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from precompact_shared.store import codec
from precompact_shared.store.calibration import restarted
from precompact_shared.store.keys import SessionKeys
from precompact_shared.store.op import Op
from precompact_shared.store.types import CandidateTag, CheckpointTag, JobTag, Load


class EntryMeta(msgspec.Struct, frozen=True, array_like=True):
    """What the store knows of an entry without its body; packed by Lua in this order."""

    digest: str
    chain: str
    """Chain digest of `[0, seq + 1)`."""
    cum: int
    """Tokens of `[0, seq + 1)`."""
    flags: int
    role: str
    links: str = ""
    open: str = ""
    side: str = "g"
    text: int = 0
    """Text of `[0, seq + 1)`, as the store's `Load`s add up; so are the next five."""
    thinking: int = 0
    structure: int = 0
    sealed_chars: int = 0
    sealed: int = 0
    thoughts: int = 0

    @property
    def pinned(self) -> bool:
        """Never covered; travels in the insert."""
        return bool(self.flags & 1)

    def load_after(self, before: EntryMeta | None) -> Load:
        """What the entry weighs, where `before` is the one in front of it."""
        names = ("text", "thinking", "structure", "sealed_chars", "sealed", "thoughts")
        return Load(
            self.side, *(getattr(self, name) - (getattr(before, name) if before else 0) for name in names)
        )

    @property
    def redacted(self) -> bool:
        """Its body was removed for good."""
        return bool(self.flags & 2)


_meta = msgspec.msgpack.Decoder(EntryMeta).decode
_candidate = msgspec.json.Decoder(CandidateTag).decode
_checkpoint = msgspec.json.Decoder(CheckpointTag).decode
_job = msgspec.json.Decoder(JobTag).decode


def bodies(keys: SessionKeys, seqs: Sequence[int]) -> Op[list[bytes | None]]:
    """The bytes of entries as sent, None where there is none. O(len(seqs)); `seqs` must not be empty."""

    def decode(raw: list[bytes | None]) -> list[bytes | None]:
        return [None if body is None else codec.decode(body) for body in raw]

    return Op(None, (), ("HMGET", keys.key("b"), *seqs), decode)


def metas(keys: SessionKeys, seqs: Sequence[int]) -> Op[list[EntryMeta | None]]:
    """Digests, running token sums and links of entries; `seqs` must not be empty."""

    def decode(raw: list[bytes | None]) -> list[EntryMeta | None]:
        return [None if meta is None else _meta(meta) for meta in raw]

    return Op(None, (), ("HMGET", keys.key("m"), *seqs), decode)


def calibration(keys: SessionKeys) -> Op[bytes]:
    """What the session has learned of its model's tokens, as another session's start; empty without a session."""
    return Op(None, (), ("HGET", keys.key("h"), "est"), lambda raw: restarted(raw) if raw else b"")


def candidate_body(keys: SessionKeys, cid: str) -> Op[bytes | None]:
    """The body a worker stored with a candidate; None when it is gone."""
    return Op(None, (), ("HGET", keys.key("x"), cid), lambda raw: None if raw is None else codec.decode(raw))


def frozen_context(keys: SessionKeys, cid: str) -> Op[bytes | None]:
    """The frozen context of a checkpoint, byte for byte as adopted."""
    return Op(
        None, (), ("HGET", keys.key("x"), f"cp:{cid}"), lambda raw: None if raw is None else codec.decode(raw)
    )


def _text(keys: SessionKeys, field: str) -> Op[bytes | None]:
    return Op(
        None, (), ("HGET", keys.key("x"), field), lambda raw: None if raw is None else codec.decode(raw)
    )


def checkpoints(keys: SessionKeys) -> Op[list[CheckpointTag]]:
    """The chain of checkpoints, oldest first."""
    return Op(
        "chain", keys.all, ("", keys.tenant, keys.session), lambda raw: [_checkpoint(tag) for tag in raw]
    )


def candidates(keys: SessionKeys) -> Op[list[CandidateTag]]:
    """Candidates, open and lately closed, oldest first."""

    def decode(raw: Any) -> list[CandidateTag]:
        fields = raw.items() if isinstance(raw, dict) else zip(raw[::2], raw[1::2], strict=True)
        tags = [_candidate(tag) for cid, tag in fields if not cid.startswith(b"cp:")]
        return sorted(tags, key=lambda tag: (tag.created_ms, tag.cid))

    return Op(None, (), ("HGETALL", keys.key("c")), decode)


def jobs(keys: SessionKeys) -> Op[list[JobTag]]:
    """Ledger records of the session, oldest first."""
    return Op(
        None,
        (),
        ("HVALS", keys.key("j")),
        lambda raw: sorted((_job(tag) for tag in raw), key=lambda tag: (tag.created_ms, tag.jid)),
    )


def job(keys: SessionKeys, jid: str) -> Op[JobTag | None]:
    """One ledger record."""
    return Op(None, (), ("HGET", keys.key("j"), jid), lambda raw: None if raw is None else _job(raw))


def offered(keys: SessionKeys, jid: str) -> Op[bytes | None]:
    """The request that a job has laid out for its caller."""
    return _text(keys, f"req:{jid}")


def delivered(keys: SessionKeys, jid: str) -> Op[bytes | None]:
    """The caller's reply to it."""
    return _text(keys, f"res:{jid}")


def prefix(keys: SessionKeys) -> Op[bytes | None]:
    """The caller's prefix: JSON with `system`, `tools` and `params`, as far as it was sent."""
    return _text(keys, "prefix")


def prefix_digest(keys: SessionKeys) -> Op[str | None]:
    """The digest of the prefix that is on record."""
    return Op(None, (), ("HGET", keys.key("h"), "pfx"), lambda raw: raw.decode() if raw else None)


def decisions(keys: SessionKeys) -> Op[list[Any]]:
    """The last decisions, adoptions and refusals with their facts, newest first."""
    return Op(
        None, (), ("LRANGE", keys.key("d"), 0, -1), lambda raw: [msgspec.json.decode(item) for item in raw]
    )
