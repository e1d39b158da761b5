"""pi: its messages in Anthropic words, kept entries by number or by id, trees."""

from __future__ import annotations

from typing import Any

from tests.unit.cli.logs.reading import lines, read, texts

HEADER = {"type": "session", "id": "s", "cwd": "/work", "version": 3}


def entry(role: str, text: str, **more: Any) -> dict[str, Any]:
    """A message."""
    return {"type": "message", "message": {"role": role, "content": [{"type": "text", "text": text}]}, **more}


def result(call: str, **more: Any) -> dict[str, Any]:
    """A tool's result."""
    content = [{"type": "text", "text": "done"}]
    return {
        "type": "message",
        "message": {"role": "toolResult", "toolCallId": call, "content": content, **more},
    }


def reply(*parts: dict[str, Any]) -> dict[str, Any]:
    """An assistant's message with its usage."""
    usage = {"input": 1, "output": 2, "cacheRead": 30, "cacheWrite": 4}
    message = {"role": "assistant", "content": list(parts), "usage": usage, "model": "m"}
    return {"type": "message", "message": message}


def test_neighbouring_results_are_one_message_and_failures_are_marked() -> None:
    """Calls and thinking keep what they need."""
    thought = {"type": "thinking", "thinking": "hm", "thinkingSignature": "c2ln"}
    call = {"type": "toolCall", "id": "t1", "name": "read", "arguments": {"path": "x"}}
    session = read(
        lines(HEADER, entry("user", "go"), reply(thought, call, {**call, "id": "t2"}), result("t1"))
        + lines(result("t2", isError=True), entry("user", "on"))
    )
    assert texts(session) == ["user:go", "assistant:thinking read() read()", "user:=t1 =t2", "user:on"]
    assert session.messages[1]["content"][0] == {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
    assert [part.get("is_error") for part in session.messages[2]["content"]] == [None, True]
    assert [(one.prefix, one.total_input) for one in session.calls] == [(1, 35)]


def test_a_compaction_keeps_from_the_entry_it_names() -> None:
    """By number, counted from the header, or by id."""
    for named in ({"firstKeptEntryIndex": 2}, {"firstKeptEntryId": "e2"}):
        session = read(
            lines(
                HEADER,
                entry("user", "a", id="e1", parentId=None),
                entry("user", "b", id="e2", parentId="e1"),
                {"type": "compaction", "summary": "so far", "id": "e3", "parentId": "e2", **named},
                entry("user", "c", id="e4", parentId="e3"),
            )
        )
        assert texts(session) == ["user:a", "user:b", "user:c"]
        assert [one["content"][0]["text"] for one in session.after().messages] == ["so far", "b", "c"]


def test_what_an_extension_tells_the_model_is_said() -> None:
    """What it keeps for itself is not."""
    told = {
        "type": "custom_message",
        "customType": "x",
        "content": "mind the tests",
        "id": "2",
        "parentId": "1",
    }
    kept = {"type": "custom", "customType": "x", "data": {"a": 1}, "id": "3", "parentId": "2"}
    session = read(lines(HEADER, entry("user", "a", id="1", parentId=None), told, kept))
    assert texts(session) == ["user:a", "user:mind the tests"]
    assert session.skipped == {"custom": 1}


def test_the_branch_that_ends_last_is_live() -> None:
    """Entries that name their parents make a tree."""
    session = read(
        lines(
            HEADER,
            entry("user", "a", id="1", parentId=None),
            entry("assistant", "b", id="2", parentId="1"),
            entry("user", "c", id="3", parentId="2"),
            entry("user", "d", id="4", parentId="2"),
        )
    )
    assert texts(session) == ["user:a", "assistant:b", "user:d"]
    assert [(one.at, one.messages, one.line) for one in session.branches] == [(2, 1, 4)]


def test_commands_of_the_user_are_said_unless_kept_out() -> None:
    """With their output."""
    ran = {"role": "bashExecution", "command": "ls", "output": "a"}
    session = read(
        lines(HEADER, {"type": "message", "message": ran})
        + lines({"type": "message", "message": {**ran, "excludeFromContext": True}})
    )
    assert texts(session) == ["user:Ran `ls`\n```\na\n```"]
    assert session.skipped == {"bashExecution": 1}


def test_entries_that_stand_there_twice_are_read_once() -> None:
    """Each line doubled: no branches, and no result twice."""
    log = [HEADER, entry("user", "a", id="1", parentId=None)]
    log.append(
        {
            **reply({"type": "toolCall", "id": "t", "name": "read", "arguments": {}}),
            "id": "2",
            "parentId": "1",
        }
    )
    log += [{**result("t"), "id": "3", "parentId": "2"}, entry("user", "b", id="4", parentId="3")]
    log = [{**one, "timestamp": "2026-01-01T00:00:00Z"} for one in log]
    once, twice = read(lines(*log)), read(lines(*(one for told in log for one in (told, told))))
    assert texts(twice) == texts(once)
    assert not twice.branches
    assert twice.skipped == {"repeated": 5}
