"""The two calls every model call makes, as plain routes: bytes in, one call of the store, bytes out."""

from __future__ import annotations

from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from precompact_api import metrics
from precompact_api.answers import JSON, etag, session_answer
from precompact_api.auth import identify
from precompact_api.bodies import AppendBody, PrepareBody
from precompact_api.guards import idempotency_key, parse, read_body, session_id
from precompact_api.prepare import prepare
from precompact_api.recording import Incoming, as_prepare, record, request_hash
from precompact_api.service import Service
from precompact_shared.clock import monotonic_s

Decoder = msgspec.json.Decoder[Any]
_prepare: Decoder = msgspec.json.Decoder(PrepareBody)
_append: Decoder = msgspec.json.Decoder(AppendBody)


def hot_routes(service: Service) -> list[tuple[str, Any]]:
    """Path and handler of each hot call; all are POST."""

    async def prepare_session(request: Request) -> Response:
        begun_s = monotonic_s()
        call = await _incoming(service, request, _prepare)
        view, body, settled = await prepare(service, call)
        metrics.PREPARES.labels(settled.value).inc()
        metrics.PREPARE_SECONDS.observe(monotonic_s() - begun_s)
        return Response(body, 200, etag(view.version, view.length), JSON)

    async def append_messages(request: Request) -> Response:
        begun_s = monotonic_s()
        call = await _incoming(service, request, _append)
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

    return [
        ("/v1/sessions/{session}/prepare", prepare_session),
        ("/v1/sessions/{session}/messages", append_messages),
    ]


async def _incoming(
    service: Service,
    request: Request,
    decoder: Decoder,
) -> Incoming:
    caller = await identify(service, request)
    session = session_id(request.path_params["session"])
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
