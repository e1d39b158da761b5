"""What a call reports about the session: usage (rule 14), model, window, a refused request (rule 17)."""

from __future__ import annotations

from dataclasses import replace

from precompact_shared.engine.versions.session import Anchor, Session, size
from precompact_shared.engine.versions.values import Changes, Usage


def with_changes(session: Session, changes: Changes, now_ms: int) -> Session:
    """The session after what the call brought along; the same object when nothing changed."""
    switched = bool(changes.model and session.model and changes.model != session.model)
    session = _with_model(session, changes, switched=switched)
    unnamed = switched and changes.usage is not None and changes.usage.model is None
    if changes.usage and not unnamed and is_base(session, changes.usage):
        session = _anchored(session, changes.usage, now_ms)
    if changes.overflow and size(session) != (session.observed_limit or 0):
        session = replace(session, observed_limit=size(session))
    return session


def is_base(session: Session, usage: Usage) -> bool:
    """Whether a reported size may be counted from: good, of this model, of the current checkpoint, not older."""
    anchor = session.anchor
    return (
        usage.total > 0
        and (usage.model is None or session.model is None or usage.model == session.model)
        and max(session.cp_at, session.rewritten_at) <= usage.version <= session.version
        and usage.length <= session.length
        and not (anchor and anchor.version == usage.version and usage.length < anchor.length)
    )


def _with_model(session: Session, changes: Changes, *, switched: bool) -> Session:
    if changes.model and changes.model != session.model:
        session = replace(session, model=changes.model)
        if switched:
            session = replace(session, anchor=None, overhead=None)
    if changes.window:
        session = replace(session, window=changes.window)
    if changes.max_output:
        session = replace(session, max_output=changes.max_output)
    return session


def _anchored(session: Session, usage: Usage, now_ms: int) -> Session:
    insert = session.top.insert_tokens if session.top else 0
    cache = (now_ms, usage.total, usage.read, usage.written)
    anchor = Anchor(usage.total, usage.version, usage.length, cache)
    if session.anchor and replace(session.anchor, cache=cache) == anchor:
        return session
    found = max(0, usage.total - insert - session.tokens_of(session.upto, usage.length))
    least = found if session.overhead is None else min(found, session.overhead)
    return replace(session, anchor=anchor, overhead=least, observed_limit=None)
