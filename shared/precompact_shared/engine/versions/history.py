"""Operations that add, remove or change entries (rules 1-4, 12, 19, 21)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from precompact_shared.engine.versions.life import made
from precompact_shared.engine.versions.rewrites import erased, recalled, remember, rewrite
from precompact_shared.engine.versions.session import (
    Known,
    Session,
    Tombstone,
    grown,
    headed,
    on_session,
    shown,
    touched,
    view,
)
from precompact_shared.engine.versions.sizes import with_changes
from precompact_shared.engine.versions.values import Changes, Entry, Limits, Outcome, Seen, Spec, Start

REMEMBERED_KEYS = 256


def append(
    state: Known,
    entries: tuple[Entry, ...],
    now_ms: int,
    *,
    seen: Seen | None,
    pos: int | None = None,
    create: Spec | None = None,
    key: str | None = None,
    changes: Changes | None = None,
    limits: Limits | None = None,
    start: Start | None = None,
) -> tuple[Known, Outcome]:
    """Adds what is new of `entries`, which stand from `pos` (default `seen.length`, else the end)."""
    if isinstance(state, Tombstone):
        return state, Outcome("gone")
    if state is not None and not state.visible:
        return state, Outcome("not_found")
    if state is None:
        if create is None:
            return state, Outcome("not_found")
        session, seen = made(create, now_ms, start or Start()), seen or Seen(0, 0)
    else:
        session = state
        if create and create.format != session.format:
            return state, Outcome("format_fixed")
    if seen is None:
        replay = _replay(session, key)
        if replay:
            return state, replay
    refusal, first, fresh = _fresh(session, entries, seen, pos)
    refusal = refusal or full(session, session.length, fresh, limits or Limits())
    if refusal:
        return state, refusal
    after = with_changes(grown(session, fresh, now_ms), changes or Changes(), now_ms, start)
    if after != session:
        after = touched(after)
    answer = Outcome("ok", appended=len(fresh), at=first + len(entries))
    return _keyed(after, key, replace(answer, version=after.version, length=after.length))


def _replay(session: Session, key: str | None) -> Outcome | None:
    if key is None:
        return Outcome("key_required")
    known = dict(session.keys).get(key)
    return None if known is None else replace(known, view=view(session), replayed=True)


def _fresh(
    session: Session, entries: tuple[Entry, ...], seen: Seen | None, pos: int | None
) -> tuple[Outcome | None, int, tuple[Entry, ...]]:
    if seen is None:
        return None, session.length, entries
    start = seen.length if pos is None else pos
    refusal = stale(session, seen)
    if refusal:
        return refusal, start, ()
    if seen.length > session.length or start > session.length:
        return where(session, "gap"), start, ()
    have = session.entries[start : start + len(entries)]
    same = common_length(have, entries)
    if same < len(have):
        return replace(where(session, "diverged"), common=start + same), start, ()
    return None, start, entries[same:]


def _keyed(session: Session, key: str | None, answer: Outcome) -> tuple[Session, Outcome]:
    if key:
        session = replace(session, keys=(*session.keys, (key, answer))[-REMEMBERED_KEYS:])
    return session, replace(answer, view=view(session))


@on_session
def rewind(session: Session, to: int, now_ms: int, *, seen: Seen, req: str) -> tuple[Session, Outcome]:
    """Removes `[to, length)`."""
    refusal = _may_change(session, seen, req, to)
    if refusal:
        return session, refusal
    if to == session.length:
        return shown(session, "ok", at=to)
    return _rewritten(session, to, session.entries[:to], now_ms, req)


@on_session
def replaced(
    session: Session, seq: int, entry: Entry, now_ms: int, *, seen: Seen, req: str
) -> tuple[Session, Outcome]:
    """Puts another entry at `seq`; later entries stay."""
    refusal = _may_change(session, seen, req, seq + 1)
    if refusal:
        return session, refusal
    if session.entries[seq].digest == entry.digest:
        return shown(session, "ok", at=seq)
    entries = headed((*session.entries[:seq], entry, *session.entries[seq + 1 :]))
    return _rewritten(session, seq, entries, now_ms, req)


@on_session
def redact(
    session: Session, bodies: Sequence[tuple[int, Entry]], now_ms: int, *, seen: Seen, req: str
) -> tuple[Session, Outcome]:
    """Replaces what the entries hold and weigh for good; digests stay (rule 21)."""
    refusal = _may_change(session, seen, req, max(seq for seq, _ in bodies) + 1)
    if refusal:
        return session, refusal
    entries = list(session.entries)
    for seq, held in bodies:
        known = entries[seq]
        entries[seq] = replace(known, size=held.size, tokens=held.tokens, mass=held.mass, redacted=True)
    place = min(seq for seq, _ in bodies)
    session, dropped = erased(session, place)
    session, popped = rewrite(session, place, tuple(entries), now_ms)
    if dropped:
        session = replace(session, cp_at=session.version)
    answer = Outcome("ok", at=place, rewound=True, popped=dropped + popped)
    return remember(session, req, answer)


def _rewritten(
    session: Session, place: int, entries: tuple[Entry, ...], now_ms: int, req: str
) -> tuple[Session, Outcome]:
    session, popped = rewrite(session, place, entries, now_ms)
    return remember(session, req, Outcome("ok", at=place, rewound=True, popped=popped))


def _may_change(session: Session, seen: Seen, req: str, needs: int) -> Outcome | None:
    """Why entries may not be removed or changed: a remembered answer, or rule 2's refusals in their order."""
    known = recalled(session, req)
    if known:
        return known
    old = stale(session, seen)
    if old:
        return old
    if needs > session.length:
        return where(session, "gap")
    return where(session, "unseen_end") if seen.length != session.length else None


def stale(session: Session, seen: Seen) -> Outcome | None:
    """Rule 2's refusals: the caller is ahead of us, or behind the last content rewrite."""
    if seen.version > session.version:
        return where(session, "regressed")
    if seen.version < session.rewritten_at:
        return where(session, "rewritten")
    return None


def where(session: Session, o: str) -> Outcome:
    """A refusal that says where the session stands."""
    return Outcome(o, version=session.version, length=session.length)


def full(session: Session, kept: int, fresh: tuple[Entry, ...], limits: Limits) -> Outcome | None:
    """`session_full` if the new entries would pass a limit."""
    entries = kept + len(fresh)
    held = sum(entry.size for entry in (*session.entries[:kept], *fresh))
    if fresh and (entries > limits.entries or held > limits.bytes):
        return where(session, "session_full")
    return None


def common_length(have: Sequence[Entry], sent: Sequence[Entry]) -> int:
    """How many entries from the start are equal, by digest (rule 3)."""
    same = 0
    for old, new in zip(have, sent, strict=False):
        if old.digest != new.digest:
            break
        same += 1
    return same
