"""Every error class of Anthropic's SDK is raised by the stand-in's faults, as JSON and as streams."""

from __future__ import annotations

import json
from typing import Any

import anthropic
import pytest
from anthropic import Anthropic
from anthropic.types import CompactionUnavailableError, EnforcedSpendLimitReachedError

from precompact_standin import Fault, FaultKind, FaultRule, Scenario
from tests.support.standin import Served

MODEL = "claude-opus-5"
ASK: list[Any] = [{"role": "user", "content": "Rename the module."}]
ANSWERED: list[tuple[str, type[anthropic.APIStatusError], int, str | None]] = [
    ("rate_limited", anthropic.RateLimitError, 429, "rate_limit_error"),
    ("spend_limited", EnforcedSpendLimitReachedError, 429, "rate_limit_error"),
    ("overloaded", anthropic.OverloadedError, 529, "overloaded_error"),
    ("compaction_unavailable", CompactionUnavailableError, 529, "overloaded_error"),
    ("server_error", anthropic.InternalServerError, 500, "api_error"),
    ("gateway_timeout", anthropic.GatewayTimeoutError, 504, "timeout_error"),
    ("html_500", anthropic.InternalServerError, 500, None),
    ("html_502", anthropic.InternalServerError, 502, None),
    ("bad_request", anthropic.BadRequestError, 400, "invalid_request_error"),
    ("context_overflow", anthropic.BadRequestError, 400, "invalid_request_error"),
    ("unauthorized", anthropic.AuthenticationError, 401, "authentication_error"),
    ("payment_required", anthropic.PaymentRequiredError, 402, "billing_error"),
    ("forbidden", anthropic.PermissionDeniedError, 403, "permission_error"),
    ("not_found", anthropic.NotFoundError, 404, "not_found_error"),
    ("too_large", anthropic.ContentTooLargeError, 413, "request_too_large"),
]
EMPTY: list[tuple[str, str, list[str]]] = [
    ("refusal", "refusal", []),
    ("empty_content", "end_turn", []),
    ("blank_text", "end_turn", ["text"]),
    ("tool_call", "tool_use", ["tool_use"]),
    ("truncated", "max_tokens", ["text"]),
    ("paused", "pause_turn", ["text"]),
    ("window_exceeded", "model_context_window_exceeded", ["text"]),
]


def ask(claude: Any, fault: str, **more: Any) -> Any:
    """One request that meets the fault."""
    headers = {"x-standin-fault": fault}
    return claude.messages.create(model=MODEL, max_tokens=500, messages=ASK, extra_headers=headers, **more)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("row", ANSWERED, ids=lambda row: str(row[0]))
def test_a_fault_raises_its_class(claude: Any, row: Any, stream: bool) -> None:
    """With status, type and request id."""
    fault, error, status, kind = row
    with pytest.raises(error) as caught:
        ask(claude, fault, stream=stream)
    assert caught.value.status_code == status
    assert caught.value.type == kind
    assert caught.value.request_id is not None


async def test_the_asynchronous_client_raises_the_same(async_claude: Any) -> None:
    """One of them stands for all: the mapping is shared."""
    with pytest.raises(anthropic.InternalServerError) as caught:
        await async_claude.messages.create(
            model=MODEL, max_tokens=10, messages=ASK, extra_headers={"x-standin-fault": "overloaded"}
        )
    assert caught.value.status_code == 529


@pytest.mark.parametrize("wanted", ["3", "86400", "4000000", "Wed, 01 Jan 2098 00:00:00 GMT"])
def test_retry_after_goes_out_word_for_word(claude: Any, wanted: str) -> None:
    """Also when nobody should wait that long."""
    with pytest.raises(anthropic.RateLimitError) as caught:
        ask(claude, f"rate_limited; retry_after={wanted}")
    assert caught.value.response.headers["retry-after"] == wanted


@pytest.mark.parametrize("fault", ["html_200; media_type=application/json", "empty_200"])
def test_a_200_without_json_is_no_api_error(claude: Any, fault: str) -> None:
    """The SDK lets the decoder's error through."""
    with pytest.raises(json.JSONDecodeError):
        ask(claude, fault)


def test_a_page_of_200_is_a_text_to_a_lenient_client(claude: Any, standin: Served) -> None:
    """Only a strict one says so: the lenient one hands out the page where a message was promised."""
    with pytest.raises(anthropic.APIResponseValidationError):
        ask(claude, "html_200")
    with Anthropic(base_url=standin.url, api_key="sk-test", max_retries=0) as lenient:
        assert str(ask(lenient, "html_200")).startswith("<!DOCTYPE html>")


@pytest.mark.parametrize(("fault", "reason", "kinds"), EMPTY)
def test_a_200_may_hold_no_answer(claude: Any, fault: str, reason: str, kinds: list[str]) -> None:
    """As JSON and as a stream."""
    whole = ask(claude, fault)
    assert whole.stop_reason == reason
    assert [block.type for block in whole.content] == kinds
    with claude.messages.stream(
        model=MODEL, max_tokens=500, messages=ASK, extra_headers={"x-standin-fault": fault}
    ) as stream:
        streamed = stream.get_final_message()
    assert streamed.stop_reason == reason
    assert [block.type for block in streamed.content] == kinds


def test_a_refusal_says_of_which_category(claude: Any) -> None:
    """In `stop_details`."""
    assert ask(claude, "refusal; code=cyber").stop_details.category == "cyber"


def test_a_cut_stream_ends_quietly_with_part_of_the_text(claude: Any) -> None:
    """No exception, and no stop reason: the caller has to look."""
    with claude.messages.stream(
        model=MODEL,
        max_tokens=500,
        messages=ASK,
        extra_headers={"x-standin-fault": "cut_stream; after_events=4"},
    ) as stream:
        cut = stream.get_final_message()
    assert cut.stop_reason is None
    assert cut.content[0].type == "text"


@pytest.mark.parametrize("kind", ["overloaded_error", "api_error", "rate_limit_error"])
def test_an_error_in_mid_stream_is_a_plain_status_error_of_200(claude: Any, kind: str) -> None:
    """The truth stands in its type."""
    with (
        pytest.raises(anthropic.APIStatusError) as caught,
        claude.messages.stream(
            model=MODEL,
            max_tokens=500,
            messages=ASK,
            extra_headers={"x-standin-fault": f"error_event; code={kind}"},
        ) as stream,
    ):
        stream.get_final_message()
    assert caught.value.status_code == 200
    assert caught.value.type == kind


@pytest.mark.parametrize("fault", ["reset", "reset_stream"])
def test_a_reset_connection_is_a_connection_error(claude: Any, fault: str) -> None:
    """Before the first byte, and in the middle of the body."""
    with pytest.raises(anthropic.APIConnectionError):
        ask(claude, fault)


def test_a_reset_in_mid_stream_is_an_error_of_the_transport(claude: Any) -> None:
    """The SDK does not wrap it, so it is no `APIError`."""
    with (
        pytest.raises(Exception, match="reset") as caught,
        claude.messages.stream(
            model=MODEL, max_tokens=500, messages=ASK, extra_headers={"x-standin-fault": "reset_stream"}
        ) as stream,
    ):
        stream.get_final_message()
    assert not isinstance(caught.value, anthropic.APIError)
    assert type(caught.value).__name__ == "ReadError"


@pytest.mark.parametrize("fault", ["slow_first_byte", "stalled_stream"])
def test_silence_is_a_timeout(claude: Any, fault: str) -> None:
    """Of whoever waits with a limit."""
    with pytest.raises(anthropic.APITimeoutError):
        ask(claude, fault, timeout=0.3)


def test_a_short_silence_is_survived(claude: Any) -> None:
    """The stream goes on where it stood."""
    with claude.messages.stream(
        model=MODEL,
        max_tokens=500,
        messages=ASK,
        extra_headers={"x-standin-fault": "stalled_stream; duration_s=0.05"},
    ) as stream:
        assert stream.get_final_message().stop_reason == "end_turn"


def test_no_key_and_an_unknown_key_are_refused(claude: Any, standin: Served) -> None:
    """Once the scenario names keys, no others are good."""
    standin.play(Scenario(keys={"sk-good": "w1"}))
    with pytest.raises(anthropic.AuthenticationError):
        ask(claude, "")
    assert ask(claude.with_options(api_key="sk-good"), "")


def test_an_unknown_model_is_not_found(claude: Any, standin: Served) -> None:
    """When only known ones are served."""
    standin.play(Scenario(only_known_models=True))
    with pytest.raises(anthropic.NotFoundError):
        claude.messages.create(model="claudia-1", max_tokens=10, messages=ASK)


def test_more_than_32_mb_is_too_large(claude: Any) -> None:
    """A21, by the size of the body."""
    with pytest.raises(anthropic.APIStatusError) as caught:
        claude.messages.create(
            model=MODEL, max_tokens=10, messages=[{"role": "user", "content": "x" * (32 << 20)}]
        )
    assert caught.value.status_code == 413


def test_faults_come_by_rule(claude: Any, standin: Served) -> None:
    """Every third request, twice at most."""
    overloaded = FaultRule(fault=Fault(kind=FaultKind.OVERLOADED), path="/messages", every=3, times=2)
    standin.play(Scenario(faults=(overloaded,)))
    for _ in range(10):
        try:
            ask(claude, "")
        except anthropic.InternalServerError:
            continue
    assert [entry["status"] for entry in standin.requests] == [
        200,
        200,
        529,
        200,
        200,
        529,
        200,
        200,
        200,
        200,
    ]
