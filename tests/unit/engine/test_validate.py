"""What the validator says as a whole: the recorded conversations get exactly the complaints they deserve."""

from __future__ import annotations

import json
import re
import timeit
from functools import lru_cache
from time import process_time
from typing import Any

import pytest
from hypothesis import given

from precompact_shared.engine.types import Format, Message
from precompact_shared.engine.validate import ERRORS, Rules, Severity, is_valid, validate
from tests.support.histories import any_history
from tests.support.recordings import Recording, data_dir, needs_recordings, recordings

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


def test_what_is_no_message_of_the_format_is_reported_alone() -> None:
    """Nothing can be said of its neighbours."""
    assert found(ANTHROPIC, [ASK, 3, {"role": "tool"}, DONE, DONE]) == [("F0", 1), ("F0", 2)]
    assert found(RESPONSES, [ITEM_RESULT, {"type": 7}]) == [("F0", 1)]


@pytest.mark.parametrize(
    ("wire", "messages"),
    [
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
    assert found(wire, [], open_end_ok=True) == []


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


MOST_LISTED = 12
WARNINGS = Rules(severities=frozenset({Severity.WARNING}))
RULES_OF_A_COMPLAINT = {
    "result without call": {"A6", "C2", "O2", "O3"},
    "open tail": {"A5", "C1", "O1", "O3"},
    "call without result": {"A5", "C1", "O1", "O3"},
    "empty content": {"A9c"},
}


@lru_cache(maxsize=1)
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


def errors_of(recording: Recording) -> list[tuple[int, str]]:
    """Index and rule of what would be refused."""
    content = recording.load()
    breaches = validate(Format(content["format"]), content["messages"], rules=ERRORS)
    return [(breach.index, breach.id) for breach in breaches]


@pytest.mark.recordings
@needs_recordings()
@pytest.mark.parametrize("recording", recordings(), ids=lambda one: str(one.name))
def test_a_recording_gets_the_complaints_the_manifest_lists(recording: Recording) -> None:
    """The same index and kind, nothing more; of long lists the manifest has the first twelve."""
    complaints = manifest()[recording.name]
    breaches = errors_of(recording)
    if len(complaints) == MOST_LISTED:
        breaches = breaches[:MOST_LISTED]
    assert [index for index, _ in breaches] == [index for index, _ in complaints]
    for (_, rule), (_, complaint) in zip(breaches, complaints, strict=True):
        assert rule in RULES_OF_A_COMPLAINT[complaint]


@pytest.mark.recordings
@needs_recordings()
def test_of_97_recordings_84_are_clean() -> None:
    """As the manifest says; and what is merely warned of is what cancelled and aborted replies leave behind."""
    assert len(recordings()) == 97
    assert sum(not errors_of(recording) for recording in recordings()) == 84
    warned: dict[str, int] = {}
    for recording in recordings():
        content = recording.load()
        for breach in validate(Format(content["format"]), content["messages"], rules=WARNINGS):
            warned[breach.id] = warned.get(breach.id, 0) + 1
    assert warned == {"A9b": 1, "A10": 2, "O4": 1, "O7": 2}


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


ITEMS = [ASK, {**REASONING, "id": "rs"}, ITEM_USE, ITEM_RESULT]


def numbered(turn: list[Message], number: int) -> list[Message]:
    """The turn with ids of its own."""
    text = json.dumps(turn).replace('"a"', f'"a{number}"').replace('"rs"', f'"rs_{number}"')
    loaded: list[Message] = json.loads(text)
    return loaded


TURNS = (
    (ANTHROPIC, [ASK, USE, user(RESULT), DONE]),
    (CHAT, [ASK, CHAT_USE, CHAT_RESULT, DONE]),
    (RESPONSES, ITEMS),
)


def seconds_for(wire: Format, turn: list[Message], turns: int) -> float:
    """Processor time that judging so many turns takes, the best of three."""
    messages = [message for number in range(turns) for message in numbered(turn, number)]
    assert is_valid(wire, messages)
    return min(timeit.repeat(lambda: validate(wire, messages), number=1, repeat=3, timer=process_time))


@pytest.mark.parametrize(("wire", "turn"), TURNS)
def test_five_thousand_messages_take_less_than_half_a_second(wire: Format, turn: list[Message]) -> None:
    """Of the processor's time."""
    assert seconds_for(wire, turn, 1_250) < 0.5


@pytest.mark.parametrize(("wire", "turn"), TURNS)
def test_time_grows_with_the_number_of_messages_and_not_with_its_square(
    wire: Format, turn: list[Message]
) -> None:
    """Eight times the messages: less than sixteen times as long, where a square would be 64."""
    assert seconds_for(wire, turn, 4_000) < 16 * seconds_for(wire, turn, 500)
