"""Sessions: make, look at, fork, delete."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from precompact_api.answers import session_answer
from precompact_api.auth import SIGHT, Caller, identify
from precompact_api.bodies import CreateBody, ForkBody
from precompact_api.forking import fork
from precompact_api.prepare import candidate_facts
from precompact_api.problems import Code, Problem, refusal
from precompact_api.routes.calls import read_as, session_call
from precompact_api.service import Known, Service
from precompact_shared.engine.types import Format
from precompact_shared.store import Create
from precompact_shared.store.types import SessionView


def session_facts(caller: Caller, view: SessionView) -> dict[str, Any]:
    """A session in ids and numbers."""
    sizing = caller.tenant.sizing(view.model, view.window, view.max_output, view.observed_limit)
    limits = sizing.limits if sizing else None
    job = view.job if view.job is not None and view.job.is_live else None
    return {
        "id": view.session,
        "format": view.format,
        "model": view.model,
        "window": view.window,
        "max_output": view.max_output,
        "parent": view.parent,
        "history_version": view.version,
        "rewritten_at": view.rewritten_at,
        "length": view.length,
        "head": view.head,
        "tokens": view.tokens,
        "history_tokens": view.history_tokens,
        "source": "usage" if view.anchored else "estimate",
        "spread": view.spread,
        "limit": limits.limit if limits else None,
        "hard": limits.hard if limits else None,
        "checkpoint": view.checkpoint,
        "generation": view.checkpoint_n,
        "upto": view.upto,
        "open_calls": len(view.open),
        "growth_tokens_per_s": view.growth_tokens_per_s,
        "last_at_ms": view.last_at_ms,
        "entry_bytes": view.entry_bytes,
        "job": None if job is None else {"id": job.jid, "kind": job.kind.value, "state": job.state.value},
        "candidates": [candidate_facts(tag) | {"slot": tag.slot.value} for tag in view.candidates],
    }


def routes(service: Service) -> APIRouter:
    """The router."""
    router = APIRouter(tags=["sessions"])

    @router.post("/v1/sessions", summary="Create a session under the caller's own id")
    async def create_session(request: Request) -> Response:
        caller = await identify(service, request)
        body, _ = await read_as(service, request, CreateBody)
        if caller.tenant.sizing(body.model, body.window, body.max_output) is None:
            raise Problem(Code.WINDOW_UNKNOWN)
        spec = Create(body.format.value, body.model, body.window, body.max_output, body.parent)
        start = caller.tenant.start(body.format, body.model)
        made = await service.run(
            service.ops(caller.name, body.id).create(spec, recreate=body.recreate, start=start)
        )
        if made.view is None:
            raise refusal(made)
        service.known.put((caller.name, body.id), Known(Format(made.view.format), made.view.model))
        return session_answer(
            made.view, session_facts(caller, made.view), 201 if made.o == "created" else 200
        )

    @router.get("/v1/sessions/{session}", summary="A session in ids and numbers")
    async def show_session(session: str, request: Request) -> Response:
        call = await session_call(service, request, session, SIGHT)
        view = await call.view()
        return session_answer(view, session_facts(call.caller, view))

    @router.delete("/v1/sessions/{session}", status_code=204, summary="Delete a session with all it holds")
    async def delete_session(session: str, request: Request) -> Response:
        call = await session_call(service, request, session)
        gone = await service.run(call.ops.delete())
        service.known.forget((call.caller.name, session))
        if gone.o != "deleted":
            raise refusal(gone)
        return Response(status_code=204)

    @router.post("/v1/sessions/{session}/fork", status_code=201, summary="Copy a session up to a point")
    async def fork_session(session: str, request: Request) -> Response:
        call = await session_call(service, request, session)
        body, _ = await read_as(service, request, ForkBody)
        if body.id == session:
            raise Problem(Code.INVALID_REQUEST, where="$.id")
        view, made = await fork(service, await call.view(), body.id, body.to)
        return session_answer(view, session_facts(call.caller, view), 201 if made else 200)

    return router
