"""Whether the store and the twin say the same."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import msgspec

from precompact_shared.engine import versions as twin
from precompact_shared.engine.versions import values
from precompact_shared.store.types import Answer, CheckpointTag, JobTag, SessionView
from tests.property.facts import Facts
from tests.property.pure import pure_remembered

_ANSWER = (
    "o",
    "reason",
    "appended",
    "at",
    "common",
    "rewound",
    "replayed",
    "popped",
    "newest",
    "jid",
    "deadline_ms",
)
_VIEW = tuple(
    f.name
    for f in fields(values.View)
    if f.name not in {"candidates", "job", "open", "dead", "orphans", "agent_cache"}
)
_JOB = tuple(f.name for f in fields(values.Job) if f.name not in {"lease_until_ms", "ended_ms"})
_CANDIDATE = tuple(f.name for f in fields(values.Candidate))


class Differs(AssertionError):
    """The store and the twin disagree, or an invariant does not hold."""


def same_answer(answer: Answer, outcome: values.Outcome) -> None:
    """Outcome word, reason, numbers and, where both tell it, the job or record."""
    for name in _ANSWER:
        _equal(f"answer.{name}", getattr(answer, name), getattr(outcome, name))
    if (outcome.version, outcome.length) != (0, 0):
        _equal("answer.version", answer.version, outcome.version)
        _equal("answer.length", answer.length, outcome.length)
    if outcome.job:
        _same_job("answer.job", answer.job, outcome.job)
    if outcome.record:
        _equal(
            "answer.record",
            answer.record and (answer.record.cid, answer.record.n),
            (outcome.record.cid, outcome.record.n),
        )
    if outcome.o == "started":
        _equal("answer.base", answer.base and answer.base.cid, outcome.base and outcome.base.cid)
    if answer.view and outcome.view:
        _same_view("answer.view", answer.view, outcome.view)


def same_state(facts: Facts, state: twin.Known) -> None:
    """The whole session: view, entries, chain of checkpoints, candidates, ledger."""
    if not isinstance(state, twin.Session) or not state.visible:
        _equal("exists", facts.view, None)
        return
    if facts.view is None:
        raise Differs("the twin has a session, the store has none")
    _same_view("view", facts.view, twin.view(state))
    _same_calibration(facts, state)
    _equal("sides", [meta.side for meta in facts.metas], [entry.side.value[0] for entry in state.entries])
    _equal("digests", [meta.digest for meta in facts.metas], [entry.digest for entry in state.entries])
    _equal("pinned", [meta.pinned for meta in facts.metas], [entry.pinned for entry in state.entries])
    _equal("redacted", [meta.redacted for meta in facts.metas], [entry.redacted for entry in state.entries])
    _equal("chain", [_point(tag) for tag in facts.chain], [_pure_point(point) for point in state.checkpoints])
    for cid, tag in facts.tags.items():
        known = state.candidate(cid)
        if known is None:
            raise Differs(f"the store knows a candidate {cid} that the twin does not")
        _equal(f"candidate {cid}", (tag.state, tag.reason), (known.state, known.reason))
    for job in facts.jobs:
        pure = state.job(job.jid)
        _equal(
            f"job {job.jid}",
            (job.state, job.reason, job.fence),
            pure and (pure.state, pure.reason, pure.fence),
        )
    _equal("unhandled", facts.unhandled, state.unhandled)


def _same_calibration(facts: Facts, state: twin.Session) -> None:
    """To the last bit, on both sides the same doubles."""
    known = facts.remembered
    if known is None:
        raise Differs("the store has a session without a calibration")
    _equal("calibration", pure_remembered(known), state.start)
    _equal("blind", known.blind, state.blind)
    anchor = state.anchor
    _equal("anchor", (known.version, known.length), (anchor.version, anchor.length) if anchor else (0, 0))


def _point(tag: CheckpointTag) -> tuple[Any, ...]:
    end = tag.through if tag.edit_limit is None else min(tag.through, tag.edit_limit)
    return (tag.cid, tag.n, tag.upto, end, tag.kind, tag.adopted_version)


def _pure_point(point: values.Checkpoint) -> tuple[Any, ...]:
    return (point.cid, point.n, point.upto, point.edits_end, point.kind, point.adopted_version)


def _same_view(where: str, real: SessionView, pure: values.View) -> None:
    for name in _VIEW:
        _equal(f"{where}.{name}", getattr(real, name), getattr(pure, name))
    for name in ("open", "dead", "orphans"):
        _equal(f"{where}.{name}", sorted(tuple(x) for x in getattr(real, name)), sorted(getattr(pure, name)))
    _equal(f"{where}.candidates", [c.cid for c in real.candidates], [c.cid for c in pure.candidates])
    for tag, candidate in zip(real.candidates, pure.candidates, strict=True):
        for name in _CANDIDATE:
            _equal(f"{where}.{tag.cid}.{name}", getattr(tag, name), getattr(candidate, name))
    cache = real.agent_cache and msgspec.structs.astuple(real.agent_cache)
    _equal(f"{where}.agent_cache", cache, pure.agent_cache)
    _same_job(f"{where}.job", real.job, pure.job)


def _same_job(where: str, real: JobTag | None, pure: values.Job | None) -> None:
    if real is None or pure is None:
        _equal(where, real and real.jid, pure and pure.jid)
        return
    for name in _JOB:
        _equal(f"{where}.{name}", getattr(real, name), getattr(pure, name))
    if pure.state is values.State.RUNNING:
        _equal(f"{where}.lease_until_ms", real.lease_until_ms, pure.lease_until_ms)


def _equal(what: str, real: object, pure: object) -> None:
    if real != pure:
        raise Differs(f"{what}: the store says {real!r}, the twin says {pure!r}")
