"""Every error class of OpenAI's SDK is raised by the stand-in's faults, and every quiet failure stays quiet."""

from __future__ import annotations

import json
from typing import Any

import openai
import pytest
from openai import OpenAI

from precompact_standin import Scenario
from tests.support.standin import Served

MODEL = "gpt-6-sol"
CHAT: list[Any] = [{"role": "user", "content": "Rename the module."}]
ANSWERED: list[tuple[str, type[openai.APIStatusError], int, str | None]] = [
    ("rate_limited", openai.RateLimitError, 429, "rate_limit_exceeded"),
    ("rate_limited; code=slow_down", openai.RateLimitError, 429, "slow_down"),
    ("spend_limited", openai.RateLimitError, 429, "insufficient_quota"),
    ("overloaded", openai.InternalServerError, 503, "server_is_overloaded"),
    ("server_error", openai.InternalServerError, 500, "server_error"),
    ("html_500", openai.InternalServerError, 500, None),
    ("html_502", openai.InternalServerError, 502, None),
    ("bad_request", openai.BadRequestError, 400, None),
    ("context_overflow", openai.BadRequestError, 400, "context_length_exceeded"),
    ("content_filtered", openai.BadRequestError, 400, "content_filter"),
    ("unauthorized", openai.AuthenticationError, 401, "invalid_api_key"),
    ("payment_required", openai.APIStatusError, 402, None),
    ("forbidden", openai.PermissionDeniedError, 403, "unsupported_country"),
    ("not_found", openai.NotFoundError, 404, "model_not_found"),
    ("too_large", openai.APIStatusError, 413, None),
]
TERMINAL = {"response.completed", "response.failed", "response.incomplete"}


def respond(gpt: Any, fault: str, **more: Any) -> Any:
    """One request that meets the fault."""
    return gpt.responses.create(model=MODEL, input="Go on.", extra_headers={"x-standin-fault": fault}, **more)


def chat(gpt: Any, fault: str, **more: Any) -> Any:
    """The same for a chat."""
    headers = {"x-standin-fault": fault}
    return gpt.chat.completions.create(model=MODEL, messages=CHAT, extra_headers=headers, **more)


@pytest.mark.parametrize("send", [respond, chat])
@pytest.mark.parametrize("row", ANSWERED, ids=lambda row: str(row[0]))
def test_a_fault_raises_its_class(gpt: Any, send: Any, row: Any) -> None:
    """With status, code and request id."""
    fault, error, status, code = row
    with pytest.raises(error) as caught:
        send(gpt, fault)
    assert caught.value.status_code == status
    assert caught.value.code == code
    assert caught.value.request_id is not None


def test_a_quota_is_told_by_its_type(gpt: Any) -> None:
    """The class is that of any rate limit."""
    with pytest.raises(openai.RateLimitError) as caught:
        respond(gpt, "spend_limited")
    assert caught.value.type == "insufficient_quota"


@pytest.mark.parametrize("send", [respond, chat])
def test_a_200_without_json_is_no_api_error(gpt: Any, standin: Served, send: Any) -> None:
    """The decoder's error, or a page where a reply was promised, by its content type."""
    for fault in ("empty_200", "html_200; media_type=application/json"):
        with pytest.raises(json.JSONDecodeError):
            send(gpt, fault)
    with pytest.raises(openai.APIResponseValidationError):
        send(gpt, "html_200")
    with OpenAI(base_url=standin.openai_url, api_key="sk-test", max_retries=0) as lenient:
        assert str(send(lenient, "html_200")).startswith("<!DOCTYPE html>")
    assert list(send(gpt, "html_200", stream=True)) == []


@pytest.mark.parametrize(
    ("fault", "status", "detail"),
    [
        ("failed", "failed", "server_error"),
        ("failed; code=rate_limit_exceeded", "failed", "rate_limit_exceeded"),
        ("failed; code=invalid_prompt", "failed", "invalid_prompt"),
        ("incomplete", "incomplete", "max_output_tokens"),
        ("incomplete; code=content_filter", "incomplete", "content_filter"),
        ("truncated", "incomplete", "max_output_tokens"),
        ("refusal", "completed", "refusal"),
        ("empty_content", "completed", ""),
        ("blank_text", "completed", "output_text"),
        ("tool_call", "completed", "function_call"),
    ],
)
def test_a_200_may_hold_no_answer(gpt: Any, fault: str, status: str, detail: str) -> None:
    """As JSON and as a stream, which ends with the event of its status."""
    whole = respond(gpt, fault)
    *_, last = respond(gpt, fault, stream=True)
    assert last.type == f"response.{status}"
    for reply in (whole, last.response):
        assert reply.status == status
        assert _detail(reply) == detail
        assert not reply.output_text.strip() or status == "incomplete"


def _detail(reply: Any) -> str:
    if reply.error:
        return str(reply.error.code)
    if reply.incomplete_details:
        return str(reply.incomplete_details.reason)
    if not reply.output:
        return ""
    return str(reply.output[0].content[0].type if reply.output[0].type == "message" else reply.output[0].type)


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("truncated", "length"),
        ("incomplete; code=content_filter", "content_filter"),
        ("tool_call", "tool_calls"),
    ],
)
def test_a_chat_tells_by_its_finish_reason(gpt: Any, fault: str, reason: str) -> None:
    """Azure's filtered output is one of them."""
    assert chat(gpt, fault).choices[0].finish_reason == reason


def test_a_chat_refuses_in_a_field_of_its_own(gpt: Any) -> None:
    """With an ordinary finish reason."""
    message = chat(gpt, "refusal").choices[0].message
    assert (message.content, bool(message.refusal)) == (None, True)


def test_a_cut_stream_ends_without_a_terminal_event(gpt: Any) -> None:
    """Quietly."""
    kinds = [event.type for event in respond(gpt, "cut_stream; after_events=99", stream=True)]
    assert not TERMINAL & set(kinds)
    assert "response.output_text.delta" in kinds
    chunks = list(chat(gpt, "cut_stream", stream=True))
    assert all(chunk.choices[0].finish_reason is None for chunk in chunks)


def test_a_flat_error_is_an_event_and_a_nested_one_is_raised(gpt: Any) -> None:
    """Both shapes exist."""
    *_, last = respond(gpt, "flat_error_event; code=rate_limit_exceeded", stream=True)
    assert (last.type, last.code) == ("error", "rate_limit_exceeded")
    with pytest.raises(openai.APIError):
        list(respond(gpt, "error_event", stream=True))
    with pytest.raises(openai.APIError):
        list(chat(gpt, "error_event", stream=True))


@pytest.mark.parametrize("fault", ["failed", "incomplete", "cut_stream", "flat_error_event"])
def test_the_stream_helper_raises_a_bare_error_for_all_of_them(gpt: Any, fault: str) -> None:
    """So it does not tell them apart."""
    with (
        pytest.raises(RuntimeError),
        gpt.responses.stream(model=MODEL, input="Go on.", extra_headers={"x-standin-fault": fault}) as stream,
    ):
        stream.get_final_response()


@pytest.mark.parametrize("fault", ["reset", "reset_stream"])
@pytest.mark.parametrize("stream", [False, True])
def test_a_reset_is_a_connection_error(gpt: Any, fault: str, stream: bool) -> None:
    """At any point."""
    with pytest.raises(openai.APIConnectionError):
        list(respond(gpt, fault, stream=stream))


def test_silence_is_a_timeout(gpt: Any) -> None:
    """Of whoever waits with a limit."""
    with pytest.raises(openai.APITimeoutError):
        respond(gpt, "slow_first_byte", timeout=0.3)


def test_an_unknown_model_is_not_found(gpt: Any, standin: Served) -> None:
    """When only known ones are served."""
    standin.play(Scenario(only_known_models=True))
    with pytest.raises(openai.NotFoundError) as caught:
        gpt.responses.create(model="gpt-1", input="Hi.")
    assert caught.value.code == "model_not_found"


def test_an_unknown_key_is_refused(gpt: Any, standin: Served) -> None:
    """Once the scenario names keys."""
    standin.play(Scenario(keys={"sk-good": "w1"}))
    with pytest.raises(openai.AuthenticationError):
        respond(gpt, "")
