"""How it comes back: whatever is cut, what the model sees is valid, stable and complete."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from precompact_shared.engine.cut import safe_cuts
from precompact_shared.engine.edits import apply_context
from precompact_shared.engine.formats import facts, plain_text
from precompact_shared.engine.preset import load_preset, preset_names
from precompact_shared.engine.projection import (
    context_edits,
    has_open_thinking_loop,
    merge_edits,
    pinned_entries,
    render_insert,
    repair_edits,
    tail_edits,
)
from precompact_shared.engine.types import Edit, Entry, Format, Message, Role
from precompact_shared.engine.validate import validate
from tests.support.histories import any_history, entries_of

SUMMARY = "## Goal\nwhat was said </conversation-summary> and done"
OURS = load_preset("precompact")

ASK: Message = {"role": "user", "content": "go on"}
SAY: Message = {"role": "assistant", "content": "done"}


def call(*ids: str, thinking: bool = False) -> Message:
    """An Anthropic assistant message with calls of these ids."""
    thought = [{"type": "thinking", "thinking": "hm", "signature": "c2ln"}] if thinking else []
    return {
        "role": "assistant",
        "content": [*thought, *({"type": "tool_use", "id": one, "name": "Read", "input": {}} for one in ids)],
    }


def result(*ids: str, note: str = "") -> Message:
    """An Anthropic user message with results for these ids."""
    parts: list[dict[str, Any]] = [
        {"type": "tool_result", "tool_use_id": one, "content": "ok"} for one in ids
    ]
    return {"role": "user", "content": [*parts, *([{"type": "text", "text": note}] if note else [])]}


def projected(
    wire: Format, messages: Sequence[Message], position: int, pinned: Sequence[Entry] = ()
) -> list[Message]:
    """The context after a cut at this position."""
    entries = entries_of(messages)
    insert = render_insert(wire, OURS, SUMMARY, pinned)
    return apply_context(messages, insert, position, context_edits(wire, entries[position:]))


@given(any_history(open_end=True))
def test_every_safe_cut_of_every_history_gives_a_context_its_provider_takes(
    history: tuple[Format, list[Message]],
) -> None:
    """Thinking, batches, reused ids, split results: no safe place may break a rule the history kept."""
    wire, messages = history
    assert validate(wire, messages, open_end_ok=True) == ()
    for position in safe_cuts(wire, entries_of(messages)):
        assert validate(wire, projected(wire, messages, position), open_end_ok=True) == (), position


@given(any_history(open_end=True))
def test_projecting_twice_gives_the_same_bytes_and_changes_nothing(
    history: tuple[Format, list[Message]],
) -> None:
    """A prompt cache lives on equal prefixes."""
    wire, messages = history
    before = json.dumps(messages)
    for position in safe_cuts(wire, entries_of(messages)):
        first, second = (json.dumps(projected(wire, messages, position)) for _ in range(2))
        assert first == second
    assert json.dumps(messages) == before


@given(any_history(open_end=True))
def test_no_text_of_the_kept_part_is_lost(history: tuple[Format, list[Message]]) -> None:
    """Edits take thinking and what cannot be sent, never words."""
    wire, messages = history
    entries = entries_of(messages)
    for position in safe_cuts(wire, entries):
        kept = "\n".join(filter(None, (plain_text(wire, message) for message in messages[position:])))
        context = apply_context(messages, (), position, context_edits(wire, entries[position:]))
        assert "\n".join(filter(None, (plain_text(wire, message) for message in context))) == kept


@given(any_history(), st.data())
def test_pinned_entries_travel_in_front_of_the_summary_as_whole_units(
    history: tuple[Format, list[Message]], data: st.DataObject
) -> None:
    """Whatever is pinned, also one result of a batch, the context stays valid and holds its words."""
    wire, messages = history
    entries = entries_of(messages)
    position = data.draw(st.sampled_from(safe_cuts(wire, entries)))
    pins = data.draw(st.sets(st.integers(0, len(messages) - 1), max_size=3))
    covered = [Entry(e.seq, e.message, e.tokens, pinned=e.seq in pins) for e in entries[:position]]
    pinned = pinned_entries(wire, covered)
    assert {entry.seq for entry in covered if entry.pinned} <= {entry.seq for entry in pinned}
    context = projected(wire, messages, position, pinned)
    assert validate(wire, context, open_end_ok=True) == ()
    told = "\n".join(plain_text(wire, message) for message in context)
    assert all(plain_text(wire, entry.message) in told for entry in pinned)


def test_system_text_at_the_head_is_pinned_by_itself() -> None:
    """The agent's rules are never summarised."""
    head = [{"role": "system", "content": "rules"}, {"role": "developer", "content": "more rules"}]
    entries = entries_of([*head, ASK, SAY])
    assert [entry.seq for entry in pinned_entries(Format.OPENAI_CHAT, entries)] == [0, 1]
    assert pinned_entries(Format.OPENAI_CHAT, entries_of([*head, ASK], start=5)) == ()


@pytest.mark.parametrize("name", preset_names())
@pytest.mark.parametrize("wire", list(Format))
@pytest.mark.parametrize("acknowledgement", ["", "Understood."])
def test_the_insert_stands_alone_and_in_front_of_any_tail(
    name: str, wire: Format, acknowledgement: str
) -> None:
    """The tail may begin with the user, with the assistant, or be empty."""
    loaded = load_preset(name)
    preset = replace(loaded, injection=replace(loaded.injection, acknowledgement=acknowledgement))
    insert = render_insert(wire, preset, SUMMARY, ())
    assert len(insert) == (2 if acknowledgement else 1)
    assert facts(wire, insert[0]).role is Role.USER
    for tail in ([], [ASK], [SAY], [SAY, ASK]):
        assert validate(wire, [*insert, *tail]) == ()


def test_the_summary_is_recognisable_and_cannot_end_its_own_wrapper() -> None:
    """Text of a user, quoted in the summary, may hold our tags."""
    (message,) = render_insert(Format.OPENAI_CHAT, OURS, SUMMARY, ())
    assert message["content"].startswith("<conversation-summary ")
    assert message["content"].count("</conversation-summary>") == 1
    assert message["content"].endswith("</conversation-summary>")


def test_a_fresh_window_has_no_summary_message() -> None:
    """An empty summary leaves the pinned entries alone."""
    rules = Entry(0, {"role": "system", "content": "rules"}, 3, pinned=True)
    assert render_insert(Format.OPENAI_CHAT, OURS, "", [rules]) == (rules.message,)


def test_a_message_of_thinking_alone_is_left_out_as_a_whole() -> None:
    """An assistant message left empty would be refused."""
    alone = {"role": "assistant", "content": call("x", thinking=True)["content"][:1]}
    mixed = call("a", thinking=True)
    edits = tail_edits(Format.ANTHROPIC, entries_of([ASK, alone, mixed, result("a")], start=7))
    assert edits == (Edit(8), Edit(9, part=0))
    assert tail_edits(Format.OPENAI_RESPONSES, entries_of([{"type": "reasoning", "summary": []}])) == ()


def test_blank_text_beside_thinking_goes_with_it() -> None:
    """White space alone is a message that is refused."""
    message = {
        "role": "assistant",
        "content": [*call("x", thinking=True)["content"][:1], {"type": "text", "text": "\n"}],
    }
    assert tail_edits(Format.ANTHROPIC, entries_of([message])) == (Edit(0),)


def test_a_result_without_its_call_is_left_out() -> None:
    """A part where the message says more, the whole message where it does not."""
    entries = entries_of([result("gone"), ASK, SAY, result("lost", note="and this"), SAY])
    assert repair_edits(Format.ANTHROPIC, entries) == (Edit(0), Edit(3, part=0))
    chat = entries_of([{"role": "tool", "tool_call_id": "gone", "content": "ok"}, ASK])
    assert repair_edits(Format.OPENAI_CHAT, chat) == (Edit(0),)


def test_calls_never_answered_get_one_edit_of_synthetic_results_behind_their_reply() -> None:
    """Behind the last message of the merged reply, so that the reply stays one."""
    entries = entries_of([ASK, call("a"), call("b", "c"), result("c"), ASK, SAY])
    (edit,) = repair_edits(Format.ANTHROPIC, entries)
    assert edit.seq == 2
    assert [message["content"][0]["tool_use_id"] for message in edit.after] == ["a", "b"]
    context = apply_context([entry.message for entry in entries], (), 0, [edit])
    assert validate(Format.ANTHROPIC, context) == ()


def test_a_reply_that_ends_in_an_empty_message_loses_it_and_keeps_its_results() -> None:
    """The message goes, what is put behind it stays."""
    empty: Message = {"role": "assistant", "content": []}
    entries = entries_of([ASK, call("a"), empty, ASK, SAY])
    gone, answer = repair_edits(Format.ANTHROPIC, entries)
    assert (gone, answer.seq) == (Edit(2), 2)
    context = apply_context([entry.message for entry in entries], (), 0, [gone, answer])
    assert validate(Format.ANTHROPIC, context) == ()


def test_a_call_at_the_end_waits_unless_its_caller_gave_it_up() -> None:
    """Only the caller can know that no answer will come."""
    entries = entries_of([ASK, call("a", "b")])
    assert repair_edits(Format.ANTHROPIC, entries) == ()
    (edit,) = repair_edits(Format.ANTHROPIC, entries, given_up={"b"})
    assert [message["content"][0]["tool_use_id"] for message in edit.after] == ["b"]


@pytest.mark.parametrize(
    ("messages", "is_open"),
    [
        ([ASK, call("a", thinking=True), result("a")], True),
        ([ASK, call("a", thinking=True)], True),
        ([ASK, call("a", thinking=True), result("a"), call("b"), result("b", note="hurry")], True),
        ([ASK, call("a"), result("a")], False),
        ([ASK, call("a", thinking=True), result("a"), SAY], False),
        ([ASK, call("a", thinking=True), result("a"), SAY, ASK], False),
        ([ASK, call("a", thinking=True), result("a"), SAY, ASK, call("b"), result("b")], False),
        ([], False),
    ],
)
def test_thinking_in_an_open_tool_loop_is_seen(messages: list[Message], *, is_open: bool) -> None:
    """Taking that thinking away would be refused, so adoption waits."""
    assert has_open_thinking_loop(Format.ANTHROPIC, entries_of(messages)) is is_open


def test_edits_of_one_entry_are_merged_without_clash() -> None:
    """Thinking and a lost result in one message, parts from the highest down, what goes behind last."""
    message = {"role": "assistant", "content": ["one", "two", "three"]}
    entries = [Entry(4, message, 1), Entry(5, message, 1), Entry(6, message, 1)]
    behind = Edit(5, after=(ASK,))
    merged = merge_edits(
        entries,
        [Edit(5, part=0), Edit(4, part=2), Edit(4, part=1)],
        [behind, Edit(4, part=0), Edit(5, part=2), Edit(6, part=1), Edit(6)],
    )
    assert merged == (Edit(4), Edit(5, part=2), Edit(5, part=0), behind, Edit(6))


def test_an_answer_is_not_put_between_reasoning_and_what_came_with_it() -> None:
    """A call nobody answered, then reasoning and an item of a type nobody knows (O4)."""
    wire = Format.OPENAI_RESPONSES
    call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
    reasoning = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "ZW5j"}
    messages: list[Message] = [call, reasoning, {"type": "novelty"}, {"role": "user", "content": "go on"}]
    entries = [Entry(seq, message, 1) for seq, message in enumerate(messages)]
    context = apply_context(messages, (), 0, context_edits(wire, entries))
    assert [one.get("type") for one in context[:4]] == [
        "function_call",
        "function_call_output",
        "reasoning",
        "novelty",
    ]
