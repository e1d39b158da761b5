"""Probes and metrics: no key needed, no text shown."""

from __future__ import annotations

from fastapi import APIRouter
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.responses import Response

from precompact_api.answers import answer
from precompact_api.problems import Code, Problem
from precompact_api.service import Service


def routes(service: Service) -> APIRouter:
    """The router."""
    router = APIRouter(tags=["probes"])

    @router.get("/healthz", summary="The process runs")
    async def health() -> Response:
        return answer({"status": "ok"})

    @router.get("/readyz", summary="The store answers")
    async def readiness() -> Response:
        if not await service.is_ready():
            raise Problem(Code.UNAVAILABLE)
        return answer({"status": "ready"})

    if service.settings.metrics:

        @router.get("/metrics", summary="Prometheus metrics of this process")
        async def metrics() -> Response:
            return Response(generate_latest(), media_type=CONTENT_TYPE_LATEST)

    return router
