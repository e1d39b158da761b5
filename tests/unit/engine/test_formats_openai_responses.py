"""What the engine reads out of one Responses item, and what it writes."""

from __future__ import annotations

from typing import Any

import pytest

from precompact_shared.engine.formats import (
    InvalidEntry,
    facts,
    plain_text,
    result_text,
    synthetic_result,
    text_of_user,
    user_message,
)
from precompact_shared.engine.pairing import pair
from precompact_shared.engine.types import Call, Entry, Format, Message, Result, Role
from precompact_shared.engine.validate import validate

WIRE = Format.OPENAI_RESPONSES
CALLS: list[Message] = [
    {"type": "function_call", "call_id": "c", "name": "ls", "arguments": "{}"},
    {"type": "custom_tool_call", "call_id": "c", "name": "exec", "input": "text(1)", "status": "completed"},
    {"type": "local_shell_call", "id": "i", "call_id": "c", "action": {"type": "exec", "command": ["ls"]}},
    {"type": "shell_call", "call_id": "c", "action": {"commands": ["ls"]}},
    {"type": "apply_patch_call", "call_id": "c", "operation": {"type": "delete_file", "path": "a"}},
    {"type": "computer_call", "id": "i", "call_id": "c", "action": {"type": "screenshot"}},
    {"type": "tool_search_call", "call_id": "c", "arguments": {"queries": ["x"]}, "execution": "client"},
    {"type": "program", "id": "i", "call_id": "c", "code": "1+1", "fingerprint": "f"},
    {"type": "mcp_approval_request", "id": "c", "name": "ask", "arguments": "{}", "server_label": "s"},
]


def test_messages_are_read_with_and_without_their_type() -> None:
    """The short form has no type."""
    short = {"role": "user", "content": "look"}
    long = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "look"}]}
    for message in (short, long):
        known = facts(WIRE, message)
        assert (known.role, known.user_turn) == (Role.USER, True)
        assert text_of_user(WIRE, message) == "look"
    assert facts(WIRE, {"role": "developer", "content": "rules"}).role is Role.SYSTEM


@pytest.mark.parametrize("item", CALLS, ids=lambda item: str(item["type"]))
def test_every_kind_of_call_is_answered_by_its_synthetic_result(item: Message) -> None:
    """The answer has the shape of the kind, so the pair is valid."""
    (call,) = facts(WIRE, item).calls
    assert call.id == "c"
    answer = synthetic_result(WIRE, call)
    pairing = pair(WIRE, [Entry(0, item, 1), Entry(1, answer, 1)])
    assert pairing.owner == {(1, 0): (0, 0)}
    assert validate(WIRE, [item, answer]) == ()


@pytest.mark.parametrize(
    "item",
    [
        {"type": "web_search_call", "status": "completed", "action": {"type": "search", "query": "q"}},
        {"type": "web_search_call", "status": "completed"},
        {"type": "mcp_call", "id": "m", "name": "ask", "arguments": "{}", "output": None, "error": None},
        {"type": "code_interpreter_call", "id": "ci", "code": "1", "container_id": "x", "outputs": None},
        {"type": "tool_search_call", "call_id": None, "arguments": {}, "execution": "server"},
    ],
)
def test_calls_that_hold_their_own_output_wait_for_nothing(item: Message) -> None:
    """They ran at the provider."""
    known = facts(WIRE, item)
    assert known.role is Role.ASSISTANT
    assert [call.kind for call in known.calls] == ["server"]
    assert validate(WIRE, [item]) == ()


def test_outputs_are_results_of_the_whole_item() -> None:
    """Text or a list of parts."""
    image = {"type": "input_image", "image_url": "data:image/png;base64,AAAA"}
    item = {
        "type": "custom_tool_call_output",
        "call_id": "c",
        "output": [{"type": "input_text", "text": "a"}, image],
    }
    known = facts(WIRE, item)
    assert (known.role, known.results) == (Role.TOOL, (Result("c", "custom", None, is_error=False),))
    assert result_text(WIRE, item, known.results[0]) == "a\n[image]"
    old = {"type": "local_shell_call_output", "id": "c", "output": "x"}
    assert facts(WIRE, old).results[0].id == "c"


def test_reasoning_compaction_and_unknown_items_are_accepted() -> None:
    """None of them shows in a transcript."""
    reasoning = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "x"}]}
    assert facts(WIRE, reasoning).reasoning
    assert facts(WIRE, {"type": "compaction", "encrypted_content": "x"}).role is Role.ASSISTANT
    assert facts(WIRE, {"type": "hologram"}).role is Role.OTHER
    assert plain_text(WIRE, reasoning) == ""


@pytest.mark.parametrize(
    ("item", "code", "where"),
    [
        (3, "not_an_object", ""),
        ({}, "missing", "type"),
        ({"type": 3}, "wrong_type", "type"),
        ({"role": "user"}, "missing", "content"),
        ({"type": "message", "role": "critic", "content": "x"}, "unknown_role", "role"),
        ({"type": "function_call", "name": "x", "arguments": ""}, "missing", "call_id"),
        ({"type": "function_call", "call_id": "x", "arguments": ""}, "missing", "name"),
        ({"type": "function_call_output", "output": ""}, "missing", "call_id"),
    ],
)
def test_what_is_no_item_is_refused_with_its_place(item: Any, code: str, where: str) -> None:
    """The place is a path; the text of the item stays out of the error."""
    with pytest.raises(InvalidEntry) as refused:
        facts(WIRE, item)
    assert (refused.value.code, refused.value.where) == (code, where)


def test_a_transcript_shows_calls_and_outputs() -> None:
    """One line for a call."""
    assert plain_text(WIRE, CALLS[1]) == "[call exec(text(1))]"
    called = {"type": "mcp_call", "id": "m", "name": "ask", "arguments": "{}", "output": "42"}
    assert plain_text(WIRE, called) == "[call ask({})]\n42"
    assert text_of_user(WIRE, user_message(WIRE, "go on")) == "go on"
    assert plain_text(WIRE, synthetic_result(WIRE, Call("c", "function", "ls", "{}"))).startswith("no result")
