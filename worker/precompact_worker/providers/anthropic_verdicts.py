"""Anthropic: from status, type, code and text, or from a reply's stop reason, to a verdict. Pure."""

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

_TOO_LONG = ("prompt is too long", "input is too long", "input length and", "exceed context limit")
_CONFIG_TYPES = frozenset({"authentication_error", "permission_error", "not_found_error", "billing_error"})
_RETRY_TYPES = frozenset({"api_error", "overloaded_error", "timeout_error", "rate_limit_error"})
_STATUS_OF_TYPE = {
    "invalid_request_error": 400,
    "request_too_large": 413,
    "validationException": 400,
    "accessDeniedException": 403,
    "resourceNotFoundException": 404,
}
"""Of an error inside a stream; those of AWS are the names of its exceptions."""


def judge_failure(failure: Failure) -> Finding:
    """What a failed call means. An error inside a stream has status 200: then its type decides."""
    return judge_unanswered(failure) or marked_limit(_judge_answer(failure), failure)


def _judge_answer(failure: Failure) -> Finding:
    code = failure.code or failure.type or f"http_{failure.status}"
    if failure.code == "enforced_spend_limit_reached" or failure.type in _CONFIG_TYPES:
        return Finding(Verdict.CONFIG, code)
    if failure.code == "compaction_unavailable" or failure.type in _RETRY_TYPES:
        return retryable(code, failure.after_s)
    status = failure.status
    if status == 200 or status is None:
        status = _STATUS_OF_TYPE.get(failure.type, 500)
    return _by_status(status, code, failure)


def _by_status(status: int, code: str, failure: Failure) -> Finding:
    if status in {401, 402, 403, 404}:
        return Finding(Verdict.CONFIG, code)
    if status == 413:
        return Finding(Verdict.OVERFLOW, "request_too_large")
    if status in {408, 409, 424, 429} or status >= 500:  # 424: Bedrock's word for a model that failed
        return retryable(code, failure.after_s)
    if any(told in failure.text.lower() for told in _TOO_LONG):
        return Finding(Verdict.OVERFLOW, "prompt_too_long")
    if "content filtering policy" in failure.text.lower():
        return Finding(Verdict.REFUSED, "content_filter")
    return Finding(Verdict.PERMANENT, code)


_STOPS = {
    "max_tokens": Finding(Verdict.TRUNCATED, "max_tokens"),
    "model_context_window_exceeded": Finding(Verdict.OVERFLOW, "window_exceeded"),
    "tool_use": Finding(Verdict.EMPTY, "tool_call"),
    "pause_turn": Finding(Verdict.EMPTY, "pause_turn"),
    "refusal": Finding(Verdict.REFUSED, "refusal"),
    "stop_sequence": Finding(Verdict.TRUNCATED, "stop_sequence"),
}


def judge_reply(stop_reason: str | None, text: str, *, wants: str = "end_turn") -> Finding:
    """What a reply means that came with status 200. Without a stop reason the stream ended early.

    `wants` is the stop reason of a good one: `compaction` for a compaction on demand.
    """
    if stop_reason is None:
        return retryable("cut_off")
    if stop_reason == wants:
        return OK if text.strip() else Finding(Verdict.EMPTY, "empty")
    if stop_reason == "end_turn":
        return Finding(Verdict.EMPTY, "empty")
    return _STOPS.get(stop_reason, Finding(Verdict.PERMANENT, "unknown_stop"))
