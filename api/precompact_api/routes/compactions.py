"""Client-run compaction: the caller fetches a job's ready-made request, runs it with its own key, posts the reply."""

from __future__ import annotations

from typing import Any

import msgspec
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from precompact_api.answers import answer
from precompact_api.auth import identify
from precompact_api.bodies import ResultBody
from precompact_api.guards import session_id
from precompact_api.problems import Code, Problem, refusal
from precompact_api.routes.calls import SessionCall, read_as
from precompact_api.service import Service
from precompact_shared.engine.in_band import ON_DEMAND_BETA
from precompact_shared.engine.types import Format
from precompact_shared.store import codec, reading
from precompact_shared.store.types import JobTag


def routes(service: Service) -> APIRouter:
    """The router."""
    router = APIRouter(tags=["compaction"])

    @router.get("/v1/compactions/{job}", summary="A job, and the request it waits for the caller to run")
    async def show_compaction(job: str, request: Request) -> Response:
        call = await _call(service, request, job)
        found = await _job(call, job)
        stored = await service.read(reading.offered(call.keys, job)) if found.asks else None
        view = await call.view()
        asked = None if stored is None else _asked(str(found.asks), stored, view.format)
        facts = {
            "job": {"id": found.jid, "kind": found.kind.value, "state": found.state.value},
            "reason": found.reason,
            "format": view.format,
            "request": asked,
        }
        return answer(facts)

    @router.post(
        "/v1/compactions/{job}/result", status_code=202, summary="The provider's reply to that request"
    )
    async def post_result(job: str, request: Request) -> Response:
        call = await _call(service, request, job)
        body, _ = await read_as(service, request, ResultBody)
        done = await service.run(call.ops.deliver(job, body.request, codec.encode(bytes(body.reply))))
        if done.o == "skip":
            raise _refused(done.reason or "unknown")
        if done.o != "ok":
            raise refusal(done)
        return answer({"job": job, "request": body.request, "state": "taken"}, 202)

    return router


def _asked(request_id: str, body: bytes, wire: str) -> dict[str, Any]:
    """The request as the caller sends it: body, and the headers that it needs."""
    fields = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    is_compaction = wire == Format.ANTHROPIC and "compaction" in fields
    headers = {"anthropic-beta": ON_DEMAND_BETA} if is_compaction else {}
    return {"id": request_id, "headers": headers, "body": msgspec.Raw(body)}


async def _call(service: Service, request: Request, job: str) -> SessionCall:
    """The session that a job's id names, if it is one of the caller's tenant."""
    caller = await identify(service, request)
    parts = job.split(":")
    if len(parts) < 5 or parts[0] != caller.name:
        raise Problem(Code.JOB_NOT_FOUND)
    return SessionCall(service, caller, session_id(":".join(parts[1:-3])))


async def _job(call: SessionCall, job: str) -> JobTag:
    found = await call.service.read(reading.job(call.keys, job))
    if found is None:
        raise Problem(Code.JOB_NOT_FOUND)
    return found


def _refused(reason: str) -> Problem:
    return (
        Problem(Code.JOB_NOT_FOUND) if reason == "unknown" else Problem(Code.JOB_NOT_WAITING, reason=reason)
    )
