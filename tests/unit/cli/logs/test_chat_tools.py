"""OpenCode and Gemini CLI: one document, or lines that change what was said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from precompact_cli.logs.events import Happened
from precompact_cli.predictions import track_of
from precompact_cli.recording import read_recording
from tests.unit.cli.logs.reading import lines, read, texts

GEMINI = {"sessionId": "s", "projectHash": "h"}


def opencode(*messages: dict[str, Any]) -> bytes:
    """An exported session."""
    return json.dumps({"info": {"id": "ses_1", "title": "t"}, "messages": messages}).encode()


def told(role: str, *parts: dict[str, Any], **info: Any) -> dict[str, Any]:
    """One of its messages."""
    return {"info": {"role": role, "time": {"created": 1}, **info}, "parts": list(parts)}


def text(words: str) -> dict[str, Any]:
    """A part of text."""
    return {"type": "text", "text": words}


def tool(call: str, **state: Any) -> dict[str, Any]:
    """A call with its result."""
    return {"type": "tool", "callID": call, "tool": "read", "state": {"input": {}, **state}}


def gemini(name: str, kind: str, content: str, *calls: str) -> dict[str, Any]:
    """One of Gemini CLI's messages."""
    made = [{"id": call, "name": "read", "args": {}, "result": "done"} for call in calls]
    return {"id": name, "type": kind, "content": content, **({"toolCalls": made} if calls else {})}


def test_a_step_with_calls_is_followed_by_their_results() -> None:
    """Ids that do not tell calls apart are numbered; what fails says so; a stopped turn is counted."""
    session = read(
        opencode(
            told("user", text("go")),
            told("assistant", text("look"), tool("c", output="x"), tool("c", error="aborted"), modelID="m"),
            told("assistant", error={"name": "MessageAbortedError"}),
        )
    )
    assert texts(session) == ["user:go", "assistant:look read() read()", "tool:x", "tool:aborted"]
    ids = [call["id"] for call in session.messages[1]["tool_calls"]]
    assert len(set(ids)) == 2
    assert [one["tool_call_id"] for one in session.messages[2:]] == ids
    assert session.counts == {Happened.INTERRUPTED: 1}


def test_opencode_compactions_are_boundaries() -> None:
    """The summary is the reply to a message that holds nothing else."""
    session = read(
        opencode(
            told("user", text("go")),
            told("user", {"type": "compaction", "auto": True}),
            told("assistant", text("the sum"), summary=True, tokens={"input": 5, "cache": {"read": 6}}),
            told("user", text("on")),
        )
    )
    assert texts(session) == ["user:go", "user:on"]
    assert [(one.at, one.tokens_before) for one in session.boundaries] == [(1, 11)]
    assert [one["content"] for one in session.after().messages] == ["What did we do so far?", "the sum", "on"]


def test_gemini_lines_replace_the_newest_message_and_take_back_others() -> None:
    """A reply is written again with each result; a rewind leaves out the message it names."""
    session = read(
        lines(
            GEMINI,
            gemini("a", "user", "go"),
            gemini("b", "gemini", "look"),
            gemini("b", "gemini", "look", "c1"),
            gemini("c", "user", "wrong"),
            {"$rewindTo": "c"},
            {"$set": {"summary": "x"}},
            gemini("d", "info", "Request cancelled."),
            gemini("e", "user", "right"),
        )
    )
    assert texts(session) == ["user:go", "assistant:look read()", "tool:done", "user:right"]
    assert [(one.at, one.messages) for one in session.branches] == [(3, 1)]
    assert session.counts == {Happened.INTERRUPTED: 1}


def test_gemini_lines_that_set_all_messages_are_a_boundary() -> None:
    """Except at the start, where they are the session."""
    first, summary = [gemini("a", "user", "go")], [gemini("s", "user", "the sum")]
    session = read(
        lines(
            GEMINI,
            {"$set": {"messages": first}},
            {"$set": {"messages": summary}},
            gemini("b", "gemini", "on"),
        )
    )
    assert texts(session) == ["user:go", "assistant:on"]
    assert [one["content"] for one in session.after().messages] == ["the sum", "on"]


def test_what_opencode_shows_and_does_not_send_is_left_out() -> None:
    """Ignored text, files it has read into text, a task's prompt, a reply that failed; a stopped command's output counts."""
    task = {"type": "subtask", "prompt": "a long prompt", "agent": "build", "command": "review"}
    read_file = {"type": "file", "mime": "text/plain", "filename": "a.py", "url": "file:///a.py"}
    stopped = tool("c", status="error", error="aborted", metadata={"interrupted": True, "output": "half"})
    session = read(
        opencode(
            told("user", text("go"), {**text("for the user alone"), "ignored": True}, read_file),
            told("user", task),
            told("assistant", text("lost"), error={"name": "APIError"}),
            told("assistant", stopped),
            told("user", {**text("go on"), "synthetic": True}),
        )
    )
    assert texts(session) == [
        "user:go",
        "user:[subtask] review",
        "assistant: read()",
        "tool:half",
        "user:go on",
    ]


def test_a_compaction_that_keeps_its_tail_says_from_where() -> None:
    """By the id of the first message it keeps."""
    keeping = {"type": "compaction", "auto": True, "tail_start_id": "m2"}
    session = read(
        opencode(
            told("user", text("go"), id="m1"),
            told("assistant", text("first"), id="m2"),
            told("user", keeping, id="m3"),
            told("assistant", text("the sum"), summary=True, id="m4"),
        )
    )
    assert [(one.at, one.kept_from) for one in session.boundaries] == [(2, 1)]
    contents = [one["content"] for one in session.after().messages]
    assert contents == ["What did we do so far?", "the sum", "first"]


def test_a_tasks_prompt_weighs_nothing_in_a_record_that_shows_it(tmp_path: Path) -> None:
    """Records that other converters made of OpenCode's sessions have it in full."""
    body = {
        "format": "openai-chat",
        "messages": [
            {"role": "user", "content": "go"},
            {"role": "user", "content": "[subtask] " + "a long prompt " * 900},
            {"role": "assistant", "content": "Done."},
        ],
    }
    path = tmp_path / "record.json"
    path.write_text(json.dumps(body), encoding="utf-8")
    shown, task, _ = track_of(read_recording(path)).pieces
    assert (shown.load.given, shown.side) == (1, task.side)
    assert task.load.given < 5


def test_images_in_results_stand_behind_the_results() -> None:
    """A tool's message of Chat Completions cannot hold any; other files are told in the result's text."""
    url = "data:image/png;base64,aGVsbG8="
    files = [{"type": "file", "mime": kind, "url": url} for kind in ("image/png", "application/pdf")]
    session = read(
        opencode(
            told("user", text("go")),
            told("assistant", tool("c", output="shot", attachments=files), tool("d", output="x")),
            told("assistant", text("seen"), tokens={"input": 7}),
        )
    )
    assert [one["role"] for one in session.messages] == [
        "user",
        "assistant",
        "tool",
        "tool",
        "user",
        "assistant",
    ]
    assert session.messages[4]["content"] == [{"type": "image_url", "image_url": {"url": url}}]
    assert [(one.prefix, one.produced) for one in session.calls] == [(5, (5,))]
