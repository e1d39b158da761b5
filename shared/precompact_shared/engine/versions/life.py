"""A session's beginning and end, and the mark of an undecided event (rule 19)."""

from __future__ import annotations

from dataclasses import replace

from precompact_shared.engine.versions.session import Known, Session, Tombstone, on_session, shown, touched
from precompact_shared.engine.versions.values import Outcome, Spec, Start


def made(
    spec: Spec, now_ms: int, start: Start, *, incarnation: int = 0, version: int = 0, visible: bool = True
) -> Session:
    """A new session; version and `rewritten_at` are 0 unless a deleted one is revived."""
    return Session(
        format=spec.format,
        model=spec.model,
        window=spec.window,
        max_output=spec.max_output,
        parent=spec.parent,
        incarnation=incarnation,
        version=version,
        rewritten_at=version,
        cp_at=version,
        visible=visible,
        last_at_ms=now_ms,
        start=start,
    )


def create(
    state: Known, spec: Spec, now_ms: int, *, recreate: bool = False, start: Start | None = None
) -> tuple[Known, Outcome]:
    """`created`, `exists`, `format_fixed`, or `gone` unless `recreate`."""
    start = start or Start()
    if isinstance(state, Tombstone):
        if not recreate:
            return state, Outcome("gone")
        above = max(state.version, state.rewritten_at) + 1
        return shown(
            touched(made(spec, now_ms, start, incarnation=state.incarnation + 1, version=above)), "created"
        )
    if state is None:
        return shown(touched(made(spec, now_ms, start)), "created")
    if not state.visible:
        return state, Outcome("not_found")
    if state.format != spec.format:
        return state, Outcome("format_fixed")
    return shown(state, "exists")


def delete(state: Known) -> tuple[Known, Outcome]:
    """Leaves a tombstone, also of an unfinished copy: `deleted`, `not_found`, `gone`."""
    if isinstance(state, Tombstone):
        return state, Outcome("gone")
    if state is None:
        return state, Outcome("not_found")
    return Tombstone(state.version, state.rewritten_at, state.incarnation), Outcome("deleted")


@on_session
def seen_as(session: Session) -> tuple[Session, Outcome]:
    """`ok` with the session as it stands."""
    return shown(session, "ok")


@on_session
def handled(session: Session, version: int, length: int) -> tuple[Session, Outcome]:
    """Clears the unhandled mark if (version, length) is still the session's."""
    if (version, length) != (session.version, session.length):
        return session, Outcome("moved")
    return replace(session, unhandled=False), Outcome("ok")
