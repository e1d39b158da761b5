"""What can be wrong with a call, as RFC 9457 problems: a stable code, what to do next, numbers. Never the input."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import msgspec
from starlette.responses import Response

from precompact_shared.store.types import Answer

MEDIA_TYPE = "application/problem+json"


class Code(StrEnum):
    """Every code there is; callers and dashboards match on them."""

    UNAUTHORIZED = "unauthorized"
    FORBIDDEN = "forbidden"
    NOT_FOUND = "not_found"
    METHOD_NOT_ALLOWED = "method_not_allowed"
    SESSION_NOT_FOUND = "session_not_found"
    SESSION_DELETED = "session_deleted"
    INVALID_SESSION_ID = "invalid_session_id"
    INVALID_JSON = "invalid_json"
    INVALID_REQUEST = "invalid_request"
    TOO_DEEP = "too_deep"
    TOO_MANY = "too_many"
    BODY_TOO_LARGE = "body_too_large"
    WINDOW_UNKNOWN = "window_unknown"
    FORMAT_FIXED = "format_fixed"
    IDEMPOTENCY_KEY_REQUIRED = "idempotency_key_required"
    HISTORY_GAP = "history_gap"
    HISTORY_DIVERGED = "history_diverged"
    HISTORY_REWRITTEN = "history_rewritten"
    HISTORY_REGRESSED = "history_regressed"
    UNSEEN_END = "unseen_end"
    PROJECTION_GIVEN = "projection_given"
    SESSION_FULL = "session_full"
    NOT_NEWEST = "not_newest"
    CANDIDATE_REFUSED = "candidate_refused"
    CHECKPOINT_ERASED = "checkpoint_erased"
    JOB_NOT_FOUND = "job_not_found"
    JOB_NOT_WAITING = "job_not_waiting"
    IN_FLIGHT = "in_flight"
    FORK_MOVED = "fork_moved"
    TENANT_EXISTS = "tenant_exists"
    INVALID_TENANT = "invalid_tenant"
    UNAVAILABLE = "unavailable"
    INTERNAL = "internal"


@dataclass(frozen=True, slots=True)
class _Kind:
    status: int
    title: str
    detail: str


KINDS: Mapping[Code, _Kind] = {
    Code.UNAUTHORIZED: _Kind(
        401, "No valid key", "Send `Authorization: Bearer <key>` with a key of your tenant."
    ),
    Code.FORBIDDEN: _Kind(
        403, "Not allowed", "This key's scopes do not allow the call; use a key that has the scope."
    ),
    Code.NOT_FOUND: _Kind(404, "No such resource", "Compare the path with /openapi.json."),
    Code.METHOD_NOT_ALLOWED: _Kind(405, "Method not allowed", "Compare the method with /openapi.json."),
    Code.SESSION_NOT_FOUND: _Kind(
        404, "No such session", "Create it: send `format` and `model` or `window` with `prepare`."
    ),
    Code.SESSION_DELETED: _Kind(
        410, "Session deleted", "Use another id, or revive this one by POST /v1/sessions with `recreate`."
    ),
    Code.INVALID_SESSION_ID: _Kind(
        400, "Invalid session id", "Use 1 to 200 letters, digits and ._:@- with a letter or digit first."
    ),
    Code.INVALID_JSON: _Kind(
        400, "Not valid JSON", "Send one UTF-8 JSON object; NaN and lone surrogates are no JSON."
    ),
    Code.INVALID_REQUEST: _Kind(
        400, "Not a valid request", "Correct what stands at `where`; /openapi.json has the schema."
    ),
    Code.TOO_DEEP: _Kind(400, "Nested too deep", "Flatten the JSON to at most `limit` levels."),
    Code.TOO_MANY: _Kind(
        413, "Too many messages", "Send at most `limit` at a time; append the rest with further calls."
    ),
    Code.BODY_TOO_LARGE: _Kind(
        413, "Body too large", "Send at most `limit` bytes; append long histories in parts."
    ),
    Code.WINDOW_UNKNOWN: _Kind(
        400,
        "Window unknown",
        "Send `window` (tokens) with the call, or a `model` that the policy's `windows` or the built-in table knows.",
    ),
    Code.FORMAT_FIXED: _Kind(
        409, "Format is fixed", "The session was made with another wire format; use it or another session id."
    ),
    Code.IDEMPOTENCY_KEY_REQUIRED: _Kind(
        428,
        "Idempotency-Key required",
        "Send `seen`, or an `Idempotency-Key` header so that a retry adds nothing twice.",
    ),
    Code.HISTORY_GAP: _Kind(
        409, "Entries are missing", "Send the messages from `length` on again, with `seen` of that length."
    ),
    Code.HISTORY_DIVERGED: _Kind(
        409,
        "Histories differ",
        "The first `common` entries are equal; read the rest (GET history) and decide.",
    ),
    Code.HISTORY_REWRITTEN: _Kind(
        409, "History was rewritten", "Read the history again (GET history) and go on from `history_version`."
    ),
    Code.HISTORY_REGRESSED: _Kind(
        409,
        "The service lost its newest writes",
        "Send the whole list with `view: history` and `heal: true`; the version then rises above both.",
    ),
    Code.UNSEEN_END: _Kind(
        412,
        "The end was not seen",
        "The history is longer than `seen` says; read it before removing anything.",
    ),
    Code.PROJECTION_GIVEN: _Kind(
        409,
        "A context was sent as history",
        "The messages hold a summary of ours; send your own list, or the whole context with `view: context`.",
    ),
    Code.SESSION_FULL: _Kind(
        413, "Session is full", "Start a new session; entry and byte limits are settings."
    ),
    Code.NOT_NEWEST: _Kind(
        409, "Not the newest checkpoint", "Only the newest checkpoint can be reverted: `newest`."
    ),
    Code.CANDIDATE_REFUSED: _Kind(
        412, "Candidate refused", "It cannot be adopted (`reason`); go on without it."
    ),
    Code.CHECKPOINT_ERASED: _Kind(
        409, "Checkpoint has no text", "Its text was erased by a redaction; call `prepare` once more."
    ),
    Code.JOB_NOT_FOUND: _Kind(
        404,
        "No such job",
        "Take the id from `compaction.job` of an answer; ended jobs are forgotten in time.",
    ),
    Code.JOB_NOT_WAITING: _Kind(
        409,
        "The job does not wait for this",
        "Fetch the job again: it has ended (`not_live`) or asks something else (`other_request`).",
    ),
    Code.IN_FLIGHT: _Kind(
        409, "Another compaction runs", "Wait for `job`, or ask with the same focus to join it."
    ),
    Code.FORK_MOVED: _Kind(
        409,
        "The source changes too fast",
        "The source was rewritten during each attempt to copy it; try again.",
    ),
    Code.TENANT_EXISTS: _Kind(409, "Tenant exists", "Issue a key for it with POST /v1/keys."),
    Code.INVALID_TENANT: _Kind(
        400, "Invalid tenant name", "Use 1 to 64 letters, digits and ._- with a letter or digit first."
    ),
    Code.UNAVAILABLE: _Kind(
        503, "Temporarily unavailable", "The store does not answer; the same call again is safe."
    ),
    Code.INTERNAL: _Kind(500, "Internal error", "Look for `request_id` in the service's log."),
}


class Problem(Exception):
    """A call that ends with a problem document. Facts are ids, numbers and codes, never text of the caller."""

    def __init__(self, code: Code, detail: str | None = None, **facts: Any) -> None:
        super().__init__(code)
        self.code = code
        self.detail = detail
        self.facts = facts

    @property
    def status(self) -> int:
        """The HTTP status."""
        return KINDS[self.code].status

    def response(self) -> Response:
        """The problem document."""
        kind = KINDS[self.code]
        body = {
            "type": f"urn:precompact:problem:{self.code.value}",
            "title": kind.title,
            "status": kind.status,
            "detail": self.detail or kind.detail,
            "code": self.code.value,
            **{name: value for name, value in self.facts.items() if value is not None},
        }
        return Response(msgspec.json.encode(body), kind.status, _headers(self.code), MEDIA_TYPE)


def _headers(code: Code) -> dict[str, str]:
    if code is Code.UNAUTHORIZED:
        return {"WWW-Authenticate": "Bearer"}
    return {"Retry-After": "1"} if code is Code.UNAVAILABLE else {}


_OUTCOMES: Mapping[str, Code] = {
    "not_found": Code.SESSION_NOT_FOUND,
    "gone": Code.SESSION_DELETED,
    "format_fixed": Code.FORMAT_FIXED,
    "key_required": Code.IDEMPOTENCY_KEY_REQUIRED,
    "gap": Code.HISTORY_GAP,
    "diverged": Code.HISTORY_DIVERGED,
    "rewritten": Code.HISTORY_REWRITTEN,
    "regressed": Code.HISTORY_REGRESSED,
    "unseen_end": Code.UNSEEN_END,
    "session_full": Code.SESSION_FULL,
    "not_newest": Code.NOT_NEWEST,
}
_WITHOUT_PLACE = frozenset({Code.SESSION_NOT_FOUND, Code.SESSION_DELETED})


def refusal(answer: Answer) -> Problem:
    """The problem a script's refusal stands for."""
    code = _OUTCOMES.get(answer.o, Code.INTERNAL)
    if code in _WITHOUT_PLACE:
        return Problem(code)
    facts: dict[str, Any] = {"history_version": answer.version, "length": answer.length}
    if code is Code.HISTORY_DIVERGED:
        facts["common"] = answer.common
    if code is Code.HISTORY_REWRITTEN:
        facts["rewritten_at"] = answer.rewritten_at
    if code is Code.NOT_NEWEST:
        facts["newest"] = answer.newest
    return Problem(code, **facts)
