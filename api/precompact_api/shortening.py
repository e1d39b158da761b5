"""Huge texts in the tail that an adoption keeps: shown as their two ends from then on, and accounted for."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import msgspec

from precompact_api.clearing import Held, joined
from precompact_api.ingest import OFF_LOOP_BYTES
from precompact_api.service import Service
from precompact_shared.engine.edits import apply_context
from precompact_shared.engine.oversized import shortening_edits
from precompact_shared.engine.preset import CutRule
from precompact_shared.engine.tokens import count_message
from precompact_shared.engine.types import Edit, Entry, Format
from precompact_shared.store import reading
from precompact_shared.store.reading import EntryMeta
from precompact_shared.store.types import SessionView

CHUNK = 500
MOST_CHARACTERS_A_TOKEN = 16
"""Text of more characters for a token hardly exists; entries too light for a huge text are not read."""
_WRITTEN_BY_OTHERS = frozenset("ut")
_ASSISTANT = "a"


@dataclass(frozen=True, slots=True)
class _Shortened:
    """One entry as it is shown from now on, and what that saves."""

    seq: int
    edits: tuple[Edit, ...]
    saved_tokens: int


async def shorten_tail(service: Service, view: SessionView, start: int, held: Held, rule: CutRule) -> Held:
    """What stands, with the edits that shorten huge texts behind `start` which the model has answered.

    Cleared entries stay as they are. Each shortened one is recorded like a cleared one, with what it saves: later
    checkpoints carry it on, a rewrite or redaction ends it. Large texts are cut and counted on a thread.
    """
    if not rule.huge_characters:
        return held
    metas = await _read_metas(service, view, start)
    heavy = [seq for seq in _heavy(metas, start, rule) if seq not in held.saved]
    found = await _shorten(service, view, heavy, rule)
    if not found:
        return held
    digests = {one.seq: metas[one.seq - start].digest for one in found}
    known = replace(held.frozen, digests={**held.frozen.digests, **digests})
    new = [edit for one in found for edit in one.edits]
    return Held(
        known, joined(held.edits, new), {**held.saved, **{one.seq: one.saved_tokens for one in found}}
    )


async def _shorten(
    service: Service, view: SessionView, seqs: Sequence[int], rule: CutRule
) -> list[_Shortened]:
    """Of those entries that are still there, the ones that are shorter so."""
    if not seqs:
        return []
    stored = await service.read(reading.bodies(service.session(view.tenant, view.session), seqs))
    bodies = [(seq, body) for seq, body in zip(seqs, stored, strict=True) if body is not None]
    if sum(len(body) for _, body in bodies) > OFF_LOOP_BYTES:
        return await asyncio.to_thread(_shortened, view, bodies, rule)
    return _shortened(view, bodies, rule)


def _shortened(view: SessionView, bodies: Iterable[tuple[int, bytes]], rule: CutRule) -> list[_Shortened]:
    entries = (Entry(seq, msgspec.json.decode(body), 0) for seq, body in bodies)
    edited = ((entry, edits) for entry in entries if (edits := shortening_edits(entry, rule)))
    found = (_Shortened(entry.seq, edits, _saving(view, entry, edits)) for entry, edits in edited)
    return [one for one in found if one.saved_tokens > 0]


async def _read_metas(service: Service, view: SessionView, start: int) -> list[EntryMeta]:
    """Of the whole tail; cut short where entries are gone meanwhile, which fails the adoption anyway."""
    keys = service.session(view.tenant, view.session)
    found: list[EntryMeta] = []
    for at in range(start, view.length, CHUNK):
        for meta in await service.read(reading.metas(keys, range(at, min(at + CHUNK, view.length)))):
            if meta is None:
                return found
            found.append(meta)
    return found


def _heavy(metas: Sequence[EntryMeta], start: int, rule: CutRule) -> list[int]:
    """Entries of users and tools in front of the model's newest words that could hold a huge text."""
    answered = max((place for place, meta in enumerate(metas) if meta.role == _ASSISTANT), default=0)
    least = rule.huge_characters // MOST_CHARACTERS_A_TOKEN
    return [
        start + place
        for place, meta in enumerate(metas[:answered])
        if meta.role in _WRITTEN_BY_OTHERS
        and not meta.redacted
        # What stands in front of the first one is not known here: that one is always read.
        and (place == 0 or meta.cum - metas[place - 1].cum >= least)
    ]


def _saving(view: SessionView, entry: Entry, edits: Sequence[Edit]) -> int:
    wire = Format(view.format)
    shown = apply_context([entry.message], (), 0, [replace(edit, seq=0) for edit in edits])
    after = sum(count_message(wire, message, view.model) for message in shown)
    return count_message(wire, entry.message, view.model) - after
