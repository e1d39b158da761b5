"""Results are tied to calls by position, since ids repeat."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from precompact_shared.engine.pairing import Pairing, pair
from precompact_shared.engine.types import Entry, Format, Message
from tests.support.histories import any_history, entries_of
from tests.support.recordings import cases, needs_recordings

ANTHROPIC, CHAT, RESPONSES = Format.ANTHROPIC, Format.OPENAI_CHAT, Format.OPENAI_RESPONSES


def use(*ids: str, text: str = "") -> Message:
    """An Anthropic assistant that calls."""
    said = [{"type": "text", "text": text}] if text else []
    calls = [{"type": "tool_use", "id": call_id, "name": "t", "input": {}} for call_id in ids]
    return {"role": "assistant", "content": [*said, *calls]}


def answer(*ids: str, text: str = "") -> Message:
    """An Anthropic user message with results, and with text behind them."""
    results = [{"type": "tool_result", "tool_use_id": call_id, "content": "ok"} for call_id in ids]
    return {"role": "user", "content": [*results, *([{"type": "text", "text": text}] if text else [])]}


def said(role: str, text: str = "x") -> Message:
    """Plain text, in any of the formats."""
    return {"role": role, "content": text}


def chat_call(*ids: str) -> Message:
    """A chat assistant that calls."""
    calls = [{"id": i, "type": "function", "function": {"name": "t", "arguments": "{}"}} for i in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def chat_result(call_id: str) -> Message:
    """A chat tool message."""
    return {"role": "tool", "tool_call_id": call_id, "content": "ok"}


def item_call(call_id: str, kind: str = "function_call") -> Message:
    """A Responses call."""
    payload = "arguments" if kind == "function_call" else "input"
    return {"type": kind, "call_id": call_id, "name": "t", payload: "{}"}


def item_result(call_id: str, kind: str = "function_call") -> Message:
    """A Responses output."""
    return {"type": f"{kind}_output", "call_id": call_id, "output": "ok"}


def tie(wire: Format, *messages: Message) -> Pairing:
    """Pair these messages."""
    return pair(wire, [Entry(seq, message, 1) for seq, message in enumerate(messages)])


def places(found: tuple[tuple[int, Any], ...]) -> list[tuple[int, str]]:
    """Positions and ids of calls or results."""
    return [(position, value.id) for position, value in found]


@pytest.mark.parametrize(
    ("wire", "messages"),
    [
        (ANTHROPIC, [use("a"), answer("a"), use("a"), answer("a")]),
        (CHAT, [chat_call("a"), chat_result("a"), chat_call("a"), chat_result("a")]),
        (RESPONSES, [item_call("a"), item_result("a"), item_call("a"), item_result("a")]),
    ],
)
def test_a_reused_id_belongs_to_the_call_before_it(wire: Format, messages: list[Message]) -> None:
    """The second result is the second call's."""
    pairing = tie(wire, *messages)
    assert pairing.owner == {(1, 0): (0, 0), (3, 0): (2, 0)}
    assert pairing.answers == {(0, 0): 1, (2, 0): 3}
    assert (pairing.open, pairing.dead, pairing.orphans) == ((), (), ())


def test_neighbours_of_one_role_are_one_message_for_anthropic() -> None:
    """Calls of two assistants in a row, results in two users in a row with text between."""
    pairing = tie(ANTHROPIC, use("a"), use("b"), answer("b", text="note"), answer("a"))
    assert pairing.owner == {(2, 0): (1, 0), (3, 0): (0, 0)}


def test_a_call_at_the_end_is_open_and_half_a_batch_too() -> None:
    """What is appended next may answer it; a note beside the first result closes nothing."""
    assert places(tie(ANTHROPIC, use("a", "b")).open) == [(0, "a"), (0, "b")]
    assert places(tie(ANTHROPIC, use("a", "b"), answer("a", text="note")).open) == [(0, "b")]
    assert places(tie(CHAT, chat_call("a", "b"), chat_result("b")).open) == [(0, "a")]
    assert places(tie(RESPONSES, item_call("a"), item_call("b"), item_result("a")).open) == [(1, "b")]


@pytest.mark.parametrize(
    ("wire", "call", "closer"),
    [
        (ANTHROPIC, use("a"), said("user")),
        (CHAT, chat_call("a"), said("user")),
        (CHAT, chat_call("a"), said("assistant")),
        (RESPONSES, item_call("a"), said("user")),
    ],
)
def test_a_call_that_the_user_talked_over_is_dead(wire: Format, call: Message, closer: Message) -> None:
    """Nobody will answer it any more."""
    for rest in ([], [said("assistant")]):
        pairing = tie(wire, call, closer, *rest)
        assert places(pairing.dead) == [(0, "a")]
        assert pairing.open == ()


def test_a_result_of_a_closed_block_is_an_orphan() -> None:
    """The id is known, but the block is over."""
    late = tie(ANTHROPIC, use("a", "b"), answer("a"), said("assistant"), answer("b"))
    assert (places(late.dead), places(late.orphans)) == ([(0, "b")], [(3, "b")])
    chat = tie(CHAT, chat_call("a"), said("user"), chat_result("a"))
    assert (places(chat.dead), places(chat.orphans)) == ([(0, "a")], [(2, "a")])


def test_a_second_result_of_one_call_is_an_orphan() -> None:
    """One call, one result."""
    assert places(tie(ANTHROPIC, use("a"), answer("a", "a")).orphans) == [(1, "a")]
    assert places(tie(CHAT, chat_call("a"), chat_result("a"), chat_result("a")).orphans) == [(2, "a")]
    assert places(tie(RESPONSES, item_call("a"), item_result("a"), item_result("a")).orphans) == [(2, "a")]


def test_a_responses_result_finds_its_call_over_any_distance_and_by_kind() -> None:
    """Even behind a user's message; a custom result is no function result."""
    far = tie(RESPONSES, item_call("a"), said("user"), said("assistant"), item_result("a"))
    assert far.owner == {(3, 0): (0, 0)}
    kinds = tie(RESPONSES, item_call("a"), item_call("a", "custom_tool_call"), item_result("a"))
    assert kinds.owner == {(2, 0): (0, 0)}
    assert places(kinds.open) == [(1, "a")]


def test_a_responses_call_is_closed_by_a_later_reply_but_not_by_its_own() -> None:
    """The model may speak behind its call in one reply; once results came, the next reply closes."""
    own = tie(RESPONSES, item_call("a"), said("assistant"))
    assert places(own.open) == [(0, "a")]
    later = tie(RESPONSES, item_call("a"), item_call("b"), item_result("b"), said("assistant"))
    assert places(later.dead) == [(0, "a")]


def test_custom_calls_of_chat_are_answered_by_tool_messages() -> None:
    """The tool message does not say which kind it answers."""
    call = {"id": "c", "type": "custom", "custom": {"name": "t", "input": "x"}}
    pairing = tie(CHAT, {"role": "assistant", "tool_calls": [call]}, chat_result("c"))
    assert pairing.owner == {(1, 0): (0, 0)}


def test_server_tools_are_tied_inside_their_message_and_never_open() -> None:
    """A server result without its call is an orphan."""
    call = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
    result = {"type": "web_search_tool_result", "tool_use_id": "s", "content": []}
    both = tie(ANTHROPIC, {"role": "assistant", "content": [call, result]})
    assert both.owner == {(0, 0): (0, 0)}
    alone = tie(ANTHROPIC, {"role": "assistant", "content": [call]})
    assert (alone.open, alone.dead) == ((), ())
    assert places(tie(ANTHROPIC, {"role": "assistant", "content": [result]}).orphans) == [(0, "s")]


@given(any_history())
def test_every_call_of_a_valid_history_is_answered_behind_it(drawn: tuple[Format, list[Message]]) -> None:
    """Nothing is open, dead or orphaned, and each result stands behind its call."""
    wire, messages = drawn
    pairing = pair(wire, entries_of(messages))
    assert (pairing.open, pairing.dead, pairing.orphans) == ((), (), ())
    assert all(result > call for result, call in pairing.owner.items())
    assert len(set(pairing.owner.values())) == len(pairing.owner)


@given(any_history(open_end=True))
def test_a_prefix_pairs_as_the_whole_does(drawn: tuple[Format, list[Message]]) -> None:
    """Appending never changes who owned a result, and never makes a dead call live."""
    wire, messages = drawn
    entries = entries_of(messages)
    whole = pair(wire, entries)
    for end in range(len(entries)):
        prefix = pair(wire, entries[:end])
        assert prefix.owner == {result: call for result, call in whole.owner.items() if result[0] < end}
        assert prefix.dead == ()


@pytest.mark.recordings
@needs_recordings()
def test_the_public_bug_about_reused_ids_is_not_ours() -> None:
    """Both calls of id x keep their own result."""
    (case,) = cases("pair-06")
    pairing = pair(CHAT, entries_of(case.load()["input"]))
    assert pairing.owner == {(2, 0): (1, 0), (6, 0): (5, 0)}
    assert pairing.orphans == ()
