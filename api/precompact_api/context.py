"""The context of a session as a full statement in history coordinates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from precompact_api.frozen import FrozenContext, read_frozen
from precompact_api.problems import Code, Problem
from precompact_api.repairs import Marks, context_edits, read_entries
from precompact_api.service import Service
from precompact_shared.engine.edits import InvalidEdit, apply_context, edit_to_json
from precompact_shared.engine.native import family_of
from precompact_shared.engine.preset import Limits
from precompact_shared.engine.projection import merge_edits, tail_edits
from precompact_shared.engine.types import Edit, Format
from precompact_shared.store import reading
from precompact_shared.store.types import SessionView

CHUNK = 500


@dataclass(frozen=True, slots=True)
class Projection:
    """What the model sees next. `insert` is None where the caller holds it already."""

    checkpoint: str | None
    insert: tuple[msgspec.Raw, ...] | None
    keep_from: int
    edits: tuple[Edit, ...]
    native: bool = False
    """The insert is a provider's own block, as this session's model reads it."""


async def project(
    service: Service, view: SessionView, *, have: str | None, marks: Marks, whole: bool = False
) -> Projection:
    """The projection of a view. With `have` the current checkpoint and without edits nothing is read."""
    if view.checkpoint is None:
        edits = await context_edits(service, view, 0, (), marks)
        return Projection(None, (), 0, edits)
    frozen = await frozen_context(service, view, view.checkpoint)
    held = await valid_edits(service, view, frozen)
    if frozen.native is not None:
        return await _project_native(service, view, frozen, held, marks)
    edits = await context_edits(service, view, frozen.keep_from, held, marks)
    insert = None if have == view.checkpoint and not whole else frozen.insert
    return Projection(view.checkpoint, insert, frozen.keep_from, edits)


async def _project_native(
    service: Service, view: SessionView, frozen: FrozenContext, held: tuple[Edit, ...], marks: Marks
) -> Projection:
    """The block for its family, the readable summary for any other. Always in full: which one depends on the model."""
    family = family_of(view.model)
    is_native = frozen.native is not None and frozen.native.family == family
    if not is_native:
        held = await readable_edits(service, view, frozen.keep_from, held)
    edits = await context_edits(service, view, frozen.keep_from, held, marks)
    return Projection(view.checkpoint, frozen.insert_for(family), frozen.keep_from, edits, native=is_native)


async def readable_edits(
    service: Service, view: SessionView, keep_from: int, held: tuple[Edit, ...]
) -> tuple[Edit, ...]:
    """The held edits, and those of a tail behind a summary that its provider did not sign: thinking goes (A11)."""
    tail = await read_entries(service, view, list(range(keep_from, view.length)))
    return merge_edits(tail, tail_edits(Format(view.format), tail), held)


async def frozen_context(service: Service, view: SessionView, cid: str) -> FrozenContext:
    """The frozen context of a checkpoint, from memory or by one read. It never changes."""
    key = (view.tenant, view.session, view.incarnation, cid)
    kept = service.frozen.get(key)
    if kept is not None:
        return kept
    body = await service.read(reading.frozen_context(service.session(view.tenant, view.session), cid))
    if body is None:
        raise Problem(Code.CHECKPOINT_ERASED)
    return service.frozen.put(key, read_frozen(body), len(body))


async def valid_edits(service: Service, view: SessionView, frozen: FrozenContext) -> tuple[Edit, ...]:
    """The frozen edits whose entries are still those they were made for; a rewrite may have put others there."""
    if not frozen.edits:
        return ()
    key = ("frozen", view.tenant, view.session, view.incarnation, view.checkpoint, view.rewritten_at)
    kept = service.edits.get(key)
    if kept is not None:
        return kept
    seqs = sorted(frozen.digests)
    metas = await service.read(reading.metas(service.session(view.tenant, view.session), seqs))
    same = {
        seq
        for seq, meta in zip(seqs, metas, strict=True)
        if meta is not None and meta.digest == frozen.digests[seq] and not meta.redacted
    }
    dropped = await _dropped(service, view, frozen)
    return service.edits.put(key, tuple(edit for edit in frozen.edits if edit.seq in same - dropped))


async def _dropped(service: Service, view: SessionView, frozen: FrozenContext) -> frozenset[int]:
    """Cleared entries behind a rewrite: their edits are gone, even if the same entries stand there again (rule 7)."""
    if not frozen.cleared:
        return frozenset()
    chain = await service.read(reading.checkpoints(service.session(view.tenant, view.session)))
    limits = [tag.edit_limit for tag in chain if tag.cid == view.checkpoint and tag.edit_limit is not None]
    return frozenset(seq for seq in frozen.cleared if any(seq >= limit for limit in limits))


def statement(projection: Projection, view: SessionView, *, limits: Limits, window: int) -> dict[str, Any]:
    """The `context` of an answer."""
    stated: dict[str, Any] = {
        "checkpoint": projection.checkpoint,
        "keep_from": projection.keep_from,
        "edits": [edit_to_json(edit) for edit in projection.edits],
        "tokens": view.tokens,
        "window": window,
        "limit": limits.limit,
        "hard": limits.hard,
        "source": "usage" if view.anchored else "estimate",
        "spread": view.spread,
    }
    if projection.insert is not None:
        stated["insert"] = projection.insert
    return stated


async def render(service: Service, view: SessionView, projection: Projection, length: int) -> list[Any]:
    """All messages of the context, ready to send; entries without an edit keep their bytes."""
    keys = service.session(view.tenant, view.session)
    edited = {edit.seq for edit in projection.edits}
    padded: list[Any] = [None] * projection.keep_from
    for start in range(projection.keep_from, length, CHUNK):
        seqs = range(start, min(start + CHUNK, length))
        bodies = await service.read(reading.bodies(keys, seqs))
        for seq, body in zip(seqs, bodies, strict=True):
            raw = b"null" if body is None else body
            padded.append(msgspec.json.decode(raw) if seq in edited else msgspec.Raw(raw))
    try:
        return apply_context(padded, projection.insert or (), projection.keep_from, projection.edits)  # type: ignore[arg-type]
    except InvalidEdit:
        raise Problem(Code.INTERNAL) from None
