"""Every way a provider's call can end, and what the worker makes of it."""

from __future__ import annotations

import pickle
from types import ModuleType

import pytest

from precompact_shared.errors import Overflow, Permanent, PrecompactError, Retryable
from precompact_worker.providers import anthropic_verdicts, openai_verdicts
from precompact_worker.providers.failures import retry_after_s
from precompact_worker.providers.verdicts import (
    RETRY_DEFAULT_S,
    RETRY_MOST_S,
    Failure,
    Finding,
    ProviderFailed,
    ProviderLimited,
    ProviderMisconfigured,
    ProviderTimeout,
    Verdict,
    bounded,
    error_of,
)


@pytest.mark.parametrize(
    ("failure", "verdict"),
    [
        (Failure(400, "invalid_request_error", text="Prompt is too long: 9 tokens > 8 maximum"), "overflow"),
        (Failure(400, "invalid_request_error", text="messages.0: unknown field"), "permanent"),
        (Failure(400, "invalid_request_error", "compaction_signature_invalid"), "permanent"),
        (Failure(401, "authentication_error"), "config"),
        (Failure(402, "billing_error"), "config"),
        (Failure(403, "permission_error"), "config"),
        (Failure(404, "not_found_error"), "config"),
        (Failure(413, "request_too_large"), "overflow"),
        (Failure(429, "rate_limit_error"), "retryable"),
        (Failure(429, "rate_limit_error", "enforced_spend_limit_reached"), "config"),
        (Failure(500, "api_error"), "retryable"),
        (Failure(502), "retryable"),
        (Failure(504, "timeout_error"), "retryable"),
        (Failure(529, "overloaded_error"), "retryable"),
        (Failure(529, "overloaded_error", "compaction_unavailable"), "retryable"),
        (Failure(200, "overloaded_error"), "retryable"),
        (Failure(200, "invalid_request_error", text="prompt is too long"), "overflow"),
        (Failure(200, "invalid_request_error"), "permanent"),
        (Failure(200, "authentication_error"), "config"),
        (Failure(200, ""), "retryable"),
        (Failure(400, text="Input is too long for requested model."), "overflow"),
        (Failure(400, text="Output blocked by content filtering policy"), "refused"),
        (Failure(403, "AccessDeniedException"), "config"),
        (Failure(424, "ModelErrorException"), "retryable"),
        (Failure(429, "ThrottlingException"), "retryable"),
        (Failure(200, "throttlingException"), "retryable"),
        (Failure(200, "modelStreamErrorException"), "retryable"),
        (Failure(200, "validationException"), "permanent"),
        (Failure(200, "validationException", text="Input is too long for requested model."), "overflow"),
        (Failure(200, "accessDeniedException"), "config"),
        (Failure(200, garbled=True), "retryable"),
        (Failure(None), "retryable"),
        (Failure(None, timed_out=True), "retryable"),
    ],
)
def test_anthropic_failures(failure: Failure, verdict: str) -> None:
    """By status, except inside a stream: there by type."""
    assert anthropic_verdicts.judge_failure(failure).verdict == verdict


@pytest.mark.parametrize(
    ("stop", "text", "verdict", "code"),
    [
        ("end_turn", "a summary", "ok", "ok"),
        ("end_turn", " \n", "empty", "empty"),
        ("max_tokens", "a summ", "truncated", "max_tokens"),
        ("stop_sequence", "a summ", "truncated", "stop_sequence"),
        ("tool_use", "let me look", "empty", "tool_call"),
        ("pause_turn", "…", "empty", "pause_turn"),
        ("refusal", "", "refused", "refusal"),
        ("model_context_window_exceeded", "a su", "overflow", "window_exceeded"),
        ("compaction", "text", "permanent", "unknown_stop"),
        (None, "half a summary", "retryable", "cut_off"),
    ],
)
def test_anthropic_replies(stop: str | None, text: str, verdict: str, code: str) -> None:
    """Status 200 is no success."""
    found = anthropic_verdicts.judge_reply(stop, text)
    assert (found.verdict, found.code) == (verdict, code)


def test_a_compaction_on_demand_wants_its_own_stop_reason() -> None:
    """`end_turn` means that no text came."""
    judge = anthropic_verdicts.judge_reply
    assert judge("compaction", "text", wants="compaction").verdict is Verdict.OK
    assert judge("compaction", "", wants="compaction").verdict is Verdict.EMPTY
    assert judge("end_turn", "text", wants="compaction").verdict is Verdict.EMPTY


@pytest.mark.parametrize(
    ("failure", "verdict"),
    [
        (Failure(400, "invalid_request_error", "context_length_exceeded"), "overflow"),
        (Failure(400, text="This model's maximum context length is 8192 tokens"), "overflow"),
        (Failure(400, "invalid_request_error", "unknown_parameter"), "permanent"),
        (Failure(400, "", "content_filter"), "refused"),
        (Failure(401, "", "invalid_api_key"), "config"),
        (Failure(402), "config"),
        (Failure(403, "", "unsupported_country"), "config"),
        (Failure(404, "", "model_not_found"), "config"),
        (Failure(413), "overflow"),
        (Failure(422), "permanent"),
        (Failure(429, "", "rate_limit_exceeded"), "retryable"),
        (Failure(429, "", "slow_down"), "retryable"),
        (Failure(429, "insufficient_quota"), "config"),
        (Failure(429, "insufficient_quota", "credit_balance_exhausted"), "config"),
        (Failure(429, "", "organization_usage_limit_exceeded"), "config"),
        (Failure(500, "server_error"), "retryable"),
        (Failure(503, "", "server_is_overloaded"), "retryable"),
        (Failure(200, "", "invalid_prompt"), "refused"),
        (Failure(200, "server_error"), "retryable"),
        (Failure(200, garbled=True), "retryable"),
        (Failure(None, timed_out=True), "retryable"),
    ],
)
def test_openai_failures(failure: Failure, verdict: str) -> None:
    """Codes first: a spent account answers with 429 too."""
    assert openai_verdicts.judge_failure(failure).verdict == verdict


@pytest.mark.parametrize(
    ("status", "code", "reason", "text", "verdict"),
    [
        ("completed", "", "", "a summary", "ok"),
        ("completed", "", "", "", "empty"),
        ("incomplete", "", "max_output_tokens", "a su", "truncated"),
        ("incomplete", "", "content_filter", "a su", "refused"),
        ("incomplete", "", "steered", "a su", "empty"),
        ("failed", "server_error", "", "", "retryable"),
        ("failed", "rate_limit_exceeded", "", "", "retryable"),
        ("failed", "invalid_prompt", "", "", "refused"),
        ("failed", "context_length_exceeded", "", "", "overflow"),
        ("failed", "", "", "", "retryable"),
        ("in_progress", "", "", "a su", "retryable"),
        ("cancelled", "", "", "a su", "retryable"),
        (None, "", "", "a su", "retryable"),
    ],
)
def test_responses(status: str | None, code: str, reason: str, text: str, verdict: str) -> None:
    """A terminal event has to have come, and say `completed`."""
    found = openai_verdicts.judge_response(status, code=code, reason=reason, text=text, refused=False)
    assert found.verdict == verdict


def test_a_refusal_is_a_part_of_a_completed_response() -> None:
    """It has text too."""
    found = openai_verdicts.judge_response("completed", code="", reason="", text="I can't", refused=True)
    assert found == Finding(Verdict.REFUSED, "refusal")


@pytest.mark.parametrize(
    ("finish", "text", "refused", "verdict"),
    [
        ("stop", "a summary", False, "ok"),
        ("eos", "a summary", False, "ok"),
        ("stop", "", False, "empty"),
        ("length", "a su", False, "truncated"),
        ("tool_calls", "", False, "empty"),
        ("function_call", "", False, "empty"),
        ("content_filter", "", False, "refused"),
        ("stop", "", True, "refused"),
        (None, "a su", False, "retryable"),
        ("error", "a su", False, "retryable"),
        ("abort", "a su", False, "retryable"),
    ],
)
def test_choices(finish: str | None, text: str, refused: bool, verdict: str) -> None:
    """The finish reason decides, not the text."""
    assert openai_verdicts.judge_choice(finish, text, refused=refused).verdict == verdict


@pytest.mark.parametrize(
    ("verdict", "family"),
    [
        (Verdict.EMPTY, Permanent),
        (Verdict.TRUNCATED, Permanent),
        (Verdict.REFUSED, Permanent),
        (Verdict.OVERFLOW, Overflow),
        (Verdict.RETRYABLE, Retryable),
        (Verdict.CONFIG, Permanent),
        (Verdict.PERMANENT, Permanent),
    ],
)
def test_each_verdict_is_an_error_that_pickles(verdict: Verdict, family: type[PrecompactError]) -> None:
    """Family, message and facts survive."""
    error = error_of(Finding(verdict, "why", 7.0))
    assert isinstance(error, family)
    again = pickle.loads(pickle.dumps(error))  # noqa: S301
    assert (type(again), str(again)) == (type(error), str(error))
    assert getattr(again, "retry_after_s", None) == getattr(error, "retry_after_s", None)


def test_a_timeout_has_its_own_error() -> None:
    """It is told apart in the job's reason."""
    assert isinstance(error_of(Finding(Verdict.RETRYABLE, "timeout", 1.0)), ProviderTimeout)


@pytest.mark.parametrize(
    ("asked", "waits"),
    [
        (None, RETRY_DEFAULT_S),
        (0.0, RETRY_DEFAULT_S),
        (-5.0, RETRY_DEFAULT_S),
        (7.5, 7.5),
        (4_294_967.0, RETRY_MOST_S),
        (float("nan"), RETRY_DEFAULT_S),
        (float("inf"), RETRY_DEFAULT_S),
    ],
)
def test_what_a_server_asks_for_is_bounded(asked: float | None, waits: float) -> None:
    """49 days is no answer."""
    assert bounded(asked) == waits


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "12"}, 12.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "Thu, 01 Jan 1970 00:01:10 GMT"}, 60.0),
        ({"retry-after": "soon"}, None),
        ({}, None),
    ],
)
def test_seconds_milliseconds_and_dates_are_read(headers: dict[str, str], seconds: float | None) -> None:
    """Whatever else it says is taken for nothing."""
    assert retry_after_s(headers, now_s=10.0) == seconds


@pytest.mark.parametrize(
    ("judge", "failure", "kind"),
    [
        (anthropic_verdicts, Failure(429, "rate_limit_error", after_s=9), ProviderLimited),
        (anthropic_verdicts, Failure(429), ProviderLimited),
        (anthropic_verdicts, Failure(200, "rate_limit_error"), ProviderLimited),
        (anthropic_verdicts, Failure(200, "throttlingException"), ProviderLimited),
        (anthropic_verdicts, Failure(529, "overloaded_error"), ProviderFailed),
        (anthropic_verdicts, Failure(429, "x", "enforced_spend_limit_reached"), ProviderMisconfigured),
        (openai_verdicts, Failure(429, "requests", "rate_limit_exceeded", after_s=9), ProviderLimited),
        (openai_verdicts, Failure(429), ProviderLimited),
        (openai_verdicts, Failure(200, code="slow_down"), ProviderLimited),
        (openai_verdicts, Failure(503, code="server_is_overloaded"), ProviderFailed),
        (openai_verdicts, Failure(429, "insufficient_quota", "insufficient_quota"), ProviderMisconfigured),
    ],
)
def test_a_rate_limit_is_told_from_overload_and_from_a_spent_account(
    judge: ModuleType, failure: Failure, kind: type[PrecompactError]
) -> None:
    """It holds for whoever else asks there; in a stream, which began with 200, its type or code says so."""
    error = error_of(judge.judge_failure(failure))
    assert type(error) is kind
    assert pickle.loads(pickle.dumps(error)).facts == error.facts  # noqa: S301 - our own
