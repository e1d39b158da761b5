"""Compaction by hand: adopt, decline, compact, revert."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path
from starlette.requests import Request
from starlette.responses import Response

from precompact_api.adoption import Attempt, Terms, adopt, open_candidates
from precompact_api.answers import answer, etag, if_match, preferred_wait_s, session_answer
from precompact_api.bodies import AdoptBody, CompactBody, DeclineBody, EmptyBody
from precompact_api.cutting import preview
from precompact_api.jobs import claim
from precompact_api.prepare import Settled, Status, candidate_facts, state
from precompact_api.problems import Code, Problem, refusal
from precompact_api.routes.calls import SessionCall, read_as, session_call
from precompact_api.service import Service
from precompact_api.sizing import size_up
from precompact_shared.clock import monotonic_s
from precompact_shared.store import reading
from precompact_shared.store.types import CandidateTag, JobKind, Seen, SessionView


def routes(service: Service) -> APIRouter:
    """The router."""
    router = APIRouter(tags=["compaction"])

    @router.post("/v1/sessions/{session}/adopt", summary="Adopt a prepared compaction now")
    async def adopt_candidate(session: str, request: Request) -> Response:
        call = await session_call(service, request, session)
        body, _ = await read_as(service, request, AdoptBody)
        attempt = await _adopt(call, body.candidate, if_match(request))
        settled = Settled(Status.ADOPTED, attempt.view, attempt.reason)
        stated = await state(service, call.caller, settled, size_up(call.caller, attempt.view))
        view = attempt.view
        return Response(stated, 200, etag(view.version, view.length), "application/json")

    @router.post("/v1/sessions/{session}/decline", summary="Refuse a prepared compaction for good")
    async def decline_candidate(session: str, request: Request) -> Response:
        call = await session_call(service, request, session)
        body, _ = await read_as(service, request, DeclineBody)
        closed = await service.run(call.ops.close(body.candidate, "declined"))
        if closed.view is None:
            raise refusal(closed)
        if closed.o != "closed" and closed.reason != "declined":
            raise Problem(Code.CANDIDATE_REFUSED, reason=closed.reason or "unknown")
        return session_answer(
            closed.view, {"candidate": body.candidate, "state": "closed", "reason": "declined"}
        )

    @router.post("/v1/sessions/{session}/compact", status_code=202, summary="Ask for a compaction now")
    async def compact_session(session: str, request: Request) -> Response:
        call = await session_call(service, request, session)
        body, _ = await read_as(service, request, CompactBody)
        if body.dry_run:
            view = await call.view()
            return session_answer(view, await preview(service, call.caller, view, body.upto))
        return await _compact(call, body, preferred_wait_s(request))

    @router.post("/v1/sessions/{session}/checkpoints/{n}/revert", summary="Take the newest checkpoint back")
    async def revert_checkpoint(
        session: str, request: Request, n: Annotated[int, Path(ge=1, le=2**31)]
    ) -> Response:
        call = await session_call(service, request, session)
        await read_as(service, request, EmptyBody)
        done = await service.run(call.ops.revert(n, req=f"revert:{n}"))
        if done.o != "reverted":
            raise refusal(done)
        facts = {
            "length": done.length,
            "history_version": done.version,
            "head": done.head,
            "popped": done.popped,
        }
        return answer(facts, 200, etag(done.version, done.length))

    return router


async def _adopt(call: SessionCall, cid: str | None, expected: Seen | None) -> Attempt:
    view = await call.view()
    if view.checkpoint is not None and (cid == view.checkpoint or _is_retry(cid, view, expected)):
        return Attempt(adopted=True, reason="already", view=view)
    if expected is not None and (expected.version, expected.length) != (view.version, view.length):
        reason = "version_changed" if expected.version != view.version else "length_moved"
        raise Problem(Code.CANDIDATE_REFUSED, reason=reason, history_version=view.version, length=view.length)
    sizing = size_up(call.caller, view)
    terms = Terms(
        caller=call.caller,
        limits=sizing.limits,
        window=sizing.window,
        requested=True,
        follows=expected is None,
    )
    attempt = await adopt(call.service, view, await _find(call, view, cid), terms)
    if not attempt.adopted:
        now = attempt.view
        raise Problem(
            Code.CANDIDATE_REFUSED, reason=attempt.reason, history_version=now.version, length=now.length
        )
    return attempt


def _is_retry(cid: str | None, view: SessionView, expected: Seen | None) -> bool:
    """The same call again: it named no candidate and the state right before the adoption."""
    return cid is None and expected is not None and expected.version == view.cp_at - 1 == view.version - 1


async def _find(call: SessionCall, view: SessionView, cid: str | None) -> CandidateTag:
    usable = open_candidates(view, floors=False)
    found = next((tag for tag in usable if cid in {None, tag.cid}), None)
    if found is not None:
        return found
    if cid is None:
        raise Problem(Code.CANDIDATE_REFUSED, reason="no_candidate", history_version=view.version)
    known = {tag.cid: tag for tag in await call.service.read(reading.candidates(call.keys))}
    reason = (known[cid].reason or known[cid].slot.value) if cid in known else "unknown"
    raise Problem(Code.CANDIDATE_REFUSED, reason=reason, history_version=view.version, length=view.length)


async def _compact(call: SessionCall, body: CompactBody, wait_s: float) -> Response:
    view = await call.view()
    sizing = size_up(call.caller, view)
    terms = Terms(caller=call.caller, limits=sizing.limits, window=sizing.window)
    extra = {name: at for name, at in (("from", body.start), ("upto", body.upto)) if at is not None}
    if any(at > view.length for at in extra.values()):
        raise Problem(Code.HISTORY_GAP, length=view.length, history_version=view.version)
    claimed = await claim(call.service, view, terms, kind=JobKind.MANUAL, focus=body.focus, extra=extra)
    if claimed.o == "in_flight":
        raise Problem(Code.IN_FLIGHT, job=claimed.jid)
    if claimed.jid is None:
        raise Problem(Code.CANDIDATE_REFUSED, reason=claimed.o) if claimed.view else refusal(claimed)
    job, candidate = await _follow(call, claimed.jid, wait_s)
    facts = {"job": job, "candidate": candidate}
    return session_answer(claimed.view or view, facts, 200 if job["state"] in _ENDED else 202)


_ENDED = frozenset({"done", "dead", "cancelled"})


async def _follow(call: SessionCall, jid: str, wait_s: float) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """The job as it stands, or as it ended within `wait_s`, with its candidate."""
    until_s = monotonic_s() + wait_s
    async with call.service.waiting.watch(call.caller.name, call.session) as watch:
        while True:
            job = await call.service.read(reading.job(call.keys, jid))
            left_s = until_s - monotonic_s()
            if job is None or not job.is_live or left_s <= 0:
                break
            await watch.next(left_s)
    facts = {"id": jid, "kind": JobKind.MANUAL.value, "state": job.state.value if job else "cancelled"}
    facts |= {"reason": job.reason} if job is not None and job.reason else {}
    made = [tag for tag in await call.service.read(reading.candidates(call.keys)) if tag.job == jid]
    full = [tag for tag in made if tag.slot.value != "floor"]
    return facts, candidate_facts(full[-1]) if full else None
