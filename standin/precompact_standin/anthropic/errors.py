"""Errors in the envelope of the Messages API, and the answers of faults that come instead of a reply."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from precompact_standin.answers import Answer, as_json, named_event, page_of
from precompact_standin.ratelimits import Verdict
from precompact_standin.refusal import Refusal
from precompact_standin.scenario import Fault, FaultKind

FAULTS: Mapping[FaultKind, tuple[int, str, str, str]] = {
    FaultKind.RATE_LIMITED: (429, "rate_limit_error", "", "This request would exceed your rate limit"),
    FaultKind.SPEND_LIMITED: (
        429,
        "rate_limit_error",
        "enforced_spend_limit_reached",
        "The spend limit of this organization is reached",
    ),
    FaultKind.OVERLOADED: (529, "overloaded_error", "", "Overloaded"),
    FaultKind.COMPACTION_UNAVAILABLE: (
        529,
        "overloaded_error",
        "compaction_unavailable",
        "The compaction could not be completed; retry the request",
    ),
    FaultKind.SERVER_ERROR: (500, "api_error", "", "Internal server error"),
    FaultKind.GATEWAY_TIMEOUT: (504, "timeout_error", "", "The request timed out"),
    FaultKind.BAD_REQUEST: (400, "invalid_request_error", "", "The request is not valid"),
    FaultKind.CONTEXT_OVERFLOW: (
        400,
        "invalid_request_error",
        "",
        "prompt is too long: 200001 tokens > 200000 maximum",
    ),
    FaultKind.UNAUTHORIZED: (401, "authentication_error", "", "invalid bearer token"),
    FaultKind.PAYMENT_REQUIRED: (402, "billing_error", "", "There is a problem with your billing"),
    FaultKind.FORBIDDEN: (403, "permission_error", "", "The key may not use this resource"),
    FaultKind.NOT_FOUND: (404, "not_found_error", "", "model: not found"),
    FaultKind.TOO_LARGE: (413, "request_too_large", "", "Request exceeds the maximum size"),
    FaultKind.CONTENT_FILTERED: (
        400,
        "invalid_request_error",
        "",
        "Output blocked by content filtering policy",
    ),
}


def refused(refusal: Refusal, request_id: str) -> Answer:
    """The refusal as the API writes it."""
    error = {"type": refusal.type, "message": refusal.message}
    details = {"details": {"error_code": refusal.code}} if _has_code(refusal) else {}
    body = {"type": "error", "error": {**error, **details}, "request_id": request_id}
    return as_json(body, status=refusal.status, headers=refusal.headers)


def faulty(
    fault: Fault,
    request_id: str,
    *,
    write: Callable[[Refusal, str], Answer] = refused,
    texts: Mapping[FaultKind, str] = MappingProxyType({}),
) -> Answer | None:
    """The answer of a fault that comes instead of a reply; nothing for the other kinds.

    A platform that writes refusals in its own way names that way, and its own texts where they differ.
    """
    retry = {"retry-after": fault.retry_after} if fault.retry_after else {}
    if (page := page_of(fault)) is not None:
        return page.with_headers(retry)
    if fault.kind not in FAULTS:
        return None
    status, error_type, code, message = FAULTS[fault.kind]
    text = fault.message or texts.get(fault.kind, message)
    refusal = Refusal(text, status, error_type, code=fault.code or code or None, headers=retry)
    return write(refusal, request_id)


def error_events(fault: Fault | None) -> dict[str, bytes]:
    """What a stream breaks off with; the Messages API has one shape of it."""
    error_type = (fault.code if fault else "") or "overloaded_error"
    message = (fault.message if fault else "") or "Overloaded"
    body = {"type": "error", "error": {"type": error_type, "message": message}}
    event = named_event("error", body)
    return {FaultKind.ERROR_EVENT: event, FaultKind.FLAT_ERROR_EVENT: event}


def limited(verdict: Verdict, headers: Mapping[str, str]) -> Refusal:
    """Too many requests or tokens."""
    message = f"This request would exceed your rate limit of {verdict.short_of} per minute"
    more = {**headers, "retry-after": str(verdict.retry_after_s)}
    return Refusal(message, 429, "rate_limit_error", headers=more)


def _has_code(refusal: Refusal) -> bool:
    """Codes the protocol has; those of the other protocol stay out."""
    return refusal.code is not None and refusal.code not in {"invalid_api_key", "model_not_found"}
