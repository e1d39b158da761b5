"""The application: hot calls as plain routes, everything else as FastAPI's, one OpenAPI document for all."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from precompact_api import metrics
from precompact_api.edge import Edge, told
from precompact_api.openapi import describe
from precompact_api.problems import Code, Problem
from precompact_api.routes import (
    compaction,
    compactions,
    history,
    hot,
    probes,
    rewriting,
    sessions,
    sight,
    tenants,
    usage,
)
from precompact_api.service import Service
from precompact_shared.engine.tokens import warm_up
from precompact_shared.logging import configure_logging
from precompact_shared.settings import Settings, load_settings

_BY_STATUS = {404: Code.NOT_FOUND, 405: Code.METHOD_NOT_ALLOWED}


def create_app(settings: Settings) -> Edge:
    """The ASGI application for these settings; it connects when it is started. `.app` is the FastAPI inside."""
    service = Service(settings)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        warm_up()
        await service.open()
        yield
        await service.close()

    app = FastAPI(
        title="precompact",
        version="1",
        summary="Compaction of agent conversations, done before it is needed.",
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        redirect_slashes=False,
    )
    hot_calls = hot.hot_calls(service)
    for name, call in hot_calls.items():
        app.add_route(f"{hot.PREFIX}{{session}}/{name}", hot.as_route(call), methods=["POST"])
    for module in (sessions, rewriting, compaction, compactions, sight, history, tenants, usage, probes):
        app.include_router(module.routes(service))
    app.add_exception_handler(Problem, _problem)
    app.add_exception_handler(Exception, _unexpected)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(RequestValidationError, _invalid)
    describe(app)
    return Edge(app, hot.PREFIX, hot_calls)


def build() -> Edge:
    """The application for the environment's settings; uvicorn calls it in each of its processes."""
    settings = load_settings()
    configure_logging(process="api", level=settings.log_level, log_format=settings.log_format)
    return create_app(settings)


def _told(problem: Problem) -> Response:
    metrics.PROBLEMS.labels(problem.code.value).inc()
    return problem.response()


async def _problem(_request: Request, error: Exception) -> Response:
    return _told(error if isinstance(error, Problem) else Problem(Code.INTERNAL))


async def _unexpected(_request: Request, error: Exception) -> Response:
    return told(error)


async def _http(_request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    return _told(Problem(_BY_STATUS.get(status, Code.INVALID_REQUEST)))


async def _invalid(_request: Request, error: Exception) -> Response:
    found = error.errors() if isinstance(error, RequestValidationError) else []
    where = ".".join(str(part) for part in found[0]["loc"]) if found else "$"
    return _told(Problem(Code.INVALID_REQUEST, where=where))
