"""Calls as steps: generators yield what should be sent and receive what came back; a shell does the I/O.

One shell blocks, one awaits (`client.py`, `async_client.py`); everything else is written once, without either.
"""

from __future__ import annotations

import json
import random
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from precompact.errors import ServiceUnreachableError, UnexpectedAnswerError, problem

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP request, body already encoded: a repeated attempt sends the same bytes."""

    method: str
    path: str
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    params: Mapping[str, str | int] = field(default_factory=dict)
    wait_s: float = 0.0  # how much longer than usual the answer may take
    rewrites: bool = False  # without an answer we cannot know which history the service holds


@dataclass(frozen=True, slots=True)
class Pause:
    """Let `seconds` pass before going on."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Reply:
    """An HTTP answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class NoReply:
    """No answer; `reason` is the kind of failure, never its text."""

    reason: str


Steps = Generator[Request | Pause, Reply | NoReply | None, T]


@dataclass(frozen=True, slots=True)
class Retry:
    """How often a call is tried and how long the pauses between are."""

    attempts: int = 3
    first_pause_s: float = 0.2
    longest_pause_s: float = 2.0

    def pause(self, attempt: int, asked_s: float | None) -> Pause:
        """The pause behind `attempt` (from 0): doubling with jitter, or what the service asked, both bounded."""
        backoff_s = self.first_pause_s * 2**attempt * random.uniform(0.5, 1.0)
        return Pause(min(asked_s if asked_s is not None else backoff_s, self.longest_pause_s))


RETRYABLE = frozenset({408, 429, 500, 502, 503, 504})


def encode(body: Mapping[str, Any]) -> bytes:
    """Compact UTF-8 JSON. Raises ValueError or TypeError for what is none: NaN, lone surrogates, foreign objects."""
    return json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def send(request: Request, retry: Retry) -> Steps[Reply]:
    """The answer to `request` after up to `retry.attempts` equal attempts; any status that is worth no retry.

    Raises ServiceUnreachableError when no attempt brought one.
    """
    reason = "no attempt was made"
    for attempt in range(retry.attempts):
        answer = yield request
        if isinstance(answer, Reply) and answer.status not in RETRYABLE:
            return answer
        reason = (
            f"HTTP {answer.status}" if isinstance(answer, Reply) else getattr(answer, "reason", "no answer")
        )
        if attempt + 1 < retry.attempts:
            yield retry.pause(attempt, _asked_s(answer))
    raise ServiceUnreachableError(f"the service did not answer {request.method} ({reason}); call again later")


def _asked_s(answer: Reply | NoReply | None) -> float | None:
    text = answer.headers.get("retry-after", "") if isinstance(answer, Reply) else ""
    return float(text) if text.isdecimal() else None


def ask(request: Request, retry: Retry) -> Steps[dict[str, Any]]:
    """The JSON object that answers `request`; `{}` for an empty answer. Raises ProblemError for a refusal."""
    reply = yield from send(request, retry)
    body = _object(reply)
    if reply.status >= 400:
        raise problem(reply.status, body)
    return body


def _object(reply: Reply) -> dict[str, Any]:
    if not reply.body:
        return {}
    try:
        body = json.loads(reply.body)
    except ValueError:
        body = None
    if isinstance(body, dict):
        return body
    raise UnexpectedAnswerError(
        f"HTTP {reply.status} without a JSON object: is this the address of precompact?"
    )
