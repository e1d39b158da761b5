"""Each rule finds its breach, and the recorded conversations get exactly the complaints they deserve."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given

from precompact_shared.engine.types import Format, Message
from precompact_shared.engine.validate import CHECKS, Severity, validate
from tests.support.histories import any_history
from tests.support.recordings import data_dir, needs_recordings, recordings

ANTHROPIC, CHAT, RESPONSES = Format.ANTHROPIC, Format.OPENAI_CHAT, Format.OPENAI_RESPONSES
ASK: Message = {"role": "user", "content": "do it"}
DONE: Message = {"role": "assistant", "content": "done"}
TEXT: Message = {"type": "text", "text": "x"}
USE: Message = {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "t", "input": {}}]}
RESULT: Message = {"type": "tool_result", "tool_use_id": "a", "content": "ok"}
SERVER_RESULT: Message = {"type": "web_search_tool_result", "tool_use_id": "s", "content": []}
CHAT_USE: Message = {
    "role": "assistant",
    "tool_calls": [{"id": "a", "type": "function", "function": {"name": "t", "arguments": "{}"}}],
}
CHAT_RESULT: Message = {"role": "tool", "tool_call_id": "a", "content": "ok"}
ITEM_USE: Message = {"type": "function_call", "call_id": "a", "name": "t", "arguments": "{}"}
ITEM_RESULT: Message = {"type": "function_call_output", "call_id": "a", "output": "ok"}
CUSTOM_USE: Message = {"type": "custom_tool_call", "call_id": "a", "name": "t", "input": ""}
REASONING: Message = {"type": "reasoning", "id": "rs_1", "summary": []}


def user(*parts: Message) -> Message:
    """A user message of these parts."""
    return {"role": "user", "content": list(parts)}


def assistant(*parts: Message) -> Message:
    """An assistant message of these parts."""
    return {"role": "assistant", "content": list(parts)}


def found(wire: Format, messages: list[Any], *, open_end_ok: bool = False) -> list[tuple[str, int]]:
    """Ids and indexes of the breaches."""
    return [(breach.id, breach.index) for breach in validate(wire, messages, open_end_ok=open_end_ok)]


@pytest.mark.parametrize(
    ("wire", "messages", "expected"),
    [
        (ANTHROPIC, [DONE, ASK], [("A2", 0)]),
        (ANTHROPIC, [ASK, USE, ASK, DONE], [("A5", 1)]),
        (ANTHROPIC, [user(RESULT), DONE], [("A6", 0)]),
        (ANTHROPIC, [ASK, USE, user(TEXT, RESULT)], [("A7", 2)]),
        (ANTHROPIC, [ASK, USE, user(TEXT), user(RESULT)], [("A7", 3)]),
        (ANTHROPIC, [user(TEXT, {"type": "text", "text": ""})], [("A9a", 0)]),
        (ANTHROPIC, [ASK, DONE, {"role": "user", "content": " \n"}], [("A9b", 2)]),
        (ANTHROPIC, [ASK, DONE, {"role": "user", "content": []}], [("A9b", 2)]),
        (ANTHROPIC, [ASK, assistant({"type": "text", "text": "\n\n"}), ASK], [("A9b", 1)]),
        (ANTHROPIC, [ASK, assistant(), ASK], [("A9c", 1)]),
        (ANTHROPIC, [ASK, assistant({"type": "thinking", "thinking": "hm"}, TEXT)], [("A10", 1)]),
        (ANTHROPIC, [ASK, assistant({"type": "redacted_thinking"}, TEXT)], [("A10", 1)]),
        (ANTHROPIC, [ASK, assistant(SERVER_RESULT)], [("A17", 1)]),
        (CHAT, [ASK, CHAT_USE, ASK], [("C1", 1)]),
        (CHAT, [ASK, CHAT_RESULT], [("C2", 1)]),
        (CHAT, [ASK, CHAT_USE, CHAT_RESULT, CHAT_RESULT], [("C2", 3)]),
        (CHAT, [ASK, {"role": "assistant", "content": None}], [("C3", 1)]),
        (CHAT, [{"role": "user", "content": []}], [("C4", 0)]),
        (CHAT, [ASK, CHAT_USE, {**CHAT_RESULT, "content": [{"type": "image_url"}]}], [("C4", 2)]),
        (RESPONSES, [ASK, ITEM_USE, ASK], [("O1", 1)]),
        (RESPONSES, [ASK, ITEM_RESULT], [("O2", 1)]),
        (RESPONSES, [ASK, ITEM_USE, ITEM_RESULT, ITEM_RESULT], [("O2", 3)]),
        (RESPONSES, [ASK, CUSTOM_USE, ITEM_RESULT], [("O3", 1), ("O2", 2)]),
        (RESPONSES, [ASK, REASONING, ASK], [("O4", 1)]),
        (RESPONSES, [ASK, {**REASONING, "summary": None}, DONE], [("O6", 1)]),
        (RESPONSES, [ASK, {**REASONING, "content": [{"type": "reasoning_text"}]}, DONE], [("O6", 1)]),
        (ANTHROPIC, [ASK, 3, {"role": "tool"}], [("F0", 1), ("F0", 2)]),
    ],
)
def test_each_rule_finds_its_breach(
    wire: Format, messages: list[Any], expected: list[tuple[str, int]]
) -> None:
    """And only that one."""
    assert found(wire, messages) == expected


@pytest.mark.parametrize(
    ("wire", "messages"),
    [
        (ANTHROPIC, []),
        (ANTHROPIC, [assistant({"type": "compaction", "content": "so far"}), ASK]),
        (ANTHROPIC, [ASK, assistant({"type": "text", "text": "\n"}), DONE]),
        (ANTHROPIC, [ASK, USE, user(RESULT, TEXT)]),
        (CHAT, [ASK, {"role": "assistant", "content": ""}]),
        (CHAT, [ASK, {"role": "assistant", "refusal": "no"}]),
        (RESPONSES, [ASK, {**REASONING, "content": None}, DONE]),
        (RESPONSES, [ASK, REASONING, ITEM_USE, ITEM_RESULT]),
    ],
)
def test_what_providers_accept_is_not_complained_of(wire: Format, messages: list[Any]) -> None:
    """Looks odd, is allowed."""
    assert validate(wire, messages) == ()


@pytest.mark.parametrize(
    ("wire", "messages", "id_"),
    [(ANTHROPIC, [ASK, USE], "A5"), (CHAT, [ASK, CHAT_USE], "C1"), (RESPONSES, [ASK, ITEM_USE], "O1")],
)
def test_an_open_end_is_reported_unless_it_is_allowed(wire: Format, messages: list[Any], id_: str) -> None:
    """A worker reads histories in this state."""
    assert found(wire, messages) == [(id_, 1)]
    assert found(wire, messages, open_end_ok=True) == []


def test_reasoning_at_the_end_and_without_an_id_is_milder() -> None:
    """At an open end its item is still to come; without an id nobody looks it up."""
    assert found(RESPONSES, [ASK, REASONING], open_end_ok=True) == []
    assert found(RESPONSES, [ASK, REASONING]) == [("O4", 1)]
    (breach,) = validate(RESPONSES, [ASK, {"type": "reasoning", "summary": []}, ASK])
    assert breach.severity is Severity.WARNING


@given(any_history())
def test_valid_histories_pass(drawn: tuple[Format, list[Message]]) -> None:
    """Of all shapes the generator knows."""
    wire, messages = drawn
    assert validate(wire, messages) == ()


@given(any_history(open_end=True))
def test_every_start_of_a_valid_history_passes_with_an_open_end(drawn: tuple[Format, list[Message]]) -> None:
    """The state between two appends."""
    wire, messages = drawn
    for end in range(len(messages) + 1):
        assert validate(wire, messages[:end], open_end_ok=True) == ()


# What the manifest does not list although the providers' rules do.
BEYOND_THE_MANIFEST = {
    # One assistant message of two newlines, left by a cancelled reply.
    ("claude-code--cli-branch", 61, "A9b"),
    # Thinking without signature, left by an aborted reply.
    ("pi--before-compaction__pre-compaction", 15, "A10"),
    ("pi--before-compaction__post-compaction", 399, "A10"),
    # A reasoning item without id in front of an interrupt; a warning only.
    ("codex--agentv-compact-websearch__post-compaction", 192, "O4"),
}
RULES_OF_A_COMPLAINT = {
    "result without call": {"A6", "C2", "O2", "O3"},
    "open tail": {"A5", "C1", "O1", "O3"},
    "call without result": {"A5", "C1", "O1", "O3"},
    "empty content": {"A9c"},
}


def manifest() -> dict[str, list[tuple[int, str]]]:
    """For each recording the index and kind of every complaint listed (at most 12 are)."""
    root = data_dir()
    assert root is not None
    listed: dict[str, list[tuple[int, str]]] = {}
    for row in json.loads((root / "manifest.json").read_text(encoding="utf-8")):
        complaints = [re.match(r"(\d+): ([a-z ]+?)( x\d+)?$", text) for text in row["violations"]]
        listed[row["name"]] = [(int(match[1]), match[2]) for match in complaints if match]
        assert len(listed[row["name"]]) == len(row["violations"])
    return listed


@pytest.mark.recordings
@needs_recordings()
def test_recordings_get_the_complaints_they_deserve() -> None:
    """The same index and kind as the manifest lists, nothing more."""
    listed = manifest()
    clean = 0
    for recording in recordings():
        content = recording.load()
        breaches = [
            (breach.index, breach.id)
            for breach in validate(Format(content["format"]), content["messages"])
            if (recording.name, breach.index, breach.id) not in BEYOND_THE_MANIFEST
        ]
        complaints = listed[recording.name]
        clean += not breaches
        for (index, rule), (listed_index, complaint) in zip(
            breaches, complaints, strict=len(complaints) < 12
        ):
            assert (index, rule in RULES_OF_A_COMPLAINT[complaint]) == (listed_index, True), recording.name
    assert clean == sum(not complaints for complaints in listed.values())


@pytest.mark.recordings
@needs_recordings()
def test_the_recorded_empty_messages_and_lost_calls_are_all_found() -> None:
    """20 empty assistants and 3 + 2 messages with calls that nobody answered, in the sessions of one agent."""
    counted = {"A9c": 0, "A5": 0}
    for recording in recordings():
        if recording.name.startswith("pi--"):
            for breach in validate(ANTHROPIC, recording.load()["messages"]):
                counted[breach.id] = counted.get(breach.id, 0) + 1
    assert counted["A9c"] == 20
    assert counted["A5"] == 5


def test_rules_have_the_names_of_the_providers_rules() -> None:
    """A letter for the provider, and a number."""
    for wire, letter in ((ANTHROPIC, "A"), (CHAT, "C"), (RESPONSES, "O")):
        assert all(check.id.startswith(letter) for check in CHECKS[wire])
