"""Claude Code: trees, calls at once, sub-agents, boundaries, and gaps in the chain."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from precompact_cli.logs.events import Happened
from precompact_cli.logs.opening import read_log
from tests.unit.cli.logs.reading import lines, read, texts


def line(name: str, parent: str | None, kind: str = "user", **more: Any) -> dict[str, Any]:
    """One line of a log."""
    return {"uuid": name, "parentUuid": parent, "type": kind, "isSidechain": False, **more}


def prompt(name: str, parent: str | None, text: str | None = None, **more: Any) -> dict[str, Any]:
    """A user's prompt."""
    return line(name, parent, message={"role": "user", "content": text or name}, **more)


def said(name: str, parent: str | None, reply: str, **more: Any) -> dict[str, Any]:
    """A line of text of a reply."""
    return block(name, parent, reply, {"type": "text", "text": name}, **more)


def call(name: str, parent: str | None, reply: str, **more: Any) -> dict[str, Any]:
    """A line of a reply that calls a tool."""
    return block(
        name, parent, reply, {"type": "tool_use", "id": f"id-{name}", "name": name, "input": {}}, **more
    )


def block(name: str, parent: str | None, reply: str, content: dict[str, Any], **more: Any) -> dict[str, Any]:
    """One line of a reply."""
    usage = {"input_tokens": 10, "cache_read_input_tokens": 90, "output_tokens": 1}
    message = {"id": reply, "role": "assistant", "model": "claude-x", "content": [content], "usage": usage}
    return line(name, parent, "assistant", message=message, **more)


def result(name: str, parent: str | None, of: str, **more: Any) -> dict[str, Any]:
    """The result of a call."""
    content = [{"type": "tool_result", "tool_use_id": f"id-{of}", "content": "done"}]
    return line(name, parent, message={"role": "user", "content": content}, **more)


def boundary(name: str, above: str) -> dict[str, Any]:
    """The mark of a compaction."""
    told = {"trigger": "manual", "preTokens": 900}
    return line(
        name, None, "system", subtype="compact_boundary", logicalParentUuid=above, compactMetadata=told
    )


def test_lines_of_one_reply_are_one_message_and_its_results_the_next() -> None:
    """However calls and results are woven into each other in the file and in the tree."""
    session = read(
        lines(
            prompt("go", None),
            said("look", "go", "m1"),
            call("A", "look", "m1"),
            call("B", "A", "m1"),
            result("ra", "A", "A"),
            call("C", "ra", "m1"),
            result("rb", "B", "B"),
            result("rc", "C", "C"),
            said("end", "rc", "m2"),
        )
    )
    assert texts(session) == [
        "user:go",
        "assistant:look A() B() C()",
        "user:=id-A =id-B =id-C",
        "assistant:end",
    ]
    assert [(one.prefix, one.produced, one.total_input) for one in session.calls] == [
        (1, (1,), 100),
        (3, (3,), 100),
    ]


def test_a_reply_that_text_divides_is_one_call() -> None:
    """As when a skill's text comes between two calls that were made at once."""
    session = read(
        lines(
            prompt("go", None),
            call("A", "go", "m1"),
            result("ra", "A", "A"),
            prompt("skill", "ra", isMeta=True),
            call("B", "skill", "m1"),
            result("rb", "B", "B"),
            said("end", "rb", "m2"),
        )
    )
    assert texts(session) == [
        "user:go",
        "assistant:A()",
        "user:=id-A",
        "user:skill",
        "assistant:B()",
        "user:=id-B",
        "assistant:end",
    ]
    assert [one.prefix for one in session.calls] == [1, 6]


def test_the_branch_that_ends_last_is_live_and_the_other_is_told() -> None:
    """Where it left, and what it held."""
    session = read(
        lines(
            prompt("go", None),
            said("first", "go", "m1"),
            prompt("more", "first"),
            said("second", "more", "m2"),
            prompt("other", "first"),
            said("third", "other", "m3"),
        )
    )
    assert texts(session) == ["user:go", "assistant:first", "user:other", "assistant:third"]
    assert [(one.at, one.messages, one.line) for one in session.branches] == [(2, 2, 3)]


def test_a_new_start_leaves_everything_behind() -> None:
    """A prompt without a parent is a session rewound to its beginning."""
    session = read(lines(prompt("go", None), said("first", "go", "m1"), prompt("anew", None)))
    assert texts(session) == ["user:anew"]
    assert [(one.at, one.messages) for one in session.branches] == [(0, 2)]


def test_a_gap_in_the_chain_is_stepped_over() -> None:
    """A lost line costs itself alone."""
    session = read(
        lines(prompt("go", None), said("first", "go", "m1"))
        + b'{"uuid": "lost", "par\n'
        + lines(prompt("on", "lost"), said("second", "on", "m2"))
    )
    assert texts(session) == ["user:go", "assistant:first", "user:on", "assistant:second"]
    assert [(one.line, one.why) for one in session.damage] == [(3, "no JSON")]


def test_parents_in_a_circle_end_the_way_back() -> None:
    """No log can make the reader run for ever."""
    session = read(lines(prompt("a", "b"), said("b", "a", "m1"), prompt("c", "b")))
    assert texts(session) == ["user:a", "assistant:b", "user:c"]


def test_a_compaction_is_a_boundary_and_its_summary_no_part_of_history() -> None:
    """The context behind it is the summary and what followed."""
    session = read(
        lines(
            prompt("go", None),
            said("first", "go", "m1"),
            boundary("cut", "first"),
            prompt("sum", "cut", "the story so far", isCompactSummary=True),
            said("second", "sum", "m2"),
        )
    )
    assert texts(session) == ["user:go", "assistant:first", "assistant:second"]
    (found,) = session.boundaries
    assert (found.at, found.kept_from, found.trigger, found.tokens_before, found.line) == (
        2,
        2,
        "manual",
        900,
        3,
    )
    after = session.after()
    assert after.messages[0]["content"] == "the story so far"
    assert [(one.prefix, one.produced) for one in after.calls] == [(1, (1,))]
    assert [session.history().is_measured(one) for one in session.calls] == [True, False]


KEPT = [
    {"preservedSegment": {"headUuid": "ask", "anchorUuid": "sum", "tailUuid": "third"}},
    {"preservedMessages": {"anchorUuid": "sum", "uuids": ["ask", "third"], "allUuids": ["ask", "third"]}},
]


@pytest.mark.parametrize("parent", ["sum", "third"], ids=["behind the summary", "behind what was kept"])
@pytest.mark.parametrize("kept", KEPT, ids=["segment", "messages"])
def test_a_compaction_keeps_what_it_names(kept: dict[str, Any], parent: str) -> None:
    """The next line goes on behind the summary, or behind what was kept; the session is the same."""
    cut = boundary("cut", "third")
    cut["compactMetadata"] |= kept
    session = read(
        lines(
            prompt("go", None),
            said("first", "go", "m1"),
            prompt("ask", "first"),
            said("third", "ask", "m2"),
            cut,
            line("a", "cut", "attachment", attachment={"type": "file"}),
            prompt("sum", "a", isCompactSummary=True),
            prompt("on", parent),
            said("end", "on", "m3"),
        )
    )
    whole = ["user:go", "assistant:first", "user:ask", "assistant:third", "user:on", "assistant:end"]
    assert texts(session) == whole
    assert [(one.at, one.kept_from) for one in session.boundaries] == [(4, 2)]
    assert [one["role"] for one in session.after().messages] == [
        "user",
        "user",
        "assistant",
        "user",
        "assistant",
    ]
    assert session.after().messages[0]["content"] == "sum"
    assert not session.branches
    assert [session.history().is_measured(one) for one in session.calls] == [True, True, False]


def test_a_compaction_of_a_branch_that_was_left_is_none() -> None:
    """Though it kept something."""
    cut = boundary("cut", "third")
    cut["compactMetadata"] |= KEPT[0]
    session = read(
        lines(
            prompt("go", None),
            said("first", "go", "m1"),
            prompt("ask", "first"),
            said("third", "ask", "m2"),
            cut,
            prompt("sum", "cut", isCompactSummary=True),
            prompt("other", "first"),
        )
    )
    assert texts(session) == ["user:go", "assistant:first", "user:other"]
    assert not session.boundaries


def test_results_that_were_taken_out_of_the_context_are_counted() -> None:
    """By a small compaction, or put aside for being large; a sub-agent's are its own."""
    micro = {"trigger": "auto", "preTokens": 80, "tokensSaved": 20, "compactedToolIds": ["id-A", "id-B"]}
    session = read(
        lines(
            prompt("go", None),
            call("A", "go", "m1"),
            result("ra", "A", "A"),
            line("mc", "ra", "system", subtype="microcompact_boundary", microcompactMetadata=micro),
            {"type": "content-replacement", "replacements": [{"toolUseId": "id-A", "replacement": "x"}]},
            {"type": "content-replacement", "agentId": "x", "replacements": [{"toolUseId": "y"}]},
            said("end", "mc", "m2"),
        )
    )
    assert texts(session) == ["user:go", "assistant:A()", "user:=id-A", "assistant:end"]
    assert session.counts == {Happened.CLEARED: 3}
    assert not session.boundaries


def test_lines_that_stand_there_twice_are_read_once() -> None:
    """The whole log once more, or each line doubled; a name alone may be a mask."""
    at = {"timestamp": "2026-01-01T00:00:00Z"}
    log = [
        prompt("go", None, **at),
        call("A", "go", "m1", **at),
        result("ra", "A", "A", **at),
        said("end", "ra", "m2", **at),
    ]
    once = read(lines(*log))
    for told in (read(lines(*log, *log)), read(lines(*(one for line in log for one in (line, line))))):
        assert texts(told) == texts(once)
        assert (told.calls, told.branches) == (once.calls, ())
        assert told.skipped == {"repeated": 4}
    masked = [prompt("X", None, "a", timestamp="1"), prompt("X", "X", "b", timestamp="2")]
    assert "user:b" in texts(read(lines(*masked)))


def test_a_mark_without_a_summary_is_no_boundary() -> None:
    """The compaction was broken off; the next request would be sent as before."""
    session = read(lines(prompt("go", None), said("first", "go", "m1"), boundary("cut", "first")))
    assert not session.boundaries
    assert session.skipped == {"compact_boundary": 1}


def test_a_summary_without_a_mark_is_a_boundary_too() -> None:
    """As older versions wrote it."""
    session = read(
        lines(prompt("go", None), prompt("sum", "go", isCompactSummary=True), said("on", "sum", "m1"))
    )
    assert texts(session) == ["user:go", "assistant:on"]
    assert [one.at for one in session.boundaries] == [1]


def test_sub_agents_are_sessions_of_their_own() -> None:
    """Inline ones by their first line, newer ones by the agent's id."""
    session = read(
        lines(
            prompt("go", None),
            call("Task", "go", "m1"),
            prompt("s1", None, isSidechain=True),
            prompt("s2", None, isSidechain=True, agentId="x"),
            said("a1", "s1", "n1", isSidechain=True),
            said("a2", "s2", "n2", isSidechain=True, agentId="x"),
            result("r", "Task", "Task"),
        )
    )
    assert texts(session) == ["user:go", "assistant:Task()", "user:=id-Task"]
    assert [texts(one) for one in session.sidechains] == [
        ["user:s1", "assistant:a1"],
        ["user:s2", "assistant:a2"],
    ]
    assert [one.model for one in session.sidechains] == ["claude-x", "claude-x"]


def test_a_file_of_a_sub_agent_alone_is_a_session() -> None:
    """Newer versions write one for each."""
    session = read(lines(prompt("s", None, isSidechain=True), said("a", "s", "n", isSidechain=True)))
    assert texts(session) == ["user:s", "assistant:a"]
    assert not session.sidechains


def test_files_of_sub_agents_beside_the_log_are_its_sidechains(tmp_path: Path) -> None:
    """Newer versions keep them in a folder named like the log, in the order in which they began."""
    folder = tmp_path / "log" / "subagents"
    folder.mkdir(parents=True)
    for name, at in (("a", "2026-01-01T00:00:02Z"), ("b", "2026-01-01T00:00:01Z")):
        side: dict[str, Any] = {"isSidechain": True, "agentId": name, "timestamp": at}
        told = lines(prompt(f"s{name}", None, **side), said(f"r{name}", f"s{name}", "n", **side))
        (folder / f"agent-{name}.jsonl").write_bytes(told)
    (folder / "agent-c.jsonl").write_bytes(b"{broken")
    path = tmp_path / "log.jsonl"
    path.write_bytes(lines(prompt("go", None), said("end", "go", "m1")))
    session = read_log(path)
    assert session is not None
    assert texts(session) == ["user:go", "assistant:end"]
    assert [texts(one) for one in session.sidechains] == [
        ["user:sb", "assistant:rb"],
        ["user:sa", "assistant:ra"],
    ]


def test_queued_and_interrupted_turns_are_counted_and_unknown_lines_too() -> None:
    """None of them is a message, but the interruption is: the model saw it."""
    session = read(
        lines(
            {"type": "queue-operation", "operation": "enqueue", "content": "later"},
            prompt("go", None),
            line("p", "go", "progress", data={}),
            prompt("stop", "p", "[Request interrupted by user]"),
            {"type": "from-the-future", "value": 1},
        )
    )
    assert texts(session) == ["user:go", "user:[Request interrupted by user]"]
    assert session.counts == {Happened.QUEUED: 1, Happened.INTERRUPTED: 1}
    assert session.skipped == {"progress": 1, "from-the-future": 1}


def test_a_prompt_delivered_from_the_queue_is_said() -> None:
    """It is an attachment there, and the model reads it."""
    queued = {"type": "queued_command", "prompt": "also this"}
    session = read(
        lines(prompt("go", None), line("q", "go", "attachment", attachment=queued), said("yes", "q", "m1"))
    )
    assert texts(session) == ["user:go", "user:also this", "assistant:yes"]


def test_replies_of_the_tool_itself_are_no_calls() -> None:
    """Their usage is all zero."""
    own = said("none", "go", "m1")
    own["message"]["model"] = "<synthetic>"
    assert not read(lines(prompt("go", None), own)).calls


@pytest.mark.parametrize("content", [None, 7, {"type": "text"}])
def test_a_message_without_content_is_damage(content: Any) -> None:
    """It is named by its line."""
    broken = line("b", "go", message={"role": "user", "content": content})
    session = read(lines(prompt("go", None), broken, said("on", "b", "m1")))
    assert texts(session) == ["user:go", "assistant:on"]
    assert [one.line for one in session.damage] == [2]
