"""Gemini CLI: parts of its API in messages, lists in place of all messages, checkpoints."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from precompact_cli.logs.events import Happened
from precompact_cli.logs.opening import read_log
from precompact_cli.logs.session import Session
from tests.unit.cli.logs.reading import lines, read, texts
from tests.unit.cli.logs.test_chat_tools import GEMINI

IMAGE = {"inlineData": {"mimeType": "image/png", "data": "aGVsbG8="}}
SHOWN = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGVsbG8="}}


def user(name: str, *parts: Any) -> dict[str, Any]:
    """What the user said, as newer versions write it."""
    return {"id": name, "type": "user", "content": list(parts)}


def reply(name: str, text: str, *calls: str, result: str = "done") -> dict[str, Any]:
    """A reply with answered calls."""
    made = [{"id": one, "name": "read", "args": {}, "result": [gave(one, result)]} for one in calls]
    return {"id": name, "type": "gemini", "content": text, "toolCalls": made, "tokens": {"input": 10}}


def gave(call: str, output: str) -> dict[str, Any]:
    """A result as a part."""
    return {"functionResponse": {"id": call, "name": "read", "response": {"output": output}}}


def placed(*messages: dict[str, Any]) -> dict[str, Any]:
    """A list in place of all messages."""
    return {"$set": {"messages": list(messages), "lastUpdated": "2026-01-01T00:00:00Z"}}


def content(session: Session) -> list[Any]:
    """Of each message."""
    return [one["content"] for one in session.messages]


def test_images_are_carried_and_thoughts_and_base64_are_no_text() -> None:
    """Those of the user stand with the text, those of a result behind the results: a tool's message holds none."""
    shot = {"id": "c", "name": "shot", "args": {}, "result": [gave("c", "see"), IMAGE]}
    session = read(
        lines(
            GEMINI,
            user("a", {"text": "look"}, IMAGE, {"fileData": {"fileUri": "gs://x", "mimeType": "text/plain"}}),
            {
                **reply("b", ""),
                "content": [{"text": "hm", "thought": True}, {"text": "yes"}],
                "toolCalls": [shot],
            },
            user("d", {"text": "on"}),
        )
    )
    assert [one["role"] for one in session.messages] == ["user", "assistant", "tool", "user", "user"]
    asked, said, result, shown, _ = content(session)
    assert asked == [{"type": "text", "text": "look\n[file gs://x]"}, SHOWN]
    assert said == "yes"
    assert "aGVsbG8" not in result
    assert "see" in result
    assert shown == [SHOWN]


def test_calls_and_results_that_stand_as_parts_are_paired_once() -> None:
    """A result that its call has already is no message of its own."""
    called = {"functionCall": {"id": "c", "name": "read", "args": {"path": "a"}}}
    session = read(
        lines(
            GEMINI,
            user("a", "go"),
            {"id": "b", "type": "gemini", "content": [called]},
            user("r", gave("c", "found")),
            reply("d", "again", "e"),
            user("s", gave("e", "done")),
            reply("f", "end"),
        )
    )
    assert texts(session) == [
        "user:go",
        "assistant: read()",
        "tool:" + session.messages[2]["content"],
        "assistant:again read()",
        "tool:" + session.messages[4]["content"],
        "assistant:end",
    ]
    assert [session.messages[at]["tool_call_id"] for at in (2, 4)] == ["c", "e"]
    assert session.skipped == {"result told again": 1}


def test_a_list_that_holds_what_was_known_is_no_compaction() -> None:
    """So a session is resumed; results that are others by then were cleared; what is new was said."""
    echo = user("r", gave("c", "done"))
    session = read(
        lines(
            GEMINI,
            user("a", "go"),
            reply("b", "look", "c"),
            placed(user("a", "go"), reply("b", "look", "c"), echo),
            placed(user("a", "go"), reply("b", "look", "c", result="masked"), echo, user("d", "on")),
            reply("e", "end"),
        )
    )
    assert texts(session)[-2:] == ["user:on", "assistant:end"]
    assert len(session.messages) == 5
    assert not session.boundaries
    assert session.counts == {Happened.CLEARED: 1}
    assert "done" in session.messages[2]["content"]


def test_a_list_that_ends_early_takes_back() -> None:
    """And holds nothing new."""
    session = read(
        lines(
            GEMINI,
            user("a", "go"),
            reply("b", "x"),
            user("c", "no"),
            placed(user("a", "go"), reply("b", "x")),
        )
    )
    assert texts(session) == ["user:go", "assistant:x"]
    assert [(one.at, one.messages) for one in session.branches] == [(2, 1)]


def test_a_compaction_keeps_the_newest_messages_that_its_list_ends_with() -> None:
    """Those are the history's, not its own; a later list that begins like this one is none."""
    summary = user("s", "the sum")
    kept = [user("c", "more"), reply("d", "yes")]
    session = read(
        lines(
            GEMINI,
            user("a", "go"),
            reply("b", "look", "x"),
            *kept,
            placed(summary, *kept),
            user("e", "on"),
            placed(summary, *kept, user("e", "on")),
            {"$rewindTo": "e"},
            user("f", "else"),
        )
    )
    assert texts(session)[0] == "user:go"
    assert texts(session)[-3:] == ["user:more", "assistant:yes", "user:else"]
    assert [(one.at, one.kept_from, len(one.insert)) for one in session.boundaries] == [(5, 3, 1)]
    assert [one["content"] for one in session.after().messages] == ["the sum", "more", "yes", "else"]


@pytest.mark.parametrize(
    "wrap",
    [
        lambda turns: turns,
        lambda turns: {"history": turns, "authType": "x"},
        lambda turns: {"history": [{"type": "user", "text": "ui"}], "clientHistory": turns},
    ],
    ids=["list", "history", "restore point"],
)
def test_checkpoints_are_read(wrap: Any) -> None:
    """A list of turns, alone or in an object; calls that have no ids are paired in order."""
    turns = [
        {"role": "user", "parts": [{"text": "go"}]},
        {
            "role": "model",
            "parts": [
                {"text": "look"},
                {"functionCall": {"name": "read", "args": {"path": "a"}}},
                {"functionCall": {"name": "read", "args": {"path": "b"}}},
            ],
        },
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"name": "read", "response": {"output": "A"}}},
                {"functionResponse": {"name": "read", "response": {"output": "B"}}},
            ],
        },
        {"role": "model", "parts": [{"text": "done"}]},
    ]
    session = read(json.dumps(wrap(turns), indent=1).encode())
    assert [one["role"] for one in session.messages] == ["user", "assistant", "tool", "tool", "assistant"]
    made = [one["id"] for one in session.messages[1]["tool_calls"]]
    assert [one["tool_call_id"] for one in session.messages[2:4]] == made == ["call_1", "call_2"]
    assert "A" in session.messages[2]["content"]


def test_a_damaged_first_line_costs_itself_alone() -> None:
    """Other lines of the newer form show whose log it is."""
    session = read(b"{broken\n" + lines(user("a", "go"), {"$set": {"lastUpdated": "x"}}, reply("b", "yes")))
    assert texts(session) == ["user:go", "assistant:yes"]
    assert [one.line for one in session.damage] == [1]


def test_files_of_sub_agents_beside_the_log_are_its_sidechains(tmp_path: Path) -> None:
    """In a folder named by the session; a name that leads elsewhere names none."""
    side = {"sessionId": "x", "projectHash": "h", "kind": "subagent"}
    for name, expected in (("s", ["task", "yes"]), ("..", None)):
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        (folder / "x.jsonl").write_bytes(lines(side, user("a", "task"), reply("b", "yes")))
        path = tmp_path / "session-1.jsonl"
        path.write_bytes(lines({**GEMINI, "sessionId": name}, user("a", "go")))
        session = read_log(path)
        assert session is not None
        told = [content(one) for one in session.sidechains]
        assert told == ([] if expected is None else [expected])
