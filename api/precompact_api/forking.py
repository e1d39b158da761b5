"""A session copied up to a point under another id (design rule 23)."""

from __future__ import annotations

from typing import Any

import msgspec

from precompact_api.problems import Code, Problem, refusal
from precompact_api.service import Service
from precompact_shared.store import Create, codec, reading
from precompact_shared.store.keys import SessionKeys
from precompact_shared.store.ops import SessionOps
from precompact_shared.store.reading import EntryMeta
from precompact_shared.store.types import CandidateTag, CheckpointTag, NewEntry, SessionView

TRIES = 3
CHUNK = 500
_ANEW = ("gap", "diverged", "published")
"""Another copier was at work: look again how far it came, and begin anew if need be."""


class _Links(msgspec.Struct):
    c: list[str] = []
    r: list[tuple[str, int]] = []


async def fork(
    service: Service, source: SessionView, target: str, to: int | None
) -> tuple[SessionView, bool]:
    """The copy, and whether it was made now. The same call again finds it published. Raises Problem."""
    ops = service.ops(source.tenant, target)
    for _ in range(TRIES):
        point = source.length if to is None else to
        if point > source.length:
            raise Problem(Code.HISTORY_GAP, length=source.length, history_version=source.version)
        start = await service.read(reading.calibration(service.session(source.tenant, source.session)))
        opened = await service.run(ops.fork_open(_spec(source), source.session, start=start))
        if opened.o == "exists" and opened.view is not None:
            return opened.view, False
        if opened.o != "opened":
            raise refusal(opened)
        made = await _copy(service, source, ops, point)
        if made is not None:
            return made, True
        source = await _again(service, source)
    raise Problem(Code.FORK_MOVED)


async def _copy(service: Service, source: SessionView, ops: SessionOps, point: int) -> SessionView | None:
    """Copies and publishes; None when the source was rewritten meanwhile."""
    keys = service.session(source.tenant, source.session)
    for start in range(0, point, CHUNK):
        entries = await _entries(service, keys, start, min(start + CHUNK, point))
        if entries is None:
            return None
        copied = await service.run(ops.fork_copy(start, entries, service.limits))
        if copied.o != "ok":
            return None if copied.o in _ANEW else _refuse(copied)
    checkpoints = await _checkpoints(service, keys, point)
    now = await _again(service, source)
    if checkpoints is None or (now.rewritten_at, now.incarnation) != (
        source.rewritten_at,
        source.incarnation,
    ):
        return None
    published = await service.run(ops.fork_publish(point, checkpoints))
    return published.view


def _refuse(copied: Any) -> SessionView | None:
    raise refusal(copied)


def _spec(source: SessionView) -> Create:
    return Create(source.format, source.model, source.window, source.max_output, source.session)


async def _again(service: Service, source: SessionView) -> SessionView:
    answer = await service.run(service.ops(source.tenant, source.session).view())
    if answer.view is None:
        raise refusal(answer)
    return answer.view


async def _entries(service: Service, keys: SessionKeys, start: int, stop: int) -> list[NewEntry] | None:
    seqs = range(start, stop)
    before = [start - 1] if start else []
    metas = await service.read(reading.metas(keys, [*before, *seqs]))
    bodies = await service.read(reading.bodies(keys, seqs))
    earlier = metas.pop(0) if before else None
    entries = []
    for meta, body in zip(metas, bodies, strict=True):
        if meta is None or body is None:
            return None
        entries.append(_entry(meta, body, earlier))
        earlier = meta
    return entries


def _entry(meta: EntryMeta, body: bytes, before: EntryMeta | None) -> NewEntry:
    links = msgspec.json.decode(meta.links, type=_Links) if meta.links else _Links()
    return NewEntry(
        digest=meta.digest,
        tokens=meta.cum - (before.cum if before else 0),
        body=codec.encode(body),
        pinned=meta.pinned,
        role=meta.role,
        calls=tuple(links.c),
        results=tuple(links.r),
        load=meta.load_after(before),
    )


async def _checkpoints(
    service: Service, keys: SessionKeys, point: int
) -> list[tuple[CheckpointTag, CandidateTag, bytes, bytes]] | None:
    chain = [tag for tag in await service.read(reading.checkpoints(keys)) if tag.upto <= point]
    tags = {tag.cid: tag for tag in await service.read(reading.candidates(keys))} if chain else {}
    copied = []
    for record in chain:
        frozen = await service.read(reading.frozen_context(keys, record.cid))
        body = await service.read(reading.candidate_body(keys, record.cid))
        if frozen is None or body is None or record.cid not in tags:
            return None
        copied.append((record, tags[record.cid], codec.encode(frozen), codec.encode(body)))
    return copied
