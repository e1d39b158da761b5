"""Codex: items as they stand, counts told twice, replaced histories, turns taken back."""

from __future__ import annotations

import json
from typing import Any

from precompact_cli.logs.events import Happened
from tests.unit.cli.logs.reading import lines, read, texts


def line(kind: str, **payload: Any) -> dict[str, Any]:
    """One line of a rollout."""
    return {"timestamp": "2026-01-01T00:00:00Z", "type": kind, "payload": payload}


def item(role: str, text: str) -> dict[str, Any]:
    """A message."""
    part = {"type": "output_text" if role == "assistant" else "input_text", "text": text}
    return line("response_item", type="message", role=role, content=[part])


def count(total: int, last: int) -> dict[str, Any]:
    """A report of usage."""
    told = {"total_token_usage": {"input_tokens": total}, "last_token_usage": {"input_tokens": last}}
    return line("event_msg", type="token_count", info=told)


META = line("session_meta", id="s", base_instructions={"text": "be good"})
STARTED = line("event_msg", type="task_started")


def asked() -> dict[str, Any]:
    """What goes with every prompt of the user."""
    return line("event_msg", type="user_message", message="as above")


def test_a_count_belongs_to_what_was_made_since_the_one_before() -> None:
    """One that only repeats the last, at a turn's start, is no call."""
    session = read(
        lines(
            META,
            item("user", "a"),
            item("assistant", "b"),
            count(10, 10),
            item("user", "c"),
            count(10, 10),
            item("assistant", "d"),
            count(25, 15),
        )
    )
    assert [(one.prefix, one.produced, one.total_input) for one in session.calls] == [
        (1, (1,), 10),
        (3, (3,), 15),
    ]
    assert session.system == "be good"


def test_a_reply_broken_off_without_a_count_is_no_part_of_the_next_call() -> None:
    """That call's prompt held it already."""
    broken = line("event_msg", type="turn_aborted", reason="interrupted")
    session = read(
        lines(
            META,
            item("user", "a"),
            item("assistant", "b"),
            broken,
            STARTED,
            item("assistant", "c"),
            count(9, 9),
        )
    )
    assert [(one.prefix, one.produced) for one in session.calls] == [(2, (2,))]
    assert session.counts == {Happened.INTERRUPTED: 1}


def test_a_replaced_history_is_what_the_next_context_begins_with() -> None:
    """Without one, the summary alone."""
    kept = item("user", "kept")["payload"]
    for told, expected in (({"replacement_history": [kept]}, "kept"), ({"message": "the sum"}, "the sum")):
        session = read(lines(META, item("user", "a"), line("compacted", **told), item("user", "b")))
        assert texts(session) == ["user:a", "user:b"]
        assert [one["content"][0]["text"] for one in session.after().messages] == [expected, "b"]
        assert [one["content"][0]["text"] for one in session.before().messages] == ["a"]


def test_turns_taken_back_are_a_branch() -> None:
    """What is said next takes their place."""
    back = line("event_msg", type="thread_rolled_back", num_turns=1)
    session = read(
        lines(
            META,
            item("user", "a"),
            asked(),
            item("assistant", "b"),
            count(5, 5),
            item("user", "c"),
            asked(),
            item("assistant", "d"),
            count(12, 7),
            back,
            item("user", "e"),
            asked(),
            item("assistant", "f"),
            count(20, 8),
        )
    )
    assert texts(session) == ["user:a", "assistant:b", "user:e", "assistant:f"]
    assert [(one.at, one.messages) for one in session.branches] == [(2, 2)]
    assert [(one.prefix, one.total_input) for one in session.calls] == [(1, 5), (3, 8)]


def test_what_is_no_item_is_damage_and_what_is_codex_own_is_skipped() -> None:
    """Each with its line or its type."""
    session = read(
        lines(META, item("user", "a"), line("response_item", type="ghost_snapshot"), {"type": "compacted"})
        + lines(line("response_item", type="message", role="user"), line("world_state", value=1))
    )
    assert texts(session) == ["user:a"]
    assert [one.line for one in session.damage] == [4, 5]
    assert session.skipped == {"ghost_snapshot": 1, "world_state": 1}


def test_news_of_rate_limits_alone_are_no_count() -> None:
    """What was made before them belongs to the count that comes."""
    news = line("event_msg", type="token_count", info=None, rate_limits={})
    session = read(
        lines(
            META,
            item("user", "a"),
            item("assistant", "b"),
            count(5, 5),
            item("user", "c"),
            item("assistant", "d"),
            news,
            count(12, 7),
        )
    )
    assert [(one.prefix, one.produced, one.total_input) for one in session.calls] == [
        (1, (1,), 5),
        (3, (3,), 7),
    ]


OPENED = {"id": "old", "timestamp": "2025-08-01T00:00:00Z", "instructions": "be good", "git": {}}
STATE = {"record_type": "state"}


def test_items_stood_bare_in_older_rollouts() -> None:
    """Behind a line that opens the session, which has no type."""
    called = {"type": "function_call", "name": "shell", "call_id": "c", "arguments": "{}"}
    gave = {"type": "function_call_output", "call_id": "c", "output": "ok"}
    search = {"type": "web_search_call", "id": "w", "status": "completed", "action": {"query": "x"}}
    session = read(
        lines(
            OPENED,
            STATE,
            item("user", "go")["payload"],
            {"type": "reasoning", "id": "r", "summary": [], "content": None, "encrypted_content": None},
            called,
            gave,
            search,
            STATE,
            item("assistant", "done")["payload"],
        )
    )
    kinds = ["message", "reasoning", "function_call", "function_call_output", "web_search_call", "message"]
    assert [one["type"] for one in session.messages] == kinds
    assert (session.name, session.system, session.tool) == ("old", "be good", "codex")
    assert session.skipped == {"state": 2}
    assert not session.damaged


def test_the_first_rollouts_were_one_object() -> None:
    """A session and its items; a call of the local shell may have an id alone, by which its output calls it."""
    call: dict[str, Any] = {
        "type": "local_shell_call",
        "id": "c",
        "call_id": None,
        "status": "completed",
        "action": {},
    }
    gave = {"type": "function_call_output", "call_id": "c", "output": "ok"}
    items = [item("user", "go")["payload"], call, gave, item("assistant", "done")["payload"]]
    session = read(json.dumps({"session": OPENED, "items": [*items, 7]}, indent=2).encode())
    assert [one["type"] for one in session.messages] == [
        "message",
        "local_shell_call",
        "function_call_output",
        "message",
    ]
    assert session.messages[1]["call_id"] == "c"
    assert (session.name, session.system) == ("old", "be good")
    assert [one.why for one in session.damage] == ["no JSON object"]


def test_a_bare_rollout_is_known_without_its_first_line_and_by_it_alone() -> None:
    """Damage at the start costs itself alone."""
    assert texts(read(b"{broken\n" + lines(STATE, item("user", "go")["payload"]))) == ["user:go"]
    assert not texts(read(lines(OPENED)))


def test_a_call_that_stands_there_twice_is_made_once() -> None:
    """So is a result; what is said twice may be meant."""
    call = line("response_item", type="function_call", name="shell", call_id="c", arguments="{}")
    gave = line("response_item", type="function_call_output", call_id="c", output="ok")
    log = [META, item("user", "go"), call, count(5, 5), gave, item("assistant", "done"), count(9, 4)]
    session = read(lines(*(one for told in log for one in (told, told))))
    kinds = ["message", "message", "function_call", "function_call_output", "message", "message"]
    assert [one["type"] for one in session.messages] == kinds
    assert [(one.prefix, one.total_input) for one in session.calls] == [(2, 5), (4, 4)]
    assert session.skipped["repeated"] == 2
