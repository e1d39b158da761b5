"""What the engine reads out of one Chat Completions message, and what it writes."""

from __future__ import annotations

from typing import Any

import pytest

from precompact_shared.engine.formats import (
    NO_RESULT,
    InvalidEntry,
    facts,
    plain_text,
    result_text,
    synthetic_result,
    text_of_user,
    user_message,
)
from precompact_shared.engine.types import Call, Format, Result, Role

WIRE = Format.OPENAI_CHAT
FUNCTION = {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": '{"path": "."}'}}
CUSTOM = {"id": "c2", "type": "custom", "custom": {"name": "patch", "input": "*** Begin"}}


@pytest.mark.parametrize(
    ("role", "expected"),
    [("system", Role.SYSTEM), ("developer", Role.SYSTEM), ("user", Role.USER), ("assistant", Role.ASSISTANT)],
)
def test_roles_are_read(role: str, expected: Role) -> None:
    """Developer text is system text."""
    known = facts(WIRE, {"role": role, "content": "x"})
    assert known.role is expected
    assert known.user_turn is (expected is Role.USER)


def test_calls_of_all_kinds_are_found() -> None:
    """Function, custom, and the old single function call."""
    known = facts(WIRE, {"role": "assistant", "content": None, "tool_calls": [FUNCTION, CUSTOM]})
    assert known.calls == (
        Call("c1", "function", "ls", '{"path": "."}'),
        Call("c2", "custom", "patch", "*** Begin"),
    )
    assert not known.blank
    old = facts(WIRE, {"role": "assistant", "function_call": {"name": "ls", "arguments": "{}"}})
    assert old.calls == (Call("ls", "legacy", "ls", "{}"),)


def test_a_tool_message_is_one_result() -> None:
    """The whole message is the result."""
    message = {"role": "tool", "tool_call_id": "c1", "content": "a.txt"}
    known = facts(WIRE, message)
    assert known.role is Role.TOOL
    assert known.results == (Result("c1", "function", None, is_error=False),)
    assert result_text(WIRE, message, known.results[0]) == "a.txt"


@pytest.mark.parametrize(
    "message",
    [
        {"role": "assistant", "content": None},
        {"role": "assistant", "content": ""},
        {"role": "assistant", "content": [], "tool_calls": []},
        {"role": "user", "content": [{"type": "text", "text": " "}]},
    ],
)
def test_blank_messages_are_told(message: Any) -> None:
    """Nothing to read in any of them."""
    assert facts(WIRE, message).blank


@pytest.mark.parametrize(
    ("message", "code", "where"),
    [
        ([], "not_an_object", ""),
        ({"role": "critic", "content": "x"}, "unknown_role", "role"),
        ({"role": "user", "content": None}, "missing", "content"),
        ({"role": "user", "content": [1]}, "not_an_object", "content[0]"),
        ({"role": "tool", "content": "x"}, "missing", "tool_call_id"),
        ({"role": "assistant", "tool_calls": "x"}, "wrong_type", "tool_calls"),
        ({"role": "assistant", "tool_calls": [{"function": {"name": "x"}}]}, "missing", "tool_calls[0].id"),
        ({"role": "assistant", "tool_calls": [{"id": "x"}]}, "not_an_object", "tool_calls[0].function"),
    ],
)
def test_what_is_no_message_is_refused_with_its_place(message: Any, code: str, where: str) -> None:
    """The place is a path; the text of the message stays out of the error."""
    with pytest.raises(InvalidEntry) as refused:
        facts(WIRE, message)
    assert (refused.value.code, refused.value.where) == (code, where)


def test_a_transcript_shows_text_calls_and_media() -> None:
    """In this order."""
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    said = {"role": "assistant", "content": "I look", "tool_calls": [FUNCTION]}
    assert plain_text(WIRE, said) == 'I look\n[call ls({"path": "."})]'
    asked = {"role": "user", "content": [{"type": "text", "text": "see"}, image]}
    assert plain_text(WIRE, asked) == "see\n[image]"
    assert text_of_user(WIRE, asked) == "see"
    assert text_of_user(WIRE, said) == ""


def test_written_messages_are_read_back() -> None:
    """A user message, and answers to calls of each kind."""
    assert text_of_user(WIRE, user_message(WIRE, "go on")) == "go on"
    for call in facts(WIRE, {"role": "assistant", "tool_calls": [FUNCTION, CUSTOM]}).calls:
        answer = synthetic_result(WIRE, call)
        assert facts(WIRE, answer).results[0].id == call.id
        assert plain_text(WIRE, answer) == NO_RESULT
    old = synthetic_result(WIRE, Call("ls", "legacy", "ls", "{}"))
    assert facts(WIRE, old).results == (Result("ls", "legacy", None, is_error=False),)
