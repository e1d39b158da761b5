"""Adoption as a compare-and-set on (version, length, candidate), and its way back (rules 10, 12, 15, 17)."""

from __future__ import annotations

from dataclasses import replace

from precompact_shared.engine.versions.candidates import closed, is_ahead
from precompact_shared.engine.versions.rewrites import bump, recalled, remember, without_base
from precompact_shared.engine.versions.session import Session, on_session, shown, with_candidate
from precompact_shared.engine.versions.values import Candidate, Checkpoint, Outcome


@on_session
def adopt(
    session: Session,
    cid: str,
    now_ms: int,
    *,
    version: int,
    length: int,
    insert_tokens: int = 0,
    forced: bool = False,
) -> tuple[Session, Outcome]:
    """`adopted`, `already`, `length_moved`, `refused`, `deferred`."""
    if session.top and session.top.cid == cid:
        return shown(session, "already", record=session.top)
    candidate = session.candidate(cid)
    if candidate is None:
        return session, Outcome("refused", reason="unknown")
    if not candidate.is_open:
        return session, Outcome("refused", reason=candidate.reason or "superseded")
    if not candidate.version == session.version == version:
        return session, Outcome("refused", reason="version_changed")
    discard = _discard(session, candidate)
    if discard:
        session = without_base(with_candidate(session, closed(candidate, discard)), discard, now_ms)
        return session, Outcome("refused", reason=discard)
    job = session.live
    if job and job.kind == "manual" and candidate.slot != "manual" and not forced:
        return session, Outcome("deferred", reason="manual_running")
    if length != session.length:
        return shown(session, "length_moved")
    return _adopted(session, candidate, insert_tokens, now_ms)


def _discard(session: Session, candidate: Candidate) -> str | None:
    if not session.holds(candidate.reach, candidate.prefix):
        return "version_changed"
    return None if is_ahead(session, candidate) else "not_ahead"


def _adopted(
    session: Session, candidate: Candidate, insert_tokens: int, now_ms: int
) -> tuple[Session, Outcome]:
    session = with_candidate(session, replace(candidate, state="adopted"))
    session = bump(session, candidate.cid, now_ms)
    point = Checkpoint(
        cid=candidate.cid,
        n=session.ordinal + 1,
        upto=candidate.upto,
        through=candidate.through,
        kind=candidate.kind,
        adopted_version=session.version,
        adopted_ms=now_ms,
        insert_tokens=insert_tokens,
    )
    session = replace(session, checkpoints=(*session.checkpoints, point), ordinal=point.n)
    return shown(session, "adopted", record=point)


@on_session
def revert(session: Session, n: int, now_ms: int, *, req: str) -> tuple[Session, Outcome]:
    """Back one checkpoint; its candidate is barred, everything under way closes, `rewritten_at` stays."""
    known = recalled(session, req)
    if known:
        return session, known
    top = session.top
    if top is None or top.n != n:
        return session, Outcome("not_newest", newest=top.n if top else 0)
    session = bump(session, None, now_ms)
    barred = session.candidate(top.cid)
    if barred:
        session = with_candidate(session, closed(barred, "barred"))
    session = replace(session, checkpoints=session.checkpoints[:-1])
    return remember(
        session, req, Outcome("reverted", popped=1, version=session.version, length=session.length)
    )
