"""The outermost layer: every failure becomes a problem document, every unexpected one is logged by ids alone."""

from __future__ import annotations

import secrets

from redis.exceptions import RedisError
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from precompact_api import metrics
from precompact_api.problems import Code, Problem
from precompact_shared.errors import PrecompactError, Retryable
from precompact_shared.logging import get_logger


class Edge:
    """ASGI middleware. No exception passes it, so no server log can quote one."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begun = False

        async def note(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self.app(scope, receive, note)
        except Exception as error:  # noqa: BLE001 - the process's edge
            problem = problem_of(error)
            metrics.PROBLEMS.labels(problem.code.value).inc()
            if not begun:
                await problem.response()(scope, receive, send)


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
