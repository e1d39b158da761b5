"""Candidates: stored by the attempt that made them, closed once with a reason (rules 5, 7-9)."""

from __future__ import annotations

from dataclasses import replace

from precompact_shared.engine.versions.ledger import lost
from precompact_shared.engine.versions.rewrites import base_lives, ended, without_base
from precompact_shared.engine.versions.session import Session, on_session, with_candidate, with_job
from precompact_shared.engine.versions.values import Candidate, Job, Outcome, State


@on_session
def put(
    session: Session, jid: str, fence: int, tag: Candidate, now_ms: int, *, floor: bool = False
) -> tuple[Session, Outcome]:
    """Stores a candidate under the job's version: `stored`, `refused` (a full one ends the job), or `lost`."""
    why = lost(session, jid, fence)
    job = session.job(jid)
    if why or job is None:
        return session, Outcome("lost", reason=why)
    if job.upto is None:
        return session, Outcome("lost", reason="not_announced")
    refusal = _refusal(session, job, tag)
    if refusal:
        state = State.CANCELLED if refusal == "version_changed" else State.DONE
        done = session if floor else with_job(session, ended(job, state, refusal, now_ms))
        return done, Outcome("refused", reason=refusal)
    tag = replace(
        tag, version=job.version, base=job.base, job=jid, created_ms=now_ms, state="open", reason=None
    )
    tag = replace(tag, slot="floor" if floor else "manual" if job.kind == "manual" else "speculative")
    session = _superseded(session, tag)
    others = tuple(old for old in session.candidates if old.cid != tag.cid)
    session = replace(session, candidates=(*others, tag))
    if not floor:
        session = with_job(session, ended(job, State.DONE, None, now_ms))
    return session, Outcome("stored")


def _refusal(session: Session, job: Job, tag: Candidate) -> str | None:
    if (tag.upto, tag.through, tag.prefix) != (job.upto, job.through, job.prefix):
        return "version_changed"
    if not session.holds(tag.reach, tag.prefix):
        return "version_changed"
    if not is_ahead(session, tag) or not _ahead_of_base(session, job, tag):
        return "not_ahead"
    if tag.tokens_after >= tag.tokens_before:
        return "not_smaller"
    return None if job.base is None or base_lives(session, job) else "base_gone"


def _ahead_of_base(session: Session, job: Job, tag: Candidate) -> bool:
    """A refresh that covers no more than its base would only cost."""
    base = next((old for old in session.candidates if old.cid == job.base and old.is_open), None)
    return base is None or tag.reach > base.reach


def is_ahead(session: Session, tag: Candidate) -> bool:
    """Whether it covers more than the current checkpoint, or (clearing) edits further (rule 7)."""
    if tag.kind != "clearing":
        return tag.upto > session.upto
    edited = session.top.edits_end if session.top else 0
    return tag.upto == session.upto and tag.through > max(edited, session.upto)


def _superseded(session: Session, tag: Candidate) -> Session:
    """A new candidate takes its slot; a full one replaces every floor (rule 13)."""
    return replace(
        session,
        candidates=tuple(
            closed(old, "superseded") if old.is_open and _makes_room(old, tag) else old
            for old in session.candidates
        ),
    )


def _makes_room(old: Candidate, new: Candidate) -> bool:
    if old.slot == "floor":
        return new.slot != "floor" or old.job == new.job
    return old.slot == new.slot


def closed(candidate: Candidate, reason: str) -> Candidate:
    """The tag of a discarded candidate."""
    return replace(candidate, state="closed", reason=reason)


@on_session
def close(session: Session, cid: str, reason: str, now_ms: int) -> tuple[Session, Outcome]:
    """Discards an open candidate for good; a job that rests on it ends."""
    candidate = session.candidate(cid)
    if candidate is None or not candidate.is_open:
        return session, Outcome(
            "not_open", reason=(candidate.reason or candidate.state) if candidate else "unknown"
        )
    return without_base(with_candidate(session, closed(candidate, reason)), reason, now_ms), Outcome("closed")
