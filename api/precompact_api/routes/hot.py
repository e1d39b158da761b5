"""The two calls every model call makes, as plain routes: bytes in, one call of the store, bytes out."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from precompact_api import metrics
from precompact_api.answers import JSON, etag, session_answer
from precompact_api.auth import identify
from precompact_api.bodies import AppendBody, PrepareBody
from precompact_api.edge import HotCall
from precompact_api.guards import idempotency_key, parse, read_body, session_id
from precompact_api.prepare import prepare
from precompact_api.recording import Incoming, as_prepare, record, request_hash
from precompact_api.service import Service
from precompact_shared.clock import monotonic_s

Decoder = msgspec.json.Decoder[Any]
_prepare: Decoder = msgspec.json.Decoder(PrepareBody)
_append: Decoder = msgspec.json.Decoder(AppendBody)


PREFIX = "/v1/sessions/"


def hot_calls(service: Service) -> dict[str, HotCall]:
    """The hot calls by the last part of their path, `/v1/sessions/{session}/<name>`; all are POST."""

    async def prepare_session(request: Request, session: str) -> Response:
        begun_s = monotonic_s()
        call = await _incoming(service, request, session, _prepare)
        view, body, settled = await prepare(service, call)
        metrics.PREPARES.labels(settled.value).inc()
        metrics.PREPARE_SECONDS.observe(monotonic_s() - begun_s)
        return Response(body, 200, etag(view.version, view.length), JSON)

    async def append_messages(request: Request, session: str) -> Response:
        begun_s = monotonic_s()
        call = await _incoming(service, request, session, _append)
        recorded = await record(service, call)
        view = recorded.view
        metrics.APPENDED.inc(recorded.appended)
        metrics.APPEND_SECONDS.observe(monotonic_s() - begun_s)
        answer = {
            "length": view.length,
            "history_version": view.version,
            "head": view.head,
            "appended": recorded.appended,
            "tokens": view.tokens,
        }
        return session_answer(view, answer)

    return {"prepare": prepare_session, "messages": append_messages}


def as_route(call: HotCall) -> Callable[[Request], Awaitable[Response]]:
    """The call as a plain route's handler."""

    async def handle(request: Request) -> Response:
        return await call(request, request.path_params["session"])

    return handle


async def _incoming(
    service: Service,
    request: Request,
    name: str,
    decoder: Decoder,
) -> Incoming:
    caller = await identify(service, request)
    session = session_id(name)
    settings = service.settings
    raw = await read_body(request, settings.body_limit_bytes)
    body: PrepareBody | AppendBody = parse(decoder, raw, nesting_limit=settings.nesting_limit)
    return Incoming(
        caller=caller,
        session=session,
        body=as_prepare(body) if isinstance(body, AppendBody) else body,
        size_bytes=len(raw),
        req=request_hash(raw) if isinstance(body, PrepareBody) and body.view is not None else "",
        key=idempotency_key(request),
    )
