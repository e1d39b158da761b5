"""OpenAI and servers that speak its protocols: from status, code and text, or from a reply's status, to a verdict. Pure."""

from __future__ import annotations

from precompact_worker.providers.verdicts import (
    OK,
    Failure,
    Finding,
    Verdict,
    judge_unanswered,
    marked_limit,
    retryable,
)

_QUOTA = frozenset(
    {
        "insufficient_quota",
        "credit_balance_exhausted",
        "organization_spend_limit_exceeded",
        "project_spend_limit_exceeded",
        "organization_usage_limit_exceeded",
        "billing_hard_limit_reached",
    }
)
_ACCOUNT = frozenset(
    {
        "invalid_api_key",
        "ip_not_authorized",
        "unsupported_country",
        "unsupported_country_region_territory",
        "model_not_found",
    }
)
_PASSING = frozenset(
    {
        "server_error",
        "rate_limit_exceeded",
        "slow_down",
        "server_is_overloaded",
        "overloaded",
        "vector_store_timeout",
    }
)
_TOO_LONG = ("context_length_exceeded", "string_above_max_length", "request_too_large")
_TOO_LONG_TEXT = ("maximum context length", "context window", "context length", "prompt is too long")
_POLICY = frozenset(
    {"content_filter", "content_policy_violation", "invalid_prompt", "cyber_policy_violation"}
)


def judge_failure(failure: Failure) -> Finding:
    """What a failed call means, or an error event inside a stream (status 200: then code and type decide)."""
    return judge_unanswered(failure) or marked_limit(_judge_answer(failure), failure)


def _judge_answer(failure: Failure) -> Finding:
    code = failure.code or failure.type or f"http_{failure.status}"
    return _by_code(code, failure) or _by_status(failure.status or 200, code, failure)


def _by_code(code: str, failure: Failure) -> Finding | None:
    if code in _QUOTA or failure.type == "insufficient_quota" or code in _ACCOUNT:
        return Finding(Verdict.CONFIG, code if code in _QUOTA | _ACCOUNT else "insufficient_quota")
    if code in _TOO_LONG:
        return Finding(Verdict.OVERFLOW, code)
    if code in _POLICY:
        return Finding(Verdict.REFUSED, code)
    if code in _PASSING or failure.type in _PASSING:
        return retryable(code, failure.after_s)
    return None


def _by_status(status: int, code: str, failure: Failure) -> Finding:
    if status in {401, 402, 403, 404}:
        return Finding(Verdict.CONFIG, code)
    if status == 413:
        return Finding(Verdict.OVERFLOW, "request_too_large")
    if status in {200, 408, 409, 429} or status >= 500:
        return retryable(code, failure.after_s)
    if any(told in failure.text.lower() for told in _TOO_LONG_TEXT):
        return Finding(Verdict.OVERFLOW, "context_length")
    return Finding(Verdict.PERMANENT, code)


def judge_response(
    status: str | None,
    *,
    code: str,
    reason: str,
    text: str,
    refused: bool,
    calls: bool = False,
) -> Finding:
    """What a Responses reply means: its `status`, `error.code`, `incomplete_details.reason`, text and refusal part.

    Status None: no terminal event came, the stream was cut off. `calls`: it wants a tool to be run, whatever else it says.
    """
    if status is None:
        return retryable("cut_off")
    if status == "failed":
        return judge_failure(Failure(200, code=code or "server_error")) if code else retryable("failed")
    if status == "incomplete":
        return _INCOMPLETE.get(reason, Finding(Verdict.EMPTY, "incomplete"))
    if status != "completed":
        return retryable(f"status_{status}" if status in _OTHER_STATUS else "status_unknown")
    if refused:
        return Finding(Verdict.REFUSED, "refusal")
    if calls:
        return Finding(Verdict.EMPTY, "tool_call")
    return OK if text.strip() else Finding(Verdict.EMPTY, "empty")


_OTHER_STATUS = frozenset({"in_progress", "cancelled", "queued"})
_INCOMPLETE = {
    "max_output_tokens": Finding(Verdict.TRUNCATED, "max_tokens"),
    "content_filter": Finding(Verdict.REFUSED, "content_filter"),
}


_BROKEN_OFF = frozenset({"error", "abort", "cancelled", "canceled"})
"""How routers and servers of one's own say in mid-stream that it went wrong."""


def judge_choice(finish: str | None, text: str, *, refused: bool) -> Finding:
    """What a Chat Completions choice means. Without a finish reason the stream was cut off."""
    if refused or finish == "content_filter":
        return Finding(Verdict.REFUSED, "refusal" if refused else "content_filter")
    if finish is None:
        return retryable("cut_off")
    if finish == "length":
        return Finding(Verdict.TRUNCATED, "max_tokens")
    if finish in {"tool_calls", "function_call"}:
        return Finding(Verdict.EMPTY, "tool_call")
    if finish in _BROKEN_OFF:
        return retryable("broken_off")
    # Compatible servers have reasons of their own for a good end ("eos", "end_turn").
    return OK if text.strip() else Finding(Verdict.EMPTY, "empty")
