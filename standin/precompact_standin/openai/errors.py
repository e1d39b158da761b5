"""Errors in OpenAI's envelope, and the answers of faults that come instead of a reply."""

from __future__ import annotations

from collections.abc import Mapping

from precompact_standin.answers import Answer, as_json, page_of
from precompact_standin.ratelimits import Meter, Verdict
from precompact_standin.refusal import Refusal
from precompact_standin.scenario import Fault, FaultKind

_FAULTS: Mapping[FaultKind, Refusal] = {
    FaultKind.RATE_LIMITED: Refusal("Rate limit reached", 429, "requests", code="rate_limit_exceeded"),
    FaultKind.SPEND_LIMITED: Refusal(
        "You exceeded your current quota", 429, "insufficient_quota", code="insufficient_quota"
    ),
    FaultKind.OVERLOADED: Refusal(
        "The server is overloaded", 503, "service_unavailable_error", code="server_is_overloaded"
    ),
    FaultKind.COMPACTION_UNAVAILABLE: Refusal(
        "The server is overloaded", 503, "service_unavailable_error", code="server_is_overloaded"
    ),
    FaultKind.SERVER_ERROR: Refusal("The server had an error", 500, "server_error", code="server_error"),
    FaultKind.GATEWAY_TIMEOUT: Refusal("The request timed out", 504, "server_error"),
    FaultKind.BAD_REQUEST: Refusal("The request is not valid"),
    FaultKind.CONTEXT_OVERFLOW: Refusal(
        "Your input exceeds the context window of this model. Please adjust your input and try again.",
        code="context_length_exceeded",
        param="input",
    ),
    FaultKind.UNAUTHORIZED: Refusal("Incorrect API key provided", 401, code="invalid_api_key"),
    FaultKind.PAYMENT_REQUIRED: Refusal("Payment is required", 402, "billing_error"),
    FaultKind.FORBIDDEN: Refusal(
        "Country not supported", 403, "request_forbidden", code="unsupported_country"
    ),
    FaultKind.NOT_FOUND: Refusal("The model does not exist", 404, code="model_not_found", param="model"),
    FaultKind.TOO_LARGE: Refusal("The request is too large", 413),
    FaultKind.CONTENT_FILTERED: Refusal(
        "The response was filtered", 400, "", code="content_filter", param="prompt"
    ),
}


def refused(refusal: Refusal, _request_id: str) -> Answer:
    """The refusal as the API writes it. Statuses and types of the other protocol are put right."""
    foreign = refusal.type.endswith("_error") or refusal.type == "request_too_large"
    ours = "invalid_request_error" if foreign else refusal.type
    error = {
        "message": refusal.message,
        "type": ours or None,
        "param": refusal.param,
        "code": refusal.code,
    }
    return as_json({"error": error}, status=refusal.status, headers=refusal.headers)


def faulty(fault: Fault, _request_id: str) -> Answer | None:
    """The answer of a fault that comes instead of a reply; nothing for the other kinds."""
    retry = {"retry-after": fault.retry_after} if fault.retry_after else {}
    if (page := page_of(fault)) is not None:
        return page.with_headers(retry)
    usual = _FAULTS.get(fault.kind)
    if usual is None:
        return None
    error = {
        "message": fault.message or usual.message,
        "type": usual.type or None,
        "param": usual.param,
        "code": fault.code or usual.code,
    }
    return as_json({"error": error}, status=usual.status, headers=retry)


def limited(verdict: Verdict, headers: Mapping[str, str]) -> Refusal:
    """Too many requests or tokens."""
    kind = "requests" if verdict.short_of is Meter.REQUESTS else "tokens"
    more = {**headers, "retry-after": str(verdict.retry_after_s)}
    text = f"Rate limit reached on {kind} per min. Please try again in {verdict.retry_after_s}s."
    return Refusal(text, 429, kind, code="rate_limit_exceeded", headers=more)


def overflowed(tokens: int, window: int, param: str) -> Refusal:
    """The input does not fit."""
    text = (
        "Your input exceeds the context window of this model. Please adjust your input and try again. "
        f"({tokens} > {window} tokens)"
    )
    return Refusal(text, code="context_length_exceeded", param=param)
