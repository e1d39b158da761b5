"""What stands in Redis about a session, read back by plain commands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from precompact_shared.store import reading
from precompact_shared.store.calibration import Remembered, unpack
from precompact_shared.store.op import Op
from precompact_shared.store.ops import SessionOps
from precompact_shared.store.reading import EntryMeta
from precompact_shared.store.types import CandidateTag, CheckpointTag, JobTag, SessionView

_meta = msgspec.msgpack.Decoder(EntryMeta).decode


@dataclass(frozen=True)
class Facts:
    """One session, read in one pipeline."""

    view: SessionView | None = None
    remembered: Remembered | None = None
    """What the estimate keeps between reports."""
    metas: Sequence[EntryMeta] = ()
    chain: Sequence[CheckpointTag] = ()
    tags: dict[str, CandidateTag] = field(default_factory=dict)
    jobs: Sequence[JobTag] = ()
    texts: dict[str, bytes] = field(default_factory=dict)
    bodies: dict[int, bytes] = field(default_factory=dict)
    unhandled: bool = False
    in_open_jobs: frozenset[str] = frozenset()


def read_ops(ops: SessionOps) -> list[Op[Any]]:
    """The reads behind an operation, in the order `to_facts` wants."""
    keys = ops.keys

    def plain(*command: Any) -> Op[Any]:
        return Op(None, (), command, lambda raw: raw)

    return [
        ops.view(),
        plain("HGET", keys.key("h"), "est"),
        plain("HGETALL", keys.key("m")),
        reading.checkpoints(keys),
        reading.candidates(keys),
        reading.jobs(keys),
        plain("HGETALL", keys.key("x")),
        plain("HGETALL", keys.key("b")),
        plain("ZSCORE", keys.shard.unhandled, keys.name),
        plain("ZRANGE", keys.shard.open_jobs, 0, -1),
    ]


def to_facts(raw: Sequence[Any]) -> Facts:
    """Puts the replies together. Entries whose numbers have a hole are a broken store: raises KeyError."""
    answer, remembered, metas, chain, tags, jobs, texts, bodies, unhandled, open_jobs = raw
    by_seq = {int(seq): _meta(meta) for seq, meta in _pairs(metas)}
    return Facts(
        view=answer.view,
        remembered=unpack(remembered) if remembered else None,
        metas=[by_seq[seq] for seq in range(len(by_seq))],
        chain=chain,
        tags={tag.cid: tag for tag in tags},
        jobs=jobs,
        texts={key.decode(): value for key, value in _pairs(texts)},
        bodies={int(seq): body for seq, body in _pairs(bodies)},
        unhandled=unhandled is not None,
        in_open_jobs=frozenset(member.decode() for member in open_jobs),
    )


def _pairs(raw: Any) -> list[tuple[bytes, bytes]]:
    if isinstance(raw, dict):
        return list(raw.items())
    return list(zip(raw[::2], raw[1::2], strict=True))
