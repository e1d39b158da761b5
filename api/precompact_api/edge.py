"""The outermost layer: every failure becomes a problem document, every unexpected one is logged by ids alone."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from redis.exceptions import RedisError
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from precompact_api import metrics
from precompact_api.problems import Code, Problem
from precompact_shared.errors import PrecompactError, Retryable
from precompact_shared.logging import get_logger

HotCall = Callable[[Request, str], Awaitable[Response]]
"""A hot call: the request and the session's id, not yet checked."""


class HotRequest(Request):
    """A request whose headers are looked up; Starlette searches its list for each."""

    @property
    def headers(self) -> Headers:
        """The first value of each name."""
        known: Headers | None = getattr(self, "_headers", None)
        if known is None:
            known = self._headers = _Indexed(self.scope["headers"])
        return known


class _Indexed(Headers):
    def __init__(self, raw: Sequence[tuple[bytes, bytes]]) -> None:
        super().__init__(raw=list(raw))
        self._first = dict(reversed(raw))

    def __getitem__(self, key: str) -> str:
        return self._first[key.lower().encode("latin-1")].decode("latin-1")

    def get(self, key: str, default: Any = None) -> Any:
        value = self._first.get(key.lower().encode("latin-1"))
        return default if value is None else value.decode("latin-1")


class Edge:
    """The ASGI application around the application. No exception passes it, so no server log can quote one.

    Hot calls are answered right here, without the router and the layers below it, which would cost as much as they do.
    """

    def __init__(self, app: ASGIApp, prefix: str = "", hot: Mapping[str, HotCall] | None = None) -> None:
        self.app = app
        self._prefix = prefix
        self._hot = hot or {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        session, _, name = scope["path"].removeprefix(self._prefix).rpartition("/")
        call = self._hot.get(name)
        if call is None or scope["method"] != "POST" or not scope["path"].startswith(self._prefix):
            await self._pass_on(scope, receive, send)
            return
        try:
            response = await call(HotRequest(scope, receive), session)
        except Exception as error:  # noqa: BLE001 - the process's edge
            response = told(error)
        await response(scope, receive, send)

    async def _pass_on(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = False

        async def note(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self.app(scope, receive, note)
        except Exception as error:  # noqa: BLE001 - the process's edge
            if not begun:  # else it was told already and comes up only to be seen by a server
                await told(error)(scope, receive, send)


def told(error: Exception) -> Response:
    """The answer to a call that failed."""
    problem = problem_of(error)
    metrics.PROBLEMS.labels(problem.code.value).inc()
    return problem.response()


def problem_of(error: Exception) -> Problem:
    """The problem that an exception is to the caller."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, RedisError | OSError | Retryable):
        get_logger().warning("store does not answer", exc_info=error)
        return Problem(Code.UNAVAILABLE)
    request_id = secrets.token_hex(8)
    code = error.code if isinstance(error, PrecompactError) else None
    get_logger().error("request failed", request_id=request_id, code=code, exc_info=error)
    return Problem(Code.INTERNAL, request_id=request_id)
