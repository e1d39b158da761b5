"""From whatever an SDK raises to facts: the only place that looks into their exceptions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any

import anthropic
import httpx
import httpx2
import openai

from precompact_worker.providers.verdicts import Failure

_TIMEOUTS = (
    TimeoutError,
    anthropic.APITimeoutError,
    openai.APITimeoutError,
    httpx.TimeoutException,
    httpx2.TimeoutException,
)
_UNSENT = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx2.ConnectError,
    httpx2.ConnectTimeout,
    httpx2.PoolTimeout,
    ConnectionRefusedError,
)
"""Before a connection stood. Whatever breaks later may have been received, and paid for."""
_UNREACHABLE = (
    anthropic.APIConnectionError,
    openai.APIConnectionError,
    httpx.TransportError,
    httpx2.TransportError,
    OSError,
)
_NOT_JSON = (
    json.JSONDecodeError,
    UnicodeDecodeError,
    anthropic.APIResponseValidationError,
    openai.APIResponseValidationError,
    httpx.DecodingError,
    httpx2.DecodingError,
    httpx.StreamError,
    httpx2.StreamError,
)


_AWS_STREAM, _AWS_CLIENT = "botocore.eventstream", "botocore."
"""AWS's library is an extra: its errors are known by where they are defined."""


class IdleTimeout(TimeoutError):
    """A stream said nothing for too long."""


class Garbled(ValueError):
    """An answer came that is not what the protocol says."""


class Told(Exception):
    """What a stream told us itself, where the SDK raises nothing."""

    def __init__(self, failure: Failure) -> None:
        super().__init__()
        self.failure = failure


def facts_of(error: BaseException, now_s: float) -> Failure | None:
    """What is known of a failed call; None for an error that is no provider's doing. `now_s` is the wall clock.

    Raises nothing, whatever a server sent.
    """
    if isinstance(error, Told):
        return error.failure
    if _is_unsent(error):
        return Failure(None, unsent=True)
    if isinstance(error, _TIMEOUTS):
        return Failure(None, timed_out=True)
    if isinstance(error, (Garbled, *_NOT_JSON)) or _is_of(error, _AWS_STREAM):
        return Failure(200, garbled=True)
    if isinstance(error, anthropic.APIStatusError | openai.APIStatusError):
        return _status_facts(error, now_s)
    if isinstance(error, _UNREACHABLE):
        return Failure(None)
    if isinstance(error, openai.APIError | anthropic.APIError):
        # OpenAI: an error event that nests an `error` object, after a 200.
        return _told(200, error.body, str(error))
    if isinstance(error, openai.OpenAIError | anthropic.AnthropicError) or _lacks_credentials(error):
        return Failure(401, type="authentication_error", code="client_configuration")
    if isinstance(error, ImportError):
        # AWS's library is imported by the SDKs when it is needed; it comes with our extra `bedrock`.
        return Failure(401, type="authentication_error", code="missing_extra")
    return None


def _is_unsent(error: BaseException) -> bool:
    """The SDKs wrap what their HTTP client raised."""
    return isinstance(error, _UNSENT) or isinstance(error.__cause__, _UNSENT)


def _is_of(error: BaseException, module: str) -> bool:
    return any(kind.__module__.startswith(module) for kind in type(error).__mro__)


def _lacks_credentials(error: BaseException) -> bool:
    """AWS's library found none, or could not renew them; Anthropic's SDK says it with a bare `RuntimeError`."""
    bare = isinstance(error, RuntimeError) and "AWS credentials" in str(error)
    return bare or _is_of(error, _AWS_CLIENT)


def _status_facts(error: anthropic.APIStatusError | openai.APIStatusError, now_s: float) -> Failure:
    facts = _told(error.status_code, error.body, str(error))
    headers = error.response.headers
    kind = facts.type or _word(
        headers.get("x-amzn-errortype", "").partition(":")[0]
    )  # AWS has it there alone
    return Failure(facts.status, kind, facts.code, facts.text, retry_after_s(headers, now_s))


def _told(status: int, body: object, text: str) -> Failure:
    outer = body if isinstance(body, Mapping) else {}
    nested = outer.get("error")
    inner: Mapping[str, Any] = nested if isinstance(nested, Mapping) else outer
    details = inner.get("details")
    code = inner.get("code") or (details.get("error_code") if isinstance(details, Mapping) else None)
    message = inner.get("message")
    return Failure(status, _word(inner.get("type")), _word(code), f"{message}\n{text}" if message else text)


def _word(value: object) -> str:
    """A code as far as it is one: what a server sends goes into logs and the ledger."""
    if not isinstance(value, str) or len(value) > 64 or not value.isascii():
        return ""
    return value if value.replace("_", "").replace("-", "").replace(".", "").isalnum() else ""


def retry_after_s(headers: Mapping[str, str], now_s: float) -> float | None:
    """Seconds that `retry-after-ms` or `retry-after` (seconds or a date) asks for; None where neither is sensible."""
    try:
        if (ms := headers.get("retry-after-ms")) is not None:
            return float(ms) / 1000
        told = headers.get("retry-after")
        return None if told is None else _seconds(told, now_s)
    except (ValueError, TypeError, OverflowError):
        return None


def _seconds(told: str, now_s: float) -> float:
    try:
        return float(told)
    except ValueError:
        return parsedate_to_datetime(told).timestamp() - now_s
