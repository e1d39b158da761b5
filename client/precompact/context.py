"""What a call answers, as small frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from precompact.splice import Message


class Format(StrEnum):
    """The wire format of a session, fixed at its first call."""

    ANTHROPIC = "anthropic"
    OPENAI_CHAT = "openai-chat"
    OPENAI_RESPONSES = "openai-responses"


class Status(StrEnum):
    """How the context came about."""

    FITS = "fits"  # nothing adopted now, below the hard limit
    ADOPTED = "adopted"  # a prepared compaction took effect, without waiting
    WAITED = "waited"  # a compaction took effect after this call was blocked on it
    REDUCED = "reduced"  # at the hard limit, with the deterministic fallback
    OVERFLOW = "overflow"  # nothing fits: send less, or start a new session
    UNREACHABLE = "unreachable"  # the service did not answer: own list, last known compaction


@dataclass(frozen=True, slots=True)
class Job:
    """One attempt of the service to prepare a compaction."""

    id: str
    kind: str
    state: str
    asks: str | None = None  # client-run: id of the request that waits for you, see GET /v1/compactions/{id}


@dataclass(frozen=True, slots=True)
class Candidate:
    """A prepared compaction of the entries `[0, upto)`; sizes in tokens."""

    id: str
    upto: int
    tokens_before: int | None
    tokens_after: int | None


@dataclass(frozen=True, slots=True)
class Compaction:
    """What the service is doing for the session.

    `reason` is a stable code, `advice` what the caller can do, `blocked_s` how long the call waited for a job.
    """

    state: str = "unknown"
    reason: str = ""
    generation: int = 0
    job: Job | None = None
    candidate: Candidate | None = None
    advice: tuple[Any, ...] = ()
    blocked_s: float = 0.0


@dataclass(frozen=True, slots=True)
class RequestHints:
    """What the model call has to carry besides; both empty unless needed.

    Both SDKs take them as they are: `create(..., extra_headers=context.request.headers, extra_body=context.request.body)`.
    """

    headers: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Context:
    """What the model should see next.

    `messages` is a list of the caller's own: changing it (cache marks, say) changes nothing in the session.
    Sizes are in tokens, None when the service did not answer; `tokens` counts the whole next prompt as far
    as the service knows it, `source` says whether from reported usage or estimated, `spread` how far off it
    may be nine times in ten (None: unknown). `version` and `length` name the history it was made from.
    `elapsed_s` is how long the call took, retries included.
    """

    messages: list[Any]  # plain JSON; Any, so that every SDK's parameter types take it
    status: Status
    version: int
    length: int
    checkpoint: str | None = None
    tokens: int | None = None
    window: int | None = None
    limit: int | None = None
    hard: int | None = None
    source: str | None = None
    spread: int | None = None
    compaction: Compaction = Compaction()
    request: RequestHints = RequestHints()
    elapsed_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Recalled:
    """One entry of the history as it was sent."""

    seq: int
    message: Message


@dataclass(frozen=True, slots=True)
class Compacted:
    """Answer to a manual compaction: the job, and its candidate when it was done in time."""

    job: Job | None
    candidate: Candidate | None


def read_job(body: Mapping[str, Any] | None) -> Job | None:
    """The job a body tells of, if any."""
    if not body:
        return None
    return Job(str(body["id"]), str(body.get("kind", "")), str(body.get("state", "")), body.get("asks"))


def read_candidate(body: Mapping[str, Any] | None) -> Candidate | None:
    """The candidate a body tells of, if any."""
    if not body:
        return None
    return Candidate(str(body["id"]), int(body["upto"]), body.get("tokens_before"), body.get("tokens_after"))


def read_compaction(body: Mapping[str, Any]) -> Compaction:
    """The `compaction` part of an answer."""
    return Compaction(
        state=str(body.get("state", "unknown")),
        reason=str(body.get("reason", "")),
        generation=int(body.get("generation") or 0),
        job=read_job(body.get("job")),
        candidate=read_candidate(body.get("candidate")),
        advice=tuple(body.get("advice") or ()),
        blocked_s=float(body.get("blocked_s") or 0.0),
    )


def read_request(body: Mapping[str, Any]) -> RequestHints:
    """The `request` part of an answer."""
    return RequestHints(dict(body.get("headers") or {}), dict(body.get("body") or {}))
