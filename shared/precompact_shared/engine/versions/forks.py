"""A fork: an invisible copy that is published whole (rule 23). Every step may be sent again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from precompact_shared.engine.versions.history import common_length, full, where
from precompact_shared.engine.versions.life import made
from precompact_shared.engine.versions.session import Known, Session, Tombstone, grown, shown, touched
from precompact_shared.engine.versions.values import (
    Candidate,
    Checkpoint,
    Entry,
    Limits,
    Outcome,
    Spec,
    Start,
)


def fork_open(
    state: Known, spec: Spec, source: str, now_ms: int, *, start: Start | None = None
) -> tuple[Known, Outcome]:
    """An invisible session to copy into: `opened`, `exists` (published already), `gone`."""
    if isinstance(state, Tombstone):
        return state, Outcome("gone")
    if isinstance(state, Session) and state.visible:
        same = (state.format, state.source) == (spec.format, source)
        return state, Outcome("exists" if same else "format_fixed")
    return replace(made(spec, now_ms, start or Start(), visible=False), source=source), Outcome("opened")


def fork_copy(
    state: Known, at: int, entries: tuple[Entry, ...], now_ms: int, *, limits: Limits | None = None
) -> tuple[Known, Outcome]:
    """Writes entries `[at, at+n)` of an invisible session; what is there already must be equal and is skipped."""
    if not isinstance(state, Session):
        return state, Outcome("gone" if state else "not_found")
    if state.visible:
        return state, Outcome("published")
    if at > state.length:
        return state, Outcome("gap", length=state.length)
    have = state.entries[at : at + len(entries)]
    same = common_length(have, entries)
    if same < len(have):
        return state, replace(where(state, "diverged"), common=at + same)
    refusal = full(state, state.length, entries[same:], limits or Limits())
    if refusal:
        return state, refusal
    copied = grown(state, entries[same:], now_ms)
    return copied, Outcome("ok", appended=len(entries) - same, length=copied.length)


def fork_publish(
    state: Known, length: int, points: Sequence[tuple[Checkpoint, Candidate]]
) -> tuple[Known, Outcome]:
    """Makes the copy visible with its chain; version 0, no jobs, no candidates to adopt."""
    if not isinstance(state, Session):
        return state, Outcome("gone" if state else "not_found")
    if state.visible:
        return shown(state, "exists")
    if length != state.length:
        return state, Outcome("gap", length=state.length)
    session = replace(
        state,
        visible=True,
        checkpoints=tuple(_within(point, length) for point, _ in points),
        candidates=tuple(
            replace(candidate, state="adopted", version=0, base=None) for _, candidate in points
        ),
        ordinal=max((point.n for point, _ in points), default=0),
    )
    return shown(touched(session), "published")


def _within(point: Checkpoint, length: int) -> Checkpoint:
    """A checkpoint of the source as the copy has it: its edits end where the copy did."""
    limit = min(length, point.edits_end) if point.edits_end > length else point.edit_limit
    return replace(point, adopted_version=0, edit_limit=limit)
