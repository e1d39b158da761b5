"""What a session holds of checkpoints, candidates, decisions and jobs: ids and numbers, no text."""

from __future__ import annotations

import msgspec
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from precompact_api.answers import session_answer
from precompact_api.auth import SIGHT
from precompact_api.routes.calls import session_call
from precompact_api.service import Service
from precompact_shared.store import reading
from precompact_shared.store.types import JobTag


def routes(service: Service) -> APIRouter:
    """The router."""
    router = APIRouter(tags=["sight"])

    @router.get("/v1/sessions/{session}/checkpoints", summary="The chain of checkpoints, oldest first")
    async def list_checkpoints(session: str, request: Request) -> Response:
        call = await session_call(service, request, session, SIGHT)
        view = await call.view()
        chain = await service.read(reading.checkpoints(call.keys))
        return session_answer(view, {"checkpoints": chain})

    @router.get("/v1/sessions/{session}/candidates", summary="Candidates, open and lately closed")
    async def list_candidates(session: str, request: Request) -> Response:
        call = await session_call(service, request, session, SIGHT)
        view = await call.view()
        return session_answer(view, {"candidates": await service.read(reading.candidates(call.keys))})

    @router.get(
        "/v1/sessions/{session}/decisions", summary="The last decisions with their facts, newest first"
    )
    async def list_decisions(session: str, request: Request) -> Response:
        call = await session_call(service, request, session, SIGHT)
        view = await call.view()
        return session_answer(view, {"decisions": await service.read(reading.decisions(call.keys))})

    @router.get("/v1/sessions/{session}/jobs", summary="The ledger's records, oldest first")
    async def list_jobs(session: str, request: Request) -> Response:
        call = await session_call(service, request, session, SIGHT)
        view = await call.view()
        jobs = [_without_focus(job) for job in await service.read(reading.jobs(call.keys))]
        return session_answer(view, {"jobs": jobs})

    return router


def _without_focus(job: JobTag) -> JobTag:
    """What a user asked to keep is text of the conversation, not sight."""
    return msgspec.structs.replace(job, focus=None)
