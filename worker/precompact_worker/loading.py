"""Reading what a job works on, in chunks, by plain commands."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from precompact_shared.engine.edits import edit_from_json
from precompact_shared.engine.native import family_of
from precompact_shared.engine.summary import Carried
from precompact_shared.engine.types import Entry, Message
from precompact_shared.store import reading
from precompact_shared.store.executor import AsyncStore
from precompact_shared.store.keys import SessionKeys
from precompact_shared.store.reading import EntryMeta
from precompact_shared.store.types import CandidateTag, SessionView
from precompact_worker.snapshot import NOTHING_HELD, Base, Held, Snapshot, SnapshotGone

CHUNK = 500


async def take_snapshot(
    store: AsyncStore, keys: SessionKeys, view: SessionView, refreshed: CandidateTag | None
) -> Snapshot:
    """Reads what a job needs in chunks. Raises `SnapshotGone` when entries vanish meanwhile, and what Redis raises."""
    base = await _read_base(store, keys, view, refreshed)
    metas = await _read_metas(store, keys, base.read_from, view.length)
    before = await _cum_at(store, keys, base.read_from)
    bodies = await _read_bodies(store, keys, range(base.read_from, view.length))
    entries = _entries(base.read_from, metas, bodies, before)
    return Snapshot(
        view=view,
        base=base,
        entries=entries,
        chains=tuple(meta.chain for meta in metas),
        pinned=await _read_pinned(store, keys, base),
        replaced_before=await _tokens_before(store, keys, view, base.upto),
        held=await _read_held(store, keys, view),
    )


async def add_originals(store: AsyncStore, keys: SessionKeys, snapshot: Snapshot) -> Snapshot:
    """The snapshot with every entry there is, and nothing left of what stands for those in front. O(history)."""
    first = snapshot.base.read_from
    metas = await _read_metas(store, keys, 0, first)
    earlier = _entries(0, metas, await _read_bodies(store, keys, range(first)), 0)
    base = replace(snapshot.base, carried=None, pinned=(), summary="", since_rebuild=-1, is_rebuilt=True)
    return replace(
        snapshot,
        base=base,
        entries=(*earlier, *snapshot.entries),
        chains=(*(meta.chain for meta in metas), *snapshot.chains),
        pinned=(),
    )


async def _read_base(
    store: AsyncStore, keys: SessionKeys, view: SessionView, refreshed: CandidateTag | None
) -> Base:
    cid, upto = (refreshed.cid, refreshed.upto) if refreshed else (view.checkpoint, view.upto)
    if cid is None:
        return Base()
    body = _object(await store.run(reading.candidate_body(keys, cid)))
    frozen = _object(await store.run(reading.frozen_context(keys, cid)))
    return Base(
        upto=upto,
        insert=_insert_for(family_of(view.model), frozen, body),
        carried=_carried(body.get("carried")),
        pinned=tuple(body.get("pinned") or ()),
        summary=str(body.get("summary") or ""),
        since_rebuild=_count(body.get("since_rebuild")),
    )


def _count(stored: object) -> int:
    """Written by this version; older ones did not count."""
    return stored if isinstance(stored, int) else 1


def _insert_for(family: str, frozen: Mapping[str, Any], body: Mapping[str, Any]) -> tuple[Message, ...]:
    """What stands for the base: a provider's block for its own models, the readable summary for others."""
    native = frozen.get("native") or body.get("native")
    if isinstance(native, Mapping) and native.get("family") != family:
        return tuple(native.get("readable") or ())
    return tuple(frozen.get("insert") or body.get("insert") or ())


async def _read_held(store: AsyncStore, keys: SessionKeys, view: SessionView) -> Held:
    """The edits frozen with the current checkpoint, without those whose entries are others by now (rule 7)."""
    if view.checkpoint is None:
        return NOTHING_HELD
    frozen = _object(await store.run(reading.frozen_context(keys, view.checkpoint)))
    edits = tuple(map(edit_from_json, frozen.get("edits") or ()))
    if not edits:
        return NOTHING_HELD
    chain = await store.run(reading.checkpoints(keys))
    record = next((tag for tag in chain if tag.cid == view.checkpoint), None)
    saved = dict(record.cleared) if record else {}
    gone = set(frozen.get("cleared") or ()) - set(saved)
    digests = frozen.get("digests") or {}
    seqs = sorted({edit.seq for edit in edits} - gone)
    metas = await store.run(reading.metas(keys, seqs))
    alive = {
        seq
        for seq, meta in zip(seqs, metas, strict=True)
        if meta is not None and meta.digest == digests.get(str(seq)) and not meta.redacted
    }
    return Held(
        edits=tuple(edit for edit in edits if edit.seq in alive),
        saved=tuple(sorted(saved.items())),
        through=record.through if record else 0,
    )


def _carried(stored: object) -> Carried | None:
    """Facts written by this version; whatever else it is, the originals are read instead."""
    if not isinstance(stored, Mapping):
        return None
    try:
        return Carried.from_json(stored)
    except (KeyError, TypeError, ValueError):
        return None


def _object(raw: bytes | None) -> dict[str, Any]:
    # Written by us or by the API; holds messages of callers, so the same parser as for those.
    found = json.loads(raw) if raw else {}
    return found if isinstance(found, dict) else {}


async def _read_metas(store: AsyncStore, keys: SessionKeys, start: int, stop: int) -> list[EntryMeta]:
    found: list[EntryMeta] = []
    for seqs in _chunks(range(start, stop)):
        for meta in await store.run(reading.metas(keys, seqs)):
            if meta is None:
                raise SnapshotGone
            found.append(meta)
    return found


async def _read_bodies(store: AsyncStore, keys: SessionKeys, seqs: Sequence[int]) -> list[Message]:
    found: list[Message] = []
    for chunk in _chunks(seqs):
        for body in await store.run(reading.bodies(keys, chunk)):
            if body is None:
                raise SnapshotGone
            found.append(_message(body))
    return found


async def _read_pinned(store: AsyncStore, keys: SessionKeys, base: Base) -> tuple[Entry, ...]:
    """Pinned entries that are not among those read anyway."""
    if not base.pinned or base.read_from == 0:
        return ()
    messages = await _read_bodies(store, keys, base.pinned)
    return tuple(
        Entry(seq, message, 0, pinned=True) for seq, message in zip(base.pinned, messages, strict=True)
    )


async def _tokens_before(store: AsyncStore, keys: SessionKeys, view: SessionView, upto: int) -> int:
    """What the context now holds up to `upto`: the checkpoint's insert and the entries behind it."""
    covered = await _cum_at(store, keys, upto) - await _cum_at(store, keys, view.upto)
    return view.insert_tokens + covered


async def _cum_at(store: AsyncStore, keys: SessionKeys, length: int) -> int:
    """Tokens of `[0, length)`."""
    if length == 0:
        return 0
    (meta,) = await store.run(reading.metas(keys, [length - 1]))
    if meta is None:
        raise SnapshotGone
    return meta.cum


def _entries(
    first: int, metas: Sequence[EntryMeta], messages: Sequence[Message], before: int
) -> tuple[Entry, ...]:
    entries: list[Entry] = []
    for seq, (meta, message) in enumerate(zip(metas, messages, strict=True), start=first):
        entries.append(Entry(seq, message, meta.cum - before, pinned=meta.pinned))
        before = meta.cum
    return tuple(entries)


def _message(body: bytes) -> Message:
    # The standard parser takes what callers send: lone surrogates and integers of any size.
    parsed: Message = json.loads(body)
    return parsed


def _chunks(seqs: Sequence[int]) -> Iterable[Sequence[int]]:
    return (seqs[at : at + CHUNK] for at in range(0, len(seqs), CHUNK))
