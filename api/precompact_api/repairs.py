"""Edits that keep a context sendable: no result without its call, no call that will never be answered, no empty text.

Sessions without such entries, nearly all, pay nothing; the others one read of those entries, then remembered.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from precompact_api.ingest import link
from precompact_api.service import Service
from precompact_shared.engine.formats import facts as facts_of
from precompact_shared.engine.formats import synthetic_result, user_message
from precompact_shared.engine.projection import merge_edits
from precompact_shared.engine.types import Call, Edit, Entry, Format, Message
from precompact_shared.store import reading
from precompact_shared.store.types import SessionView

Marks = Mapping[str, str]
"""The caller's own word on open calls: id -> `pending` or `dead`."""
LOST_HEAD = "The beginning of this conversation is not on record."


async def context_edits(
    service: Service, view: SessionView, keep_from: int, frozen: tuple[Edit, ...], marks: Marks
) -> tuple[Edit, ...]:
    """All edits of the kept tail: those frozen with the checkpoint and the repairs of this moment."""
    unanswered = tuple(place for place in unanswered_calls(view, marks) if place[0] >= keep_from)
    orphans = tuple(place for place in view.orphans if place[0] >= keep_from)
    if not unanswered and not orphans:
        return frozen
    key = ("repairs", view.tenant, view.session, view.incarnation, view.version, frozen, unanswered, orphans)
    kept = service.edits.get(key)
    if kept is not None:
        return kept
    edits = await _compute(service, view, frozen, unanswered, orphans)
    return service.edits.put(key, edits)


def unanswered_calls(view: SessionView, marks: Marks) -> list[tuple[int, str]]:
    """Calls without a result that the context must answer itself: all but those marked pending."""
    still_open = [(seq, call) for seq, call in view.open if marks.get(call.partition(":")[2]) != "pending"]
    return [(seq, call) for seq, call in view.dead] + still_open


async def _compute(
    service: Service,
    view: SessionView,
    frozen: tuple[Edit, ...],
    unanswered: tuple[tuple[int, str], ...],
    orphans: tuple[tuple[int, int], ...],
) -> tuple[Edit, ...]:
    seqs = sorted({seq for seq, _ in (*unanswered, *orphans)} | {edit.seq for edit in frozen})
    entries = await read_entries(service, view, seqs)
    by_seq = {entry.seq: entry.message for entry in entries}
    wire = Format(view.format)
    answers = list(_answers(wire, by_seq, unanswered))
    removed = [Edit(seq, part=None if part < 0 else part) for seq, part in orphans if seq in by_seq]
    held = [edit for edit in frozen if edit.seq in by_seq]
    return tuple(_opened(wire, merge_edits(entries, held, removed, answers)))


def _opened(wire: Format, edits: Iterable[Edit]) -> Iterator[Edit]:
    """Anthropic wants a user's message first: where that held nothing but a result of a lost call, it says so."""
    for edit in edits:
        leaves_out = edit.part is None and edit.value is None and not edit.after
        if wire is Format.ANTHROPIC and edit.seq == 0 and leaves_out:
            yield Edit(0, value=user_message(wire, LOST_HEAD))
        else:
            yield edit


def _answers(
    wire: Format, by_seq: Mapping[int, Message], unanswered: tuple[tuple[int, str], ...]
) -> Iterator[Edit]:
    for seq, name in unanswered:
        call = _find_call(wire, by_seq.get(seq), name)
        if call is not None:
            yield Edit(seq, after=(synthetic_result(wire, call),))


def _find_call(wire: Format, message: Message | None, name: str) -> Call | None:
    calls = facts_of(wire, message).calls if message is not None else ()
    return next((call for call in calls if link(wire, call.kind, call.id) == name), None)


async def read_entries(service: Service, view: SessionView, seqs: list[int]) -> list[Entry]:
    """Parsed entries; those that are gone meanwhile are left out."""
    if not seqs:
        return []
    keys = service.session(view.tenant, view.session)
    bodies = await service.read(reading.bodies(keys, seqs))
    return [
        Entry(seq, msgspec.json.decode(body), 0)
        for seq, body in zip(seqs, bodies, strict=True)
        if body is not None
    ]
