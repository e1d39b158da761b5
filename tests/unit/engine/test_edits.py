"""Edits travel as JSON and change the kept entries and nothing else."""

from __future__ import annotations

import contextlib
import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from precompact_shared.engine.edits import InvalidEdit, apply_context, edit_from_json, edit_to_json
from precompact_shared.engine.types import Edit, Message
from tests.support.histories import any_history

values = st.one_of(st.none(), st.dictionaries(st.text(max_size=4), st.text(max_size=4), max_size=2))
seqs = st.integers(0, 30)
edits = st.one_of(
    st.builds(Edit, seq=seqs, part=st.integers(0, 5), value=values),
    st.builds(Edit, seq=seqs, value=values),
    st.builds(Edit, seq=seqs, after=st.lists(st.just({"role": "user"}), min_size=1, max_size=2).map(tuple)),
)
SUMMARY: Message = {"role": "user", "content": "what happened"}


def message(*texts: str) -> Message:
    """An assistant with text parts."""
    return {"role": "assistant", "content": [{"type": "text", "text": text} for text in texts]}


def texts(messages: list[Message]) -> list[str]:
    """All texts in order."""
    return ["|".join(part["text"] for part in entry["content"]) for entry in messages]


@given(edits)
def test_an_edit_survives_its_json_form(edit: Edit) -> None:
    """Three forms, each read back as it was."""
    assert edit_from_json(edit_to_json(edit)) == edit


@pytest.mark.parametrize(
    "obj",
    [
        None,
        [],
        {},
        {"seq": -1, "value": None},
        {"seq": True, "value": None},
        {"seq": 1},
        {"seq": 1, "part": 0},
        {"seq": 1, "part": "0", "value": None},
        {"seq": 1, "after": []},
        {"seq": 1, "after": ["x"]},
        {"seq": 1, "value": None, "after": [{}]},
        {"seq": 1, "value": None, "extra": 1},
    ],
)
def test_what_is_no_edit_is_refused(obj: Any) -> None:
    """A misread edit would change the wrong message."""
    with pytest.raises(InvalidEdit):
        edit_from_json(obj)


@given(any_history(), st.data())
def test_without_edits_the_tail_is_what_it_was(drawn: tuple[Any, list[Message]], data: st.DataObject) -> None:
    """The insert in place of the head, every kept message as it is, in order."""
    _, messages = drawn
    keep_from = data.draw(st.integers(0, len(messages)))
    assert apply_context(messages, [SUMMARY], keep_from, []) == [SUMMARY, *messages[keep_from:]]


def test_part_indexes_are_those_of_the_original() -> None:
    """Removing part 0 does not move part 2."""
    parts = [Edit(1, part=0), Edit(1, part=2, value={"type": "text", "text": "new"})]
    messages = [message("x"), message("a", "b", "c")]
    assert texts(apply_context(messages, [], 1, parts)) == ["b|new"]
    assert texts(apply_context(messages, [], 1, reversed(parts))) == ["b|new"]


def test_a_whole_message_is_replaced_or_left_out() -> None:
    """A value replaces it, none leaves it out, and its part edits no longer count."""
    messages = [message("a"), message("b"), message("c")]
    changes = [Edit(0, value=message("A")), Edit(1), Edit(1, part=0, value={"type": "text", "text": "no"})]
    assert texts(apply_context(messages, [], 0, changes)) == ["A", "c"]


def test_messages_are_put_right_behind_an_entry_even_if_it_goes() -> None:
    """In the order of the edits."""
    messages = [message("a"), message("b")]
    changes = [
        Edit(0, after=(message("1"),)),
        Edit(0, after=(message("2"),)),
        Edit(1),
        Edit(1, after=(message("3"),)),
    ]
    assert texts(apply_context(messages, [], 0, changes)) == ["a", "1", "2", "3"]


def test_edits_of_covered_entries_change_nothing() -> None:
    """They stand in front of the kept tail."""
    messages = [message("a"), message("b")]
    assert texts(apply_context(messages, [], 1, [Edit(0, value=message("A")), Edit(0, part=9)])) == ["b"]


def test_string_content_counts_as_one_part() -> None:
    """Part 0 is the string."""
    messages: list[Message] = [{"role": "user", "content": "x"}]
    part = {"type": "text", "text": "y"}
    assert apply_context(messages, [], 0, [Edit(0, part=0, value=part)]) == [
        {"role": "user", "content": [part]}
    ]


def test_a_part_that_is_not_there_is_an_error() -> None:
    """Wrong coordinates must not pass in silence."""
    for entry in (message("a"), {"role": "assistant", "content": None}):
        with pytest.raises(InvalidEdit):
            apply_context([entry], [], 0, [Edit(0, part=1)])


@given(any_history(), st.lists(edits, max_size=6), st.integers(0, 5))
def test_nothing_given_is_changed_in_place(
    drawn: tuple[Any, list[Message]], changes: list[Edit], keep_from: int
) -> None:
    """The caller's history is its own."""
    _, messages = drawn
    before = copy.deepcopy(messages)
    with contextlib.suppress(InvalidEdit):
        apply_context(messages, [SUMMARY], keep_from, changes)
    assert messages == before
