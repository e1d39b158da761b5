"""I7: with jobs that succeed, a session at its limit is compacted within one job time, wherever it stands."""

from __future__ import annotations

from precompact_shared.store.ops import Announcement
from precompact_shared.store.types import JobTag
from tests.property.both import LEASE_MS, Both
from tests.property.compare import Differs
from tests.property.invariants import Truth, check, source_of
from tests.property.making import body_of, candidate_tag

ROUNDS = 3
"""The job that was live already, and at most one more for what it could not cover."""


def drain(both: Both, truth: Truth | None) -> int:
    """Plays scheduler, worker and `prepare` until the whole history is compacted; 1 if there was anything to do."""
    if both.facts.view is None or both.view.upto == both.view.length:
        return 0
    goal = both.view.length
    for turn in range(ROUNDS):
        both.now_ms += 2 * LEASE_MS
        job = _job(both, f"drain{turn}")
        if job:
            _run(both, job, goal)
        _adopt_all(both, truth)
        check(both, truth)
        if both.view.upto == goal:
            return 1
    raise Differs(
        f"I7: after {ROUNDS} jobs that succeeded the session is compacted to {both.view.upto} of {goal}"
    )


def _job(both: Both, jid: str) -> JobTag | None:
    """The live job, or a new one for the limit that was reached."""
    if both.view.job:
        both.due(both.view.job.jid)
    if not both.view.job:
        both.claim(jid, "due", version=both.view.version)
    job = both.view.job
    if job and job.state in ("ready", "queued"):
        both.queued(job.jid)
    return both.start(job.jid).job if job else None


def _run(both: Both, job: JobTag, goal: int) -> None:
    base = both.facts.tags.get(job.base or "")
    is_open = base is not None and base.state == "open"
    upto = base.upto if base is not None and is_open else both.view.upto
    key = job.base if is_open else f"cp:{both.view.checkpoint}"
    source = source_of(both.facts.texts.get(key or ""))[:upto]
    source += [meta.digest[:12] for meta in both.facts.metas[upto:goal]]
    prefix = both.facts.metas[goal - 1].chain
    both.beat(job.jid, job.fence, Announcement(goal, prefix))
    both.put(job.jid, job.fence, candidate_tag(f"c{job.jid}.{job.fence}", goal, prefix), source)


def _adopt_all(both: Both, truth: Truth | None) -> None:
    """At the limit the candidate that covers most is adopted, whatever manual job lives."""
    ready = sorted(both.view.candidates, key=lambda tag: tag.upto)
    if ready:
        before = both.view
        answer = both.adopt(ready[-1].cid, version=before.version, length=before.length, forced=True)
        if truth and answer.o == "adopted":
            truth.adopt(before.incarnation, before.version)


__all__ = ["body_of", "drain"]
