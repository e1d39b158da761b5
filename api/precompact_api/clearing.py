"""Cleared entries at an adoption (rule 7): a clearing adds its edits to those that stand, a summary carries them on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import msgspec

from precompact_api.context import frozen_context, valid_edits
from precompact_api.frozen import CandidateBody, FrozenContext
from precompact_api.service import Service
from precompact_shared.engine.edits import edit_from_json
from precompact_shared.engine.types import Edit
from precompact_shared.store import reading
from precompact_shared.store.types import CandidateTag, CheckpointTag, SessionView

CLEARING = "clearing"
_NOTHING = FrozenContext((), 0, (), {})


@dataclass(frozen=True, slots=True)
class Held:
    """What the current checkpoint edits, as far as it still holds."""

    frozen: FrozenContext = _NOTHING
    edits: tuple[Edit, ...] = ()
    saved: Mapping[int, int] = field(default_factory=dict)
    """Of the cleared entries among them: seq and saved tokens."""

    def behind(self, start: int) -> Held:
        """The cleared entries from `start` on: what survives a summary of everything in front of it."""
        saved = {seq: tokens for seq, tokens in self.saved.items() if seq >= start}
        return Held(self.frozen, tuple(edit for edit in self.edits if edit.seq in saved), saved)

    @property
    def digests(self) -> Mapping[int, str]:
        """Digests of the entries its edits change."""
        return {edit.seq: self.frozen.digests.get(edit.seq, "") for edit in self.edits}


async def read_held(service: Service, view: SessionView) -> Held:
    """The edits of the current checkpoint that still hold; nothing of them without a checkpoint."""
    if view.checkpoint is None:
        return Held()
    frozen = await frozen_context(service, view, view.checkpoint)
    edits = await valid_edits(service, view, frozen)
    if not frozen.cleared:
        return Held(frozen, edits)
    chain = await service.read(reading.checkpoints(service.session(view.tenant, view.session)))
    told = next((tag.cleared for tag in chain if tag.cid == view.checkpoint), [])
    alive = {edit.seq for edit in edits}
    return Held(frozen, edits, {seq: tokens for seq, tokens in told if seq in alive})


async def add_edits(service: Service, view: SessionView, held: Held, body: CandidateBody) -> Held:
    """What stands with the new edits of a clearing candidate. Entries that are gone meanwhile fail the adoption."""
    new = tuple(map(edit_from_json, body.edits))
    seqs = sorted({edit.seq for edit in new})
    metas = await service.read(reading.metas(service.session(view.tenant, view.session), seqs))
    digests = {seq: meta.digest for seq, meta in zip(seqs, metas, strict=True) if meta is not None}
    saved = dict(held.saved)
    for seq, tokens in body.saved:
        saved[seq] = saved.get(seq, 0) + tokens
    known = replace(held.frozen, digests={**held.frozen.digests, **digests})
    return Held(known, joined(held.edits, new), saved)


def joined(first: Iterable[Edit], stronger: Iterable[Edit]) -> tuple[Edit, ...]:
    """Both in the order of the history; of two for one place the stronger."""
    by_place: dict[tuple[int, int | None, bool], Edit] = {}
    for edit in (*first, *stronger):
        by_place[edit.seq, edit.part, bool(edit.after)] = edit
    return tuple(sorted(by_place.values(), key=lambda edit: edit.seq))


def with_cleared(record: CheckpointTag, tag: CandidateTag, view: SessionView, held: Held) -> CheckpointTag:
    """The chain's record with the entries that are cleared behind it, and a size that knows of them."""
    pairs = sorted(held.saved.items())
    if tag.kind == CLEARING:
        tokens = view.insert_tokens - (tag.tokens_before - tag.tokens_after)
    else:
        tokens = record.insert_tokens - sum(held.saved.values())
    through = max([record.through, *(seq + 1 for seq, _ in pairs)])
    return msgspec.structs.replace(record, insert_tokens=tokens, cleared=pairs, through=through)
