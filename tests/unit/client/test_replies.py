from __future__ import annotations

from typing import Any

import pytest

from precompact import Session
from precompact.context import Format
from precompact.replies import messages_of, plain, ran_server_tools, usage_of
from tests.unit.client.conftest import Open
from tests.unit.client.fake_service import FakeService
from tests.unit.client.test_prepare import said

ANTHROPIC = {
    "input_tokens": 5,
    "cache_creation_input_tokens": 10,
    "cache_read_input_tokens": 100,
    "output_tokens": 7,
}
RESPONSES = {"input_tokens": 115, "input_tokens_details": {"cached_tokens": 100}, "output_tokens": 7}
CHAT = {"prompt_tokens": 115, "prompt_tokens_details": {"cached_tokens": 100}, "completion_tokens": 7}


@pytest.mark.parametrize(
    ("wire", "usage", "written"),
    [("anthropic", ANTHROPIC, 10), ("openai-responses", RESPONSES, 0), ("openai-chat", CHAT, 0)],
)
def test_every_convention_comes_to_the_whole_prompt(wire: str, usage: dict[str, Any], written: int) -> None:
    """Anthropic leaves the cached part out, OpenAI has it in."""
    assert usage_of(Format(wire), usage) == {
        "input_tokens": 115,
        "output_tokens": 7,
        "cache_read_tokens": 100,
        "cache_write_tokens": written,
    }


@pytest.mark.parametrize(
    ("wire", "usage"),
    [
        ("anthropic", ANTHROPIC | {"output_tokens_details": {"thinking_tokens": 3}}),
        ("openai-responses", RESPONSES | {"output_tokens_details": {"reasoning_tokens": 3}}),
        ("openai-chat", CHAT | {"completion_tokens_details": {"reasoning_tokens": 3}}),
    ],
)
def test_reasoning_is_told_where_the_provider_tells_it(wire: str, usage: dict[str, Any]) -> None:
    """It stays in the next prompt or leaves it, and the transcript does not always hold it."""
    told = usage_of(Format(wire), usage)
    assert told is not None
    assert told["reasoning_tokens"] == 3


def test_a_reply_with_server_side_tools_says_so() -> None:
    """Its counts sum up several passes; the service must not count from them, nor learn from what grew meanwhile."""
    usage = ANTHROPIC | {"server_tool_use": {"web_search_requests": 1}}
    assert (usage_of(Format.ANTHROPIC, usage) or {})["server_tools"] is True
    search = {"type": "web_search_call", "id": "ws_1", "status": "completed"}
    assert ran_server_tools(Format.OPENAI_RESPONSES, [search])
    assert not ran_server_tools(Format.OPENAI_RESPONSES, [{"type": "function_call"}])
    assert not ran_server_tools(Format.OPENAI_CHAT, [search])


@pytest.mark.parametrize("usage", [None, {}, {"input_tokens": 0, "output_tokens": 0}])
def test_counts_that_are_no_measure_of_the_prompt_are_left_out(usage: dict[str, int] | None) -> None:
    """An aborted reply."""
    assert usage_of(Format.ANTHROPIC, usage) is None


def test_usage_says_which_context_it_was_measured_on(open_session: Open, service: FakeService) -> None:
    """Version and length of the answer the model call was made from, though more was recorded since; sent once."""
    service.compact_every = 3
    session = open_session()
    session.prepare([said(0), said(1), said(2)])
    session.record({"content": [{"type": "text", "text": "ok"}], "usage": ANTHROPIC})
    session.prepare(said(4))
    session.prepare(said(5))
    usage = service.bodies()[1]["usage"]
    assert usage == {**usage_of(Format.ANTHROPIC, ANTHROPIC), "version": 1, "length": 3}  # type: ignore[dict-item]
    assert "usage" not in service.bodies()[2]


def test_usage_given_to_prepare_is_recorded(session: Session, service: FakeService) -> None:
    """For loops that keep the reply themselves."""
    session.prepare(said(0))
    session.append(said(1))
    session.prepare(said(2), usage=ANTHROPIC)
    assert service.bodies()[1]["usage"]["input_tokens"] == 115


def test_usage_of_another_model_is_forgotten(session: Session, service: FakeService) -> None:
    """The new one counts differently."""
    session.prepare(said(0))
    session.record_usage(ANTHROPIC)
    session.use_model("claude-opus-4-6", window=200)
    session.prepare(said(1))
    body = service.bodies()[1]
    assert (body["model"], body["window"], body.get("usage")) == ("claude-opus-4-6", 200, None)


def test_a_reply_becomes_the_entries_that_can_be_sent_back() -> None:
    """Answer-only fields go, everything signed or encrypted stays as it is; an empty reply is no entry."""
    reasoning = {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "e"}
    assert messages_of(Format.OPENAI_RESPONSES, {"output": [reasoning]}) == [reasoning]
    message = {
        "role": "assistant",
        "content": None,
        "refusal": None,
        "annotations": [],
        "tool_calls": [{"id": "c"}],
    }
    assert messages_of(Format.OPENAI_CHAT, {"choices": [{"message": message}]}) == [
        {"role": "assistant", "content": None, "tool_calls": [{"id": "c"}]}
    ]
    assert messages_of(Format.ANTHROPIC, {"role": "assistant", "content": []}) == []
    thinking = [{"type": "thinking", "thinking": "t", "signature": "s"}]
    assert messages_of(Format.ANTHROPIC, {"content": thinking}) == [
        {"role": "assistant", "content": thinking}
    ]


def test_what_is_neither_mapping_nor_sdk_object_is_a_type_error() -> None:
    """Early, by name of the type alone."""
    with pytest.raises(TypeError, match="got str"):
        plain("hello")


def test_text_that_no_utf8_can_carry_does_not_stop_the_agent(session: Session, service: FakeService) -> None:
    """A lone surrogate from some tool's output: neither the service nor an SDK could send it."""
    context = session.prepare({"role": "user", "content": "a\ud800b äß海 \ud83d\ude42"})
    assert context.messages == [{"role": "user", "content": "a\ufffdb äß海 🙂"}]
    assert service.sessions["s1"].entries == session.messages


@pytest.mark.parametrize("value", [float("nan"), object(), {1, 2}])
def test_what_is_no_json_is_refused_when_it_is_appended(session: Session, value: Any) -> None:
    """And nothing of the call is kept: it would spoil every later one."""
    with pytest.raises((ValueError, TypeError)):
        session.append([said(0), {"role": "user", "content": value}])
    assert session.messages == []
