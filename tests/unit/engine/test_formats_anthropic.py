"""What the engine reads out of one Anthropic message, and what it writes."""

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
from precompact_shared.engine.types import Call, Format, Message, Result, Role

WIRE = Format.ANTHROPIC
TEXT = {"type": "text", "text": "look at it"}
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
USE = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "ls"}}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "a.txt", "is_error": True}


def user(*parts: Any) -> Message:
    """A user message of these parts."""
    return {"role": "user", "content": list(parts)}


def assistant(*parts: Any) -> Message:
    """An assistant message of these parts."""
    return {"role": "assistant", "content": list(parts)}


def test_text_of_a_user_is_a_genuine_turn_in_both_shapes() -> None:
    """A string and a text block say the same."""
    for message in ({"role": "user", "content": "look at it"}, user(TEXT)):
        known = facts(WIRE, message)
        assert (known.role, known.user_turn, known.blank) == (Role.USER, True, False)
        assert text_of_user(WIRE, message) == "look at it"


def test_a_message_of_results_alone_is_no_user_turn() -> None:
    """It has role user on the wire, but no user spoke."""
    known = facts(WIRE, user(RESULT, RESULT))
    assert (known.role, known.user_turn) == (Role.TOOL, False)
    assert known.results == (
        Result("toolu_1", "function", 0, is_error=True),
        Result("toolu_1", "function", 1, is_error=True),
    )


@pytest.mark.parametrize("other", [TEXT, IMAGE])
def test_results_with_something_of_the_user_are_a_user_turn(other: Message) -> None:
    """Text or a picture beside the results makes it genuine."""
    known = facts(WIRE, user(RESULT, other))
    assert (known.role, known.user_turn) == (Role.USER, True)


def test_results_with_blank_text_are_no_user_turn() -> None:
    """White space is not a request."""
    assert not facts(WIRE, user(RESULT, {"type": "text", "text": " \n"})).user_turn


def test_calls_results_and_thinking_are_found_by_their_place() -> None:
    """Server tools come with their results in the same message."""
    message = assistant(
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "redacted_thinking", "data": "x"},
        {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {"query": "q"}},
        {"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": []},
        {"type": "mcp_tool_use", "id": "mcp_1", "name": "ask", "server_name": "s", "input": {}},
        {"type": "mcp_tool_result", "tool_use_id": "mcp_1", "is_error": False, "content": []},
        USE,
    )
    known = facts(WIRE, message)
    assert known.thinking == (0, 1)
    assert [(call.kind, call.id) for call in known.calls] == [
        ("server", "srv_1"),
        ("server", "mcp_1"),
        ("function", "toolu_1"),
    ]
    assert known.calls[2].arguments == '{"command":"ls"}'
    assert [(result.kind, result.part) for result in known.results] == [("server", 3), ("server", 5)]


@pytest.mark.parametrize("content", ["", " \n", [], [{"type": "text", "text": "\n"}]])
def test_blank_messages_are_told(content: Any) -> None:
    """No parts, or white space alone."""
    known = facts(WIRE, {"role": "user", "content": content})
    assert known.blank
    assert not known.user_turn


def test_unknown_part_types_are_accepted() -> None:
    """A vendor may add one at any time."""
    assert not facts(WIRE, assistant({"type": "hologram", "x": 1})).blank


@pytest.mark.parametrize(
    ("message", "code", "where"),
    [
        ("hello", "not_an_object", ""),
        ({"content": "x"}, "missing", "role"),
        ({"role": 7, "content": "x"}, "wrong_type", "role"),
        ({"role": "tool", "content": "x"}, "unknown_role", "role"),
        ({"role": "user"}, "missing", "content"),
        ({"role": "user", "content": {}}, "wrong_type", "content"),
        (user("x"), "not_an_object", "content[0]"),
        (user({"text": "x"}), "missing", "content[0].type"),
        (user(TEXT, {"type": "text", "text": 3}), "wrong_type", "content[1].text"),
        (user({"type": "tool_result"}), "missing", "content[0].tool_use_id"),
        (assistant({"type": "tool_use", "id": "x"}), "missing", "content[0].name"),
    ],
)
def test_what_is_no_message_is_refused_with_its_place(message: Any, code: str, where: str) -> None:
    """The place is a path; the text of the message stays out of the error."""
    with pytest.raises(InvalidEntry) as refused:
        facts(WIRE, message)
    assert (refused.value.code, refused.value.where) == (code, where)


def test_a_transcript_shows_calls_results_and_media_but_no_thinking() -> None:
    """In the order of the parts."""
    thinking = {"type": "thinking", "thinking": "secret", "signature": "s"}
    assert plain_text(WIRE, assistant(thinking, TEXT, USE)) == 'look at it\n[call Bash({"command":"ls"})]'
    nested = {**RESULT, "content": [{"type": "text", "text": "seen"}, IMAGE]}
    assert plain_text(WIRE, user(nested, TEXT)) == "seen\n[image]\nlook at it"
    assert text_of_user(WIRE, user(nested, IMAGE, TEXT)) == "look at it"
    assert (
        result_text(WIRE, user(TEXT, nested), facts(WIRE, user(TEXT, nested)).results[0]) == "seen\n[image]"
    )


def test_written_messages_are_read_back() -> None:
    """A user message and an answer to a call."""
    assert text_of_user(WIRE, user_message(WIRE, "go on")) == "go on"
    answer = synthetic_result(WIRE, Call("toolu_1", "function", "Bash", "{}"))
    assert facts(WIRE, answer).results == (Result("toolu_1", "function", 0, is_error=True),)
    assert plain_text(WIRE, answer) == NO_RESULT


def test_deep_nesting_is_read_to_a_point() -> None:
    """A message made to overflow the stack does not."""
    deep: Any = "bottom"
    for _ in range(5_000):
        deep = [{"type": "tool_result", "tool_use_id": "t", "content": deep}]
    assert plain_text(WIRE, {"role": "user", "content": deep}) == ""
    assert facts(WIRE, {"role": "user", "content": deep}).role is Role.TOOL
    while isinstance(deep, list):  # freed step by step: at once would need the depth on the stack
        deep = deep.pop()["content"]
