"""The common part of every rewrite (rules 4, 6): what a change at position p pops, closes and re-stamps."""

from __future__ import annotations

from dataclasses import replace

from precompact_shared.engine.versions.session import (
    NO_ENTRIES,
    Remembered,
    Session,
    chained,
    touched,
    unanchored,
    view,
    with_job,
)
from precompact_shared.engine.versions.values import Candidate, Checkpoint, Entry, Job, Outcome, State


def rewrite(
    session: Session, place: int, entries: tuple[Entry, ...], now_ms: int, version: int | None = None
) -> tuple[Session, int]:
    """Content at `place` and later was removed or changed; `entries` is the history that results.

    `version` is the new one when a heal names it, else one more. Checkpoints beyond `place` are popped, candidates
    and the live job whose reach lies at or before `place` keep their worth. Returns the number of popped ones too.
    """
    old, before = session.version, len(session.checkpoints)
    session = replace(
        session,
        version=old + 1 if version is None else version,
        entries=entries,
        chain=chained((NO_ENTRIES,), entries),
    )
    session = replace(session, rewritten_at=session.version)
    left = tuple(_cut_edits(point, place) for point in session.checkpoints if point.upto <= place)
    session = _popped(session, left)
    if session.anchor and (session.anchor.length > place or len(left) < before):
        session = unanchored(session)
    return touched(_restamped(session, old, place, now_ms)), before - len(left)


def erased(session: Session, place: int) -> tuple[Session, int]:
    """A redaction drops every checkpoint that saw the entry, also one that only edited it, and all on top of it."""
    left: list[Checkpoint] = []
    for point in session.checkpoints:
        if (point.through or point.upto) > place:
            break
        left.append(point)
    popped = len(session.checkpoints) - len(left)
    return (_popped(session, tuple(left)) if popped else session), popped


def _popped(session: Session, left: tuple[Checkpoint, ...]) -> Session:
    gone = {point.cid for point in session.checkpoints} - {point.cid for point in left}
    closed = tuple(
        replace(candidate, state="closed", reason="version_changed") if candidate.cid in gone else candidate
        for candidate in session.candidates
    )
    session = replace(session, checkpoints=left, candidates=closed)
    return unanchored(replace(session, cp_at=session.version)) if gone else session


def _cut_edits(point: Checkpoint, place: int) -> Checkpoint:
    if point.kind != "clearing":
        return point
    return replace(point, edit_limit=place if point.edit_limit is None else min(point.edit_limit, place))


def _restamped(session: Session, old: int, place: int, now_ms: int) -> Session:
    kept = tuple(_stamp(c, old, session.version, keeps=c.reach <= place) for c in session.candidates)
    session = replace(session, candidates=kept)
    job = session.live
    if job is None:
        return session
    if job.version == old and job.reach is not None and job.reach <= place:
        return without_base(
            with_job(session, replace(job, version=session.version)), "version_changed", now_ms
        )
    return with_job(session, ended(job, State.CANCELLED, "version_changed", now_ms))


def _stamp(candidate: Candidate, old: int, new: int, *, keeps: bool) -> Candidate:
    if not candidate.is_open:
        return candidate
    if keeps and candidate.version == old:
        return replace(candidate, version=new)
    return replace(candidate, state="closed", reason="version_changed")


def bump(session: Session, based_on: str | None, now_ms: int) -> Session:
    """The bump of adoption and revert: only what rests on `based_on` keeps its worth (rules 6, 15)."""
    old, new = session.version, session.version + 1
    kept = tuple(
        _stamp(c, old, new, keeps=based_on is not None and c.base == based_on) for c in session.candidates
    )
    session = unanchored(replace(session, version=new, cp_at=new, candidates=kept))
    job = session.live
    if job is None:
        return touched(session)
    if based_on is not None and job.base == based_on and job.version == old and job.upto is not None:
        return touched(with_job(session, replace(job, version=new)))
    return touched(with_job(session, ended(job, State.CANCELLED, "version_changed", now_ms)))


def without_base(session: Session, reason: str, now_ms: int) -> Session:
    """Cancels the live job if its base closed (rule 16)."""
    job = session.live
    if job is None or job.base is None or base_lives(session, job):
        return session
    return with_job(session, ended(job, State.CANCELLED, reason, now_ms))


def base_lives(session: Session, job: Job) -> bool:
    """Whether the base is open with the job's version and still holds, or is the current checkpoint (rule 5)."""
    if session.top and session.top.cid == job.base:
        return True
    base = session.candidate(job.base or "")
    return (
        base is not None
        and base.is_open
        and base.version == job.version
        and session.holds(base.reach, base.prefix)
    )


def ended(job: Job, state: State, reason: str | None, now_ms: int) -> Job:
    """The job in an end state."""
    return replace(job, state=state, reason=reason, ended_ms=now_ms)


def remember(session: Session, req: str, answer: Outcome) -> tuple[Session, Outcome]:
    """Keeps the last rewrite's request with its answer."""
    answer = replace(answer, version=session.version, length=session.length)
    kept = replace(answer, view=None, replayed=True)
    return replace(session, remembered=Remembered(req, kept)), replace(answer, view=view(session))


def recalled(session: Session, req: str) -> Outcome | None:
    """The stored answer if the request is the last rewrite's (rule 12)."""
    if session.remembered is None or session.remembered.req != req:
        return None
    return replace(session.remembered.answer, view=view(session))
