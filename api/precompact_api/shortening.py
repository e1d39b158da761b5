"""Huge texts in the tail that an adoption keeps: shown as their two ends from then on, and accounted for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from precompact_api.clearing import Held, joined
from precompact_api.repairs import read_entries
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


async def shorten_tail(service: Service, view: SessionView, start: int, held: Held, rule: CutRule) -> Held:
    """What stands, with the edits that shorten huge texts behind `start` which the model has answered.

    Cleared entries stay as they are. Each shortened one is recorded like a cleared one, with what it saves: later
    checkpoints carry it on, a rewrite or redaction ends it.
    """
    if not rule.huge_characters:
        return held
    metas = await _read_metas(service, view, start)
    heavy = [seq for seq in _heavy(metas, start, rule) if seq not in held.saved]
    entries = await read_entries(service, view, heavy)
    edits = {entry.seq: shortening_edits(entry, rule) for entry in entries}
    saved = {entry.seq: _saving(view, entry, edits[entry.seq]) for entry in entries}
    chosen = {seq: tokens for seq, tokens in saved.items() if edits[seq] and tokens > 0}
    if not chosen:
        return held
    digests = {seq: metas[seq - start].digest for seq in chosen}
    known = replace(held.frozen, digests={**held.frozen.digests, **digests})
    new = [edit for seq in chosen for edit in edits[seq]]
    return Held(known, joined(held.edits, new), {**held.saved, **chosen})


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
