"""What a call reports about the session: usage (rule 14), model, window, a refused request (rule 17)."""

from __future__ import annotations

from dataclasses import replace

import msgspec

from precompact_shared.engine.estimate import Report, observe
from precompact_shared.engine.estimate.predicting import whole
from precompact_shared.engine.versions.session import (
    Anchor,
    Session,
    context_estimate,
    measures,
    size,
    span,
    unanchored,
)
from precompact_shared.engine.versions.values import Changes, Start, Usage


def with_changes(session: Session, changes: Changes, now_ms: int, start: Start | None) -> Session:
    """The session after what the call brought along; the same object when nothing changed.

    `start` is where the calibration of a new model begins.
    """
    switched = bool(changes.model and session.model and changes.model != session.model)
    session = _with_model(session, changes, start, switched=switched)
    unnamed = switched and changes.usage is not None and changes.usage.model is None
    if changes.usage and not unnamed and is_base(session, changes.usage):
        session = _reported(session, changes.usage, now_ms)
    if changes.overflow and size(session).tokens != (session.observed_limit or 0):
        session = replace(session, observed_limit=size(session).tokens)
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


def _with_model(session: Session, changes: Changes, start: Start | None, *, switched: bool) -> Session:
    if changes.model and changes.model != session.model:
        session = replace(session, model=changes.model)
        if switched:
            session = replace(unanchored(session), overhead=None)
        if start:
            session = replace(session, start=_begun_anew(start, session.start))
    if changes.window:
        session = replace(session, window=changes.window)
    if changes.max_output:
        session = replace(session, max_output=changes.max_output)
    return session


def _begun_anew(start: Start, old: Start) -> Start:
    """Another model's calibration; a base that was reported before the model had a name stays."""
    kept = {name: getattr(old.state, name) for name in ("base", "output", "reasoned", "carried")}
    return replace(start, state=msgspec.structs.replace(start.state, **kept))


def _reported(session: Session, usage: Usage, now_ms: int) -> Session:
    anchor = session.anchor
    if anchor and (anchor.total, anchor.length, anchor.version) == (usage.total, usage.length, usage.version):
        return session
    if usage.server:
        return replace(session, blind=True) if anchor else session
    session = _learned(session, usage)
    cache = (now_ms, usage.total, usage.read, usage.written)
    session = replace(session, anchor=Anchor(usage.total, usage.version, usage.length, cache), blind=False)
    found = max(0, usage.total - whole(context_estimate(session, usage.length)))
    least = found if session.overhead is None else min(found, session.overhead)
    return replace(session, overhead=least, observed_limit=None)


def _learned(session: Session, usage: Usage) -> Session:
    report = Report(usage.total, 0, usage.output, usage.reasoned, inner_calls=session.blind)
    span_ = span(session, usage.length)
    state = observe(session.start.state, measures(session), report, span_)
    return replace(session, start=replace(session.start, state=state))
