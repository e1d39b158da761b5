"""The whole list of a caller that keeps all it ever had, and the heal after a lost second (rule 2, Loss)."""

from __future__ import annotations

from dataclasses import replace

from precompact_shared.engine.versions.history import common_length, full, stale, where
from precompact_shared.engine.versions.rewrites import recalled, remember, rewrite
from precompact_shared.engine.versions.session import Session, grown, on_session, shown, touched, unanchored
from precompact_shared.engine.versions.sizes import with_changes
from precompact_shared.engine.versions.values import Changes, Entry, Limits, Outcome, Seen, Start


@on_session
def sync(
    session: Session,
    entries: tuple[Entry, ...],
    now_ms: int,
    *,
    seen: Seen,
    req: str,
    heal: bool = False,
    changes: Changes | None = None,
    limits: Limits | None = None,
    start: Start | None = None,
) -> tuple[Session, Outcome]:
    """Appends, or rewinds to the common part first; a heal is for a caller who is ahead of the store."""
    known = recalled(session, req)
    if known:
        return session, known
    common = common_length(session.entries, entries)
    refusal = _refusal(session, seen, common, heal=heal)
    refusal = refusal or full(session, common, entries[common:], limits or Limits())
    if refusal:
        return session, refusal
    changes = changes or Changes()
    answer = Outcome("ok", appended=len(entries) - common, at=len(entries), common=common)
    if not heal and common == session.length:
        after = with_changes(grown(session, entries[common:], now_ms), changes, now_ms, start)
        facts = {"appended": answer.appended, "at": answer.at, "common": common}
        return shown(after if after == session else touched(after), "ok", **facts)
    removes = common < session.length
    session, popped = rewrite(
        session, common, session.entries[:common], now_ms, seen.version + 1 if heal else None
    )
    if heal:
        session = unanchored(replace(session, cp_at=session.version))
    session = with_changes(grown(session, entries[common:], now_ms), changes, now_ms, start)
    return remember(session, req, replace(answer, rewound=removes, popped=popped))


def _refusal(session: Session, seen: Seen, common: int, *, heal: bool) -> Outcome | None:
    problem = stale(session, seen)
    if heal:
        ahead = problem is not None and problem.o == "regressed"
        return None if ahead else problem or where(session, "not_ahead")
    if problem is None and common < session.length != seen.length:
        return replace(where(session, "unseen_end"), common=common)
    return problem
