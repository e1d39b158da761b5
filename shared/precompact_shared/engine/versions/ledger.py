"""The ledger: claim, send, start, heartbeat, end (rules 5, 16, 17)."""

from __future__ import annotations

from dataclasses import replace

from precompact_shared.engine.versions.rewrites import ended
from precompact_shared.engine.versions.session import Known, Session, on_session, shown, with_job
from precompact_shared.engine.versions.values import Announcement, Claim, Job, Outcome, State

BACKGROUND = frozenset({"speculative", "idle"})
"""Kinds that have no business while an open candidate waits."""
IN_BACKGROUND = BACKGROUND | {"refresh"}
"""Kinds that nobody waits for."""
AT_THE_LIMIT = frozenset({"due", "overflow"})


@on_session
def claim(session: Session, version: int | None, spec: Claim, now_ms: int) -> tuple[Session, Outcome]:
    """A job, if none is in the way; nothing changes when it is refused."""
    if version is not None and version != session.version:
        return session, Outcome("version_changed", version=session.version, length=session.length)
    if spec.overflow_at is not None and session.overflow_at == spec.overflow_at:
        return session, Outcome("once")
    live = session.live
    if live and not (spec.kind == "manual" and live.kind != "manual"):
        return _in_the_way(session, live, spec, now_ms)
    refusal = _needless(session, spec)
    if refusal:
        return session, Outcome(refusal)
    if live:
        session = with_job(session, ended(live, State.CANCELLED, "superseded", now_ms))
    if spec.overflow_at is not None:
        session = replace(session, overflow_at=spec.overflow_at)
    job = Job(
        jid=spec.jid,
        version=session.version,
        kind=spec.kind,
        urgency=spec.urgency,
        base=spec.base,
        focus=spec.focus,
        deadline_ms=now_ms + spec.deadline_ms,
        created_ms=now_ms,
    )
    return shown(replace(session, jobs=(*session.jobs, job)), "claimed", job=job, jid=job.jid)


def _in_the_way(session: Session, live: Job, spec: Claim, now_ms: int) -> tuple[Session, Outcome]:
    if spec.kind == "manual":
        return session, Outcome("joined" if live.focus == spec.focus else "in_flight", jid=live.jid)
    job = replace(live, urgency=min(live.urgency, spec.urgency))
    if live.kind in IN_BACKGROUND and spec.kind in AT_THE_LIMIT:
        job = _hurried(job, spec, now_ms)
    return with_job(session, job), Outcome("in_flight", jid=live.jid)


def _hurried(job: Job, spec: Claim, now_ms: int) -> Job:
    """What was begun in the background is due by now: what waits begins at once and anew, what runs is joined."""
    if job.state is State.RUNNING:
        return replace(job, kind=spec.kind, hurried=True)
    deadline_ms = max(job.deadline_ms, now_ms + spec.deadline_ms)
    return replace(job, kind=spec.kind, state=State.READY, not_before_ms=0, deadline_ms=deadline_ms)


def _needless(session: Session, spec: Claim) -> str | None:
    waiting = any(candidate.is_open and candidate.slot == "speculative" for candidate in session.candidates)
    if spec.kind in BACKGROUND and spec.base is None and waiting:
        return "have_candidate"
    if spec.base is not None:
        base = session.candidate(spec.base)
        if base is None or not base.is_open or base.version != session.version:
            return "base_gone"
        if not session.holds(base.reach, base.prefix):
            return "base_gone"
    return None


@on_session
def queued(session: Session, jid: str, now_ms: int) -> tuple[Session, Outcome]:
    """The message is on its way, for the first time or again. A resend is no attempt."""
    job = session.job(jid)
    if job is None or job.state not in (State.READY, State.QUEUED):
        return session, Outcome("skip", reason=job.state.value if job else "unknown")
    return with_job(session, replace(job, state=State.QUEUED, sent_ms=now_ms)), Outcome("ok")


@on_session
def start(
    session: Session, jid: str, now_ms: int, *, lease_ms: int, max_attempts: int
) -> tuple[Session, Outcome]:
    """A worker takes the job with a new fence, or learns why not."""
    job = session.job(jid)
    reason = _not_startable(job, now_ms)
    if job is None or reason:
        return session, Outcome("skip", reason=reason)
    if job.version != session.version:
        cancelled = ended(job, State.CANCELLED, "version_changed", now_ms)
        return with_job(session, cancelled), Outcome("skip", reason="version_changed")
    if job.attempt >= max_attempts:
        return with_job(session, ended(job, State.DEAD, "attempts_spent", now_ms)), Outcome(
            "skip", reason="dead"
        )
    job = replace(
        _unannounced(job),
        state=State.RUNNING,
        hurried=False,
        fence=job.fence + 1,
        attempt=job.attempt + 1,
        lease_until_ms=now_ms + lease_ms,
        started_ms=now_ms,
    )
    base = session.candidate(job.base) if job.base else None
    return shown(with_job(session, job), "started", job=job, base=base)


def _not_startable(job: Job | None, now_ms: int) -> str | None:
    if job is None:
        return "unknown"
    if not job.is_live:
        return job.state.value
    if job.state is State.RUNNING and job.lease_until_ms > now_ms:
        return "running"
    return "not_due" if job.state is State.READY and job.not_before_ms > now_ms else None


def _unannounced(job: Job) -> Job:
    return replace(job, upto=None, through=0, prefix=None)


def lost(session: Session, jid: str, fence: int) -> str | None:
    """Why an attempt is no longer the job's, None while it is (rules 5, 16)."""
    job = session.job(jid)
    if job is None:
        return "unknown"
    if job.state is State.CANCELLED:
        return job.reason or "cancelled"
    return "fence" if job.state is not State.RUNNING or job.fence != fence else None


@on_session
def beat(
    session: Session,
    jid: str,
    fence: int,
    now_ms: int,
    *,
    lease_ms: int,
    announce: Announcement | None = None,
) -> tuple[Session, Outcome]:
    """Renews the lease and may announce the cut."""
    reason = lost(session, jid, fence)
    job = session.job(jid)
    if reason or job is None:
        return session, Outcome("lost", reason=reason)
    if announce:
        if announce.upto > announce.reach or not session.holds(announce.reach, announce.prefix):
            return session, Outcome("lost", reason="version_changed")
        job = replace(job, upto=announce.upto, through=announce.through, prefix=announce.prefix)
    job = replace(job, lease_until_ms=now_ms + lease_ms)
    return with_job(session, job), Outcome("ok", deadline_ms=job.deadline_ms)


@on_session
def finish(
    session: Session,
    jid: str,
    fence: int,
    action: str,
    now_ms: int,
    *,
    reason: str,
    max_attempts: int,
    delay_ms: int = 0,
) -> tuple[Session, Outcome]:
    """Ends an attempt: `retry`, `dead`, `skip`, or `release` (no attempt spent)."""
    why = lost(session, jid, fence)
    job = session.job(jid)
    if why or job is None:
        return session, Outcome("lost", reason=why)
    delay_ms = 0 if job.hurried else delay_ms
    match action:
        case "release":
            job = replace(_ready(job, reason, now_ms + delay_ms), attempt=job.attempt - 1)
        case "retry" if job.attempt < max_attempts:
            job = _ready(job, reason, now_ms + delay_ms)
        case "skip":
            job = ended(job, State.DONE, reason, now_ms)
        case _:
            job = ended(job, State.DEAD, reason, now_ms)
    return with_job(session, job), Outcome("ok")


def _ready(job: Job, reason: str, at_ms: int) -> Job:
    return replace(
        _unannounced(job),
        state=State.READY,
        reason=reason,
        not_before_ms=at_ms,
        lease_until_ms=0,
        hurried=False,
    )


@on_session
def cancel(session: Session, jid: str, reason: str, now_ms: int) -> tuple[Session, Outcome]:
    """Closes a live job."""
    job = session.job(jid)
    if job is None or not job.is_live:
        return session, Outcome("skip", reason=job.state.value if job else "unknown")
    return with_job(session, ended(job, State.CANCELLED, reason, now_ms)), Outcome("cancelled")


def due(state: Known, jid: str, now_ms: int, *, resend_ms: int, max_attempts: int) -> tuple[Known, Outcome]:
    """What the sweeper must do with an open job."""
    job = state.job(jid) if isinstance(state, Session) and state.visible else None
    if not isinstance(state, Session) or job is None or not job.is_live:
        return state, Outcome("gone")
    match job.state:
        case State.READY:
            waits = job.not_before_ms > now_ms
        case State.QUEUED:
            waits = job.sent_ms + resend_ms > now_ms
        case _:
            waits = job.lease_until_ms > now_ms
    if waits:
        return state, Outcome("later")
    if job.state is not State.RUNNING:
        return state, Outcome("send")
    if job.attempt >= max_attempts:
        return with_job(state, ended(job, State.DEAD, "attempts_spent", now_ms)), Outcome("dead")
    return with_job(state, _ready(job, "lease_lost", now_ms)), Outcome("send")
