"""The ASGI application: reads a request, lets it in, has it answered by its protocol, and sends what comes of it."""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from precompact_standin import anthropic, openai
from precompact_standin.answers import Answer, as_json
from precompact_standin.aws import errors as aws_errors
from precompact_standin.aws.invoke import invoke, invoke_stream
from precompact_standin.aws.signature import Target, is_signed, read_signature
from precompact_standin.control import control_routes
from precompact_standin.delivery import ABORT, Delivery
from precompact_standin.faults import ON_THE_WAY
from precompact_standin.refusal import Refusal
from precompact_standin.requestlog import outline
from precompact_standin.scenario import Scenario
from precompact_standin.state import Call, State

MAX_BODY_BYTES = 32 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Protocol:
    """How one family of endpoints writes errors and reads keys."""

    refused: Callable[[Refusal, str], Answer]
    faulty: Callable[[Any, str], Answer | None]
    key: Callable[[Mapping[str, str]], str]
    id_header: str


ANTHROPIC = Protocol(anthropic.refused, anthropic.faulty, anthropic.key_of, "request-id")
BEDROCK = Protocol(aws_errors.refused, aws_errors.faulty, anthropic.key_of, aws_errors.ID_HEADER)
OPENAI = Protocol(openai.refused, openai.faulty, openai.key_of, "x-request-id")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One path, its protocol and what answers it. `generates`: uses up the script. `also`: other platforms' paths."""

    path: str
    protocol: Protocol
    handle: Callable[[State, Call], Answer]
    generates: bool = True
    also: tuple[str, ...] = ()


ENDPOINTS = (
    Endpoint("/v1/messages", ANTHROPIC, anthropic.messages, also=("/anthropic/v1/messages",)),
    Endpoint(
        "/v1/messages/count_tokens",
        ANTHROPIC,
        anthropic.count_tokens,
        generates=False,
        also=("/anthropic/v1/messages/count_tokens",),
    ),
    Endpoint("/model/{model}/invoke", BEDROCK, invoke),
    Endpoint("/model/{model}/invoke-with-response-stream", BEDROCK, invoke_stream),
    Endpoint("/v1/responses", OPENAI, openai.responses, also=("/openai/v1/responses", "/openai/responses")),
    Endpoint(
        "/v1/responses/compact",
        OPENAI,
        openai.compact,
        also=("/openai/v1/responses/compact", "/openai/responses/compact"),
    ),
    Endpoint(
        "/v1/responses/input_tokens",
        OPENAI,
        openai.input_tokens,
        generates=False,
        also=("/openai/v1/responses/input_tokens", "/openai/responses/input_tokens"),
    ),
    Endpoint(
        "/v1/chat/completions",
        OPENAI,
        openai.chat,
        also=("/openai/v1/chat/completions", "/openai/deployments/{deployment}/chat/completions"),
    ),
)


VERSIONED = frozenset(
    {
        "/openai/responses",
        "/openai/responses/compact",
        "/openai/responses/input_tokens",
        "/openai/deployments/{deployment}/chat/completions",
    }
)
"""Azure's classic paths, which there are by `api-version` alone."""
_NO_RESOURCE = {"error": {"code": "404", "message": "Resource not found"}}


class StandIn:
    """The application. `state` is there for tests in the same process."""

    def __init__(self, scenario: Scenario, ranks: Path | None = None) -> None:
        self.state = State(scenario, ranks)
        self._routes = Starlette(
            routes=[
                *(self._route(one, path) for one in ENDPOINTS for path in (one.path, *one.also)),
                *control_routes(self.state),
            ]
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        scope[ABORT] = lambda: _reset(send)
        await self._routes(scope, receive, send)

    def _route(self, endpoint: Endpoint, path: str) -> Route:
        async def serve(request: Request) -> Delivery:
            raw_path = request.scope["raw_path"].partition(b"?")[0].decode()
            target = Target(request.method, raw_path, request.scope["query_string"].decode())
            if path in VERSIONED and "api-version" not in request.query_params:
                return Delivery(as_json(_NO_RESOURCE, status=404), self.state.scenario.pace)
            return self.serve(endpoint, request.headers, await request.body(), request.path_params, target)

        return Route(path, serve, methods=["POST"])

    def serve(
        self,
        endpoint: Endpoint,
        raw_headers: Mapping[str, str],
        content: bytes,
        named: Mapping[str, str] | None = None,
        target: Target | None = None,
    ) -> Delivery:
        """Answer one request; what comes back is an ASGI response that has not been sent yet."""
        state, protocol = self.state, endpoint.protocol
        headers = dict(raw_headers)
        target = target or Target(path=endpoint.path)
        entry = state.log.note("POST", endpoint.path, headers, len(content))
        entry["url"] = target.path
        request_id = entry["request_id"] = state.next_id("req")
        if any(target.path.endswith(path) for path in state.scenario.paths_off):
            entry["status"] = 404
            return Delivery(as_json({"detail": "Not Found"}, status=404), state.scenario.pace)
        fault = None
        try:
            fault, reply = state.deck.deal(endpoint.path, headers, generates=endpoint.generates)
            entry["fault"] = fault.kind if fault else None
            answer = protocol.faulty(fault, request_id) if fault else None
            if answer is None:
                body = _parsed(content)
                entry.update(outline(body))
                workspace = self._let_in(protocol, headers, content, target, entry)
                call = Call(
                    request_id, endpoint.path, headers, body, workspace, fault, reply, named or {}, entry
                )
                answer = endpoint.handle(state, call)
        except Refusal as refusal:
            entry["refusal"] = {"rule": refusal.rule, "code": refusal.code, "message": refusal.message}
            answer = protocol.refused(refusal, request_id)
        entry["status"] = answer.status
        on_the_way = fault if fault and fault.kind in ON_THE_WAY else None
        answer = answer.with_headers({protocol.id_header: request_id})
        return Delivery(answer, state.scenario.pace, on_the_way)

    def _let_in(
        self,
        protocol: Protocol,
        headers: Mapping[str, str],
        content: bytes,
        target: Target,
        entry: dict[str, Any],
    ) -> str:
        """The workspace of whoever asks: by key, or by signature. Raises a 401 or 403."""
        key = protocol.key(headers)
        if is_signed(headers):
            signed = read_signature(headers, content, target, self.state.scenario.signers)
            entry["signed"] = {"scope": signed.scope, "proven": signed.is_proven}
            key = signed.key
        workspace = self.state.workspace(key)
        if workspace is None:
            raise Refusal("invalid api key", 401, "authentication_error", code="invalid_api_key")
        return workspace


def create_app(scenario: Scenario | None = None, ranks: Path | None = None) -> StandIn:
    """The ASGI application playing a scenario.

    `ranks` is tiktoken's `o200k_base` rank file, plain or .gz; without it tokens are UTF-8 bytes / 3.
    """
    return StandIn(scenario or Scenario(), ranks)


def _parsed(content: bytes) -> dict[str, Any]:
    if len(content) > MAX_BODY_BYTES:
        text = "Request exceeds the maximum size"
        raise Refusal(text, 413, "request_too_large", rule="A21")
    try:
        body = msgspec.json.decode(content)
    except msgspec.DecodeError as error:
        raise Refusal(f"The request body is not valid JSON: {error}") from error
    if not isinstance(body, dict):
        raise Refusal("The request body is not a JSON object")
    return body


def _reset(send: Send) -> None:
    """Reset the connection under a response: the server's own send belongs to the object that holds it."""
    transport = getattr(getattr(send, "__self__", None), "transport", None)
    if transport is None:
        raise ConnectionResetError("this server gives no way to reset its connection")
    connection = transport.get_extra_info("socket")
    if connection is not None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()
