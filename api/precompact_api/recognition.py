"""Whole lists that open with a context of ours (design rule 3, rule 20): which entries of the history they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import msgspec

from precompact_api.clearing import CLEARING
from precompact_api.context import frozen_context, readable_edits, valid_edits
from precompact_api.ingest import Reader
from precompact_api.problems import Code, Problem
from precompact_api.repairs import context_edits, read_entries
from precompact_api.service import Service
from precompact_shared.engine.edits import apply_context
from precompact_shared.engine.identity import canonical, digest
from precompact_shared.engine.types import Edit, Message
from precompact_shared.store import reading
from precompact_shared.store.types import CheckpointTag, NewEntry, SessionView

CHUNK = 500
HEAD = 64
"""Entries at the beginning of a list that tell the history from a context: pinned ones open both."""


@dataclass(frozen=True, slots=True)
class Matched:
    """What of a list is new: `entries` stand from `pos` on."""

    pos: int
    entries: list[NewEntry]


@dataclass(frozen=True, slots=True)
class Opening:
    """Where a list's own entries begin: `taken` messages stand for `[0, keep_from)`."""

    taken: int
    keep_from: int
    edits: tuple[Edit, ...] = ()


async def find_opening(
    service: Service, view: SessionView, reader: Reader, entries: Sequence[NewEntry]
) -> Opening | None:
    """The newest checkpoint whose whole insert the list opens with; None when it opens with none of them.

    A provider's block counts in both its forms: a context may come back that was made for another model.
    """
    keys = service.session(view.tenant, view.session)
    chain = await service.read(reading.checkpoints(keys))
    for tag in reversed(chain):
        frozen = await frozen_context(service, view, tag.cid)
        for rendering in frozen.renderings():
            size = len(rendering.messages)
            if size and _digests(reader, rendering.messages) == [entry.digest for entry in entries[:size]]:
                edits = await valid_edits(service, replace_checkpoint(view, tag.cid), frozen)
                if rendering.is_readable:
                    edits = await readable_edits(service, view, frozen.keep_from, edits)
                return Opening(size, frozen.keep_from, edits)
    return await _cleared_only(service, view, chain)


async def opens_with_ours(
    service: Service, view: SessionView, reader: Reader, entries: Sequence[NewEntry]
) -> bool:
    """Whether a list begins with what stands for a checkpoint, whatever it says it is; then it never rewinds.

    A list that begins as the history does costs one short read.
    """
    if view.checkpoint is None or await _begins_as_history(service, view, entries[:HEAD]):
        return False
    opening = await find_opening(service, view, reader, entries)
    return opening is not None and opening.taken > 0


async def _begins_as_history(service: Service, view: SessionView, head: Sequence[NewEntry]) -> bool:
    if not head:
        return True
    metas = await service.read(
        reading.metas(service.session(view.tenant, view.session), list(range(len(head))))
    )
    return all(
        meta is not None and meta.digest == entry.digest for meta, entry in zip(metas, head, strict=True)
    )


def _digests(reader: Reader, messages: Sequence[Message]) -> list[str]:
    return [digest(canonical(reader.format, message), reader.digest_key) for message in messages]


async def _cleared_only(
    service: Service, view: SessionView, chain: Sequence[CheckpointTag]
) -> Opening | None:
    """A context whose old results were cleared opens with nothing of ours; the newest such checkpoint has the edits."""
    for tag in reversed(chain):
        if tag.kind == CLEARING and tag.upto == 0:
            frozen = await frozen_context(service, view, tag.cid)
            return Opening(0, 0, await valid_edits(service, replace_checkpoint(view, tag.cid), frozen))
    return None


def replace_checkpoint(view: SessionView, cid: str) -> SessionView:
    """The view as if this checkpoint were the current one, to look up what belongs to it."""
    return msgspec.structs.replace(view, checkpoint=cid)


async def match_context(
    service: Service, view: SessionView, reader: Reader, entries: Sequence[NewEntry], ours: Sequence[int]
) -> Matched:
    """Matches a context with news against the history. Raises Problem for a list that is none of our contexts."""
    opening = await find_opening(service, view, reader, entries) or Opening(0, 0)
    if any(index >= opening.taken for index in ours):
        raise Problem(Code.PROJECTION_GIVEN)
    return await _walk(service, view, reader, list(entries[opening.taken :]), opening)


async def _walk(
    service: Service, view: SessionView, reader: Reader, given: list[NewEntry], opening: Opening
) -> Matched:
    """Goes along history and list together; an entry counts as equal in its own or its edited form."""
    edits = await context_edits(service, view, opening.keep_from, opening.edits, {})
    edited = await _edited_forms(service, view, reader, edits)
    at, seq = 0, opening.keep_from
    keys = service.session(view.tenant, view.session)
    while seq < view.length and at < len(given):
        seqs = range(seq, min(seq + CHUNK, view.length))
        for meta in await service.read(reading.metas(keys, seqs)):
            taken = _taken(given, at, meta.digest if meta else "", edited.get(seq))
            if taken is None:
                if at == len(given):
                    break
                raise _diverged(view, seq)
            at, seq = at + taken, seq + 1
    return Matched(seq, given[at:])


def _taken(given: list[NewEntry], at: int, original: str, edited: list[str] | None) -> int | None:
    """How many messages of the list this entry is: 0 for one that was left out, None when it is not there."""
    if edited and [entry.digest for entry in given[at : at + len(edited)]] == edited:
        return len(edited)
    if at < len(given) and given[at].digest == original:
        return 1
    return 0 if edited == [] else None


async def _edited_forms(
    service: Service, view: SessionView, reader: Reader, edits: Sequence[Edit]
) -> dict[int, list[str]]:
    forms: dict[int, list[str]] = {}
    for entry in await read_entries(service, view, sorted({edit.seq for edit in edits})):
        own = [replace(edit, seq=0) for edit in edits if edit.seq == entry.seq]
        shown = apply_context([entry.message], (), 0, own)
        forms[entry.seq] = _digests(reader, shown)
    return forms


def _diverged(view: SessionView, common: int) -> Problem:
    return Problem(Code.HISTORY_DIVERGED, common=common, length=view.length, history_version=view.version)
