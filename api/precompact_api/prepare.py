"""The one call before each model call: take down, size up, adopt when it pays, state the context."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import msgspec

from precompact_api.adoption import Attempt, Terms, adopt_best, open_candidates
from precompact_api.auth import Caller
from precompact_api.bodies import Adopt
from precompact_api.context import Projection, project, render, statement
from precompact_api.jobs import fresh_view, join_or_claim, wait_and_adopt
from precompact_api.prefixes import Told, keep_prefix, known_prefix
from precompact_api.problems import Code, Problem
from precompact_api.recording import Incoming, Recorded, record
from precompact_api.service import Service
from precompact_api.sizing import Held, advice, size_up
from precompact_shared.engine.gates import Defer, Mode
from precompact_shared.engine.in_band import Needs, request_needs
from precompact_shared.engine.types import Format
from precompact_shared.store.types import CandidateTag, JobTag, SessionView

JOBS_IN_A_ROW = 3
"""One may have begun before the entries that fill the window came."""


class Status(StrEnum):
    """How the context came about (design rule 13)."""

    FITS = "fits"
    ADOPTED = "adopted"
    WAITED = "waited"
    REDUCED = "reduced"
    OVERFLOW = "overflow"


@dataclass(frozen=True, slots=True)
class Settled:
    """What was decided about the compaction."""

    status: Status
    view: SessionView
    reason: str
    blocked_s: float = 0.0


async def prepare(service: Service, call: Incoming) -> tuple[SessionView, bytes, Status]:
    """Answers one prepare: the view it speaks of, the body, the status. Raises Problem."""
    recorded, prefix = await _take_down(service, call)
    view, body = recorded.view, call.body
    sizing = size_up(call.caller, view)
    if recorded.at is not None and recorded.at != view.length:
        raise diverged(view, recorded.at)
    terms = Terms(
        caller=call.caller,
        limits=sizing.limits,
        window=sizing.window,
        marks=body.open_calls,
        is_prefix_unknown=prefix.is_unknown,
        overflow=body.overflow,
        follows=body.seen is None and body.view is None,
    )
    settled = await settle(service, recorded, terms, body.adopt, body.wait)
    wish: dict[str, Any] = {"have": body.have, "rendered": body.render, "marks": body.open_calls}
    wish["prefix"] = prefix
    try:
        answer = await state(service, call.caller, settled, sizing, **wish)
    except Problem as problem:
        if problem.code is not Code.CHECKPOINT_ERASED:
            raise
        # Somebody rewound or reverted in between: state what projects now.
        settled = replace(settled, view=await fresh_view(service, settled.view))
        if recorded.at is not None and recorded.at != settled.view.length:
            raise diverged(settled.view, recorded.at) from None
        answer = await state(service, call.caller, settled, sizing, **wish)
    return settled.view, answer, settled.status


async def _take_down(service: Service, call: Incoming) -> tuple[Recorded, Told]:
    """Entries, and the prefix if one is named; what is known of it is looked up meanwhile."""
    prefix = call.body.prefix
    if prefix is None:
        return await record(service, call), Told()
    recorded, known = await asyncio.gather(
        record(service, call), known_prefix(service, call.caller.name, call.session)
    )
    return recorded, await keep_prefix(service, recorded.view, prefix, known)


def diverged(view: SessionView, common: int) -> Problem:
    """The caller's list lacks entries that others added."""
    return Problem(Code.HISTORY_DIVERGED, common=common, length=view.length, history_version=view.version)


async def settle(service: Service, recorded: Recorded, terms: Terms, adopt: Adopt, wait_s: float) -> Settled:
    """Adopts what is ready when the limit is reached; at `hard` and on overflow waits, then takes the floor."""
    view = recorded.view
    mode = terms.mode(view)
    if mode is Mode.BELOW_LIMIT and not (terms.cache_cold(view) and open_candidates(view, floors=False)):
        return Settled(Status.FITS, view, _why_idle(view, terms))
    pressing = mode in (Mode.HARD, Mode.OVERFLOW)
    if adopt is not Adopt.AUTO or recorded.at is None:
        return await _leave(service, view, terms, adopt, pressing=pressing)
    attempt = await adopt_best(service, view, replace(terms, wait_spent=wait_s <= 0))
    if attempt.adopted:
        return Settled(Status.ADOPTED, attempt.view, attempt.reason)
    if attempt.moved:
        raise diverged(attempt.view, view.length)
    if pressing:
        return await _press(service, attempt, terms, wait_s)
    if wait_s > 0 and attempt.reason == "manual_running":
        return await _wait_for_manual(service, attempt, terms, wait_s)
    return Settled(Status.FITS, attempt.view, attempt.reason)


def _why_idle(view: SessionView, terms: Terms) -> str:
    if terms.caller.tenant.policy.paused:
        return "paused"
    return "candidate_ready" if open_candidates(view, floors=False) else "below_limit"


async def _leave(
    service: Service, view: SessionView, terms: Terms, adopt: Adopt, *, pressing: bool
) -> Settled:
    """Nothing is adopted by itself; but at `hard` something always runs."""
    if pressing and adopt is not Adopt.NEVER and not open_candidates(view, floors=False):
        view = await join_or_claim(service, view, terms)
    reason = {Adopt.OFFER: "offered", Adopt.NEVER: "adopt_never"}.get(adopt, "seen_missing")
    return Settled(Status.OVERFLOW if pressing else Status.FITS, view, reason)


async def _press(service: Service, attempt: Attempt, terms: Terms, wait_s: float) -> Settled:
    """At the hard limit: join the live job or claim one, wait as long as allowed, then the floor, else overflow."""
    length = attempt.view.length
    attempt, blocked_s = await _join(service, attempt, terms, wait_s)
    if not attempt.adopted and not attempt.moved:
        floor = await adopt_best(service, attempt.view, terms, floors=True)
        if floor.adopted:
            return Settled(Status.REDUCED, floor.view, floor.reason, blocked_s)
        attempt = floor if floor.moved or floor.reason != "no_candidate" else attempt
    if attempt.adopted:
        status = Status.WAITED if wait_s > 0 else Status.ADOPTED
        return Settled(status, attempt.view, attempt.reason, blocked_s)
    if attempt.moved:
        raise diverged(attempt.view, length)
    return Settled(Status.OVERFLOW, attempt.view, attempt.reason, blocked_s)


async def _join(service: Service, attempt: Attempt, terms: Terms, wait_s: float) -> tuple[Attempt, float]:
    """Sees to it that a job runs, where one can help, and waits for it; a second one when the first knew too little."""
    blocked_s = 0.0
    for _ in range(JOBS_IN_A_ROW):
        if not _job_helps(attempt):
            break
        attempt = replace(attempt, view=await join_or_claim(service, attempt.view, terms))
        if blocked_s >= wait_s:
            break
        patient = replace(terms, wait_spent=False)
        attempt, spent_s = await wait_and_adopt(service, attempt.view, patient, wait_s - blocked_s)
        blocked_s += spent_s
        if attempt.adopted or attempt.moved:
            return attempt, blocked_s
        if attempt.reason != Defer.DOES_NOT_FIT:
            break
    return (await adopt_best(service, attempt.view, terms) if wait_s > 0 else attempt), blocked_s


def _job_helps(attempt: Attempt) -> bool:
    """Whether another job could bring what the open candidate does not."""
    if attempt.reason == Defer.OPEN_CALL:  # it waits for a result
        return False
    if attempt.reason != Defer.DOES_NOT_FIT:
        return True
    made_of_all = [
        tag.length_at_snapshot >= attempt.view.length for tag in open_candidates(attempt.view, floors=False)
    ]
    return not any(made_of_all)


async def _wait_for_manual(service: Service, attempt: Attempt, terms: Terms, wait_s: float) -> Settled:
    """A manual job goes before a ready candidate, as long as the caller would wait."""
    length = attempt.view.length
    attempt, blocked_s = await wait_and_adopt(service, attempt.view, replace(terms, wait_spent=False), wait_s)
    if not attempt.adopted and not attempt.moved:
        attempt = await adopt_best(service, attempt.view, terms)
    if attempt.moved:
        raise diverged(attempt.view, length)
    status = Status.WAITED if attempt.adopted else Status.FITS
    return Settled(status, attempt.view, attempt.reason, blocked_s)


async def state(
    service: Service,
    caller: Caller,
    settled: Settled,
    sizing: Held,
    *,
    have: str | None = None,
    rendered: bool = False,
    marks: Mapping[str, str] | None = None,
    prefix: Told | None = None,
) -> bytes:
    """The answer: a full statement of the context, and what goes on about it."""
    view = settled.view
    projection = await project(service, view, have=have, marks=marks or {}, whole=rendered)
    context = statement(projection, view, limits=sizing.limits, window=sizing.window)
    if rendered:
        context["messages"] = await render(service, view, projection, view.length)
        if have is not None and have == view.checkpoint:
            context.pop("insert", None)
    answer: dict[str, Any] = {
        "status": settled.status.value,
        "length": view.length,
        "history_version": view.version,
        "head": view.head,
        "context": context,
        "compaction": compaction(caller, settled, sizing, prefix.advice if prefix else ()),
        "request": _needs(caller, view, projection, sizing),
    }
    if prefix is not None and prefix.digest is not None:
        answer["prefix"] = prefix.digest
    return msgspec.json.encode(answer)


def _needs(caller: Caller, view: SessionView, projection: Projection, sizing: Held) -> Needs:
    limits, wanted = sizing.limits, caller.tenant.policy.in_band
    return request_needs(
        Format(view.format), wanted, limit=limits.limit, hard=limits.hard, has_block=projection.native
    )


def compaction(caller: Caller, settled: Settled, sizing: Held, told: tuple[str, ...] = ()) -> dict[str, Any]:
    """What goes on about the context's size."""
    view = settled.view
    ready = open_candidates(view, floors=False)
    job = view.job if view.job is not None and view.job.is_live else None
    return {
        "state": _state(caller, settled, ready, job),
        "reason": settled.reason,
        "generation": view.checkpoint_n,
        "job": None
        if job is None
        else {"id": job.jid, "kind": job.kind.value, "state": job.state.value, "asks": job.asks},
        "candidate": candidate_facts(ready[0]) if ready else None,
        "advice": [*advice(view, sizing), *told],
        "blocked_s": round(settled.blocked_s, 3),
    }


def _state(caller: Caller, settled: Settled, ready: list[CandidateTag], job: JobTag | None) -> str:
    if settled.status in {Status.ADOPTED, Status.WAITED, Status.REDUCED}:
        return "adopted"
    if ready:
        return "ready"
    if job is not None:
        return "preparing"
    return "paused" if caller.tenant.policy.paused else "idle"


def candidate_facts(tag: CandidateTag) -> dict[str, Any]:
    """What a caller may know of a candidate."""
    return {
        "id": tag.cid,
        "upto": tag.upto,
        "tokens_before": tag.tokens_before,
        "tokens_after": tag.tokens_after,
    }
