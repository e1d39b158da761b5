"""Cache marks are kept, stripped or placed, and a provider takes what comes out (rule A13)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from precompact_shared.engine.cache_marks import (
    MOST_MARKS,
    Marking,
    Outside,
    Ttl,
    apply_marks,
    count_marks,
    strip_marks,
)
from precompact_shared.engine.identity import canonical
from precompact_shared.engine.types import Format, Message
from precompact_shared.engine.validate import ALL, RequestFacts, validate
from tests.support.histories import any_history, histories
from tests.support.recordings import needs_recordings, recordings

WIRE = Format.ANTHROPIC
MARKS = ({"type": "ephemeral"}, {"type": "ephemeral", "ttl": "5m"}, {"type": "ephemeral", "ttl": "1h"})
A13 = ALL.narrowed("A13")

outsides = st.builds(Outside, st.integers(0, 4), st.sampled_from(Ttl))


def system_with(outside: Outside) -> RequestFacts:
    """The request around the messages, with these marks on its system prompt."""
    lives = [Ttl.HOUR] * max(0, outside.marks - 1) + [outside.shortest] * bool(outside.marks)
    parts = [
        {"type": "text", "text": "x", "cache_control": {"type": "ephemeral", "ttl": ttl}} for ttl in lives
    ]
    return RequestFacts(system=tuple(parts))


def fair(outside: Outside) -> Outside:
    """Without marks outside, none of them lives short."""
    return outside if outside.marks else Outside()


@st.composite
def marked_histories(draw: st.DrawFn) -> list[Message]:
    """Anthropic histories with marks anywhere, also where none may stand."""
    messages: list[Message] = json.loads(json.dumps(draw(histories(WIRE))))
    for message in messages:
        content = message["content"]
        for part in content if isinstance(content, list) else ():
            if draw(st.integers(0, 3)) == 0:
                part["cache_control"] = draw(st.sampled_from(MARKS))
            if part["type"] == "tool_result" and draw(st.booleans()):
                inner = {"type": "text", "text": part["content"] or "x", "cache_control": MARKS[0]}
                part["content"] = [inner]
    return messages


@given(marked_histories(), st.sampled_from(Marking), st.sampled_from(Ttl), outsides, st.data())
def test_whatever_came_and_whatever_is_wanted_the_provider_takes_it(
    messages: list[Message], marking: Marking, ttl: Ttl, outside: Outside, data: st.DataObject
) -> None:
    """Never more than four, never on thinking or empty text, lives in order; the words stay as they are."""
    outside = fair(outside)
    before = json.dumps(messages)
    length = data.draw(st.integers(0, len(messages)))
    done = apply_marks(WIRE, messages, marking, insert_length=length, ttl=ttl, outside=outside)
    assert validate(WIRE, done, request=system_with(outside), rules=A13) == ()
    assert count_marks(done) + outside.marks <= MOST_MARKS
    assert [canonical(WIRE, one) for one in done] == [canonical(WIRE, one) for one in messages]
    assert json.dumps(messages) == before
    again = apply_marks(WIRE, done, marking, insert_length=length, ttl=ttl, outside=outside)
    assert again == done


@given(marked_histories())
def test_stripped_is_stripped(messages: list[Message]) -> None:
    """No mark stays anywhere; a list without marks comes back as the same objects."""
    bare = strip_marks(messages)
    assert "cache_control" not in json.dumps(bare)
    assert all(new is old for new, old in zip(strip_marks(bare), bare, strict=True))


@given(any_history(), st.sampled_from(Marking))
def test_other_formats_get_no_marks(history: tuple[Format, list[Message]], marking: Marking) -> None:
    """Only Anthropic's messages know them."""
    wire, messages = history
    if wire is not WIRE:
        assert apply_marks(wire, messages, marking, insert_length=1) == messages


def text(words: str, mark: dict[str, Any] | None = None) -> dict[str, Any]:
    """A text part, marked if a mark is given."""
    return {"type": "text", "text": words, **({"cache_control": mark} if mark else {})}


def test_lawful_marks_are_kept_as_they_are() -> None:
    """What the caller's framework placed well is none of our business."""
    messages: list[Message] = [{"role": "user", "content": [text("a", MARKS[2]), text("b", MARKS[0])]}]
    (kept,) = apply_marks(WIRE, messages, Marking.KEEP)
    assert kept is messages[0]


def test_of_too_many_marks_the_last_stay() -> None:
    """The longest prefixes are worth most."""
    messages: list[Message] = [{"role": "user", "content": [text(str(n), MARKS[0]) for n in range(6)]}]
    (kept,) = apply_marks(WIRE, messages, Marking.KEEP, outside=Outside(marks=1))
    assert [part["text"] for part in kept["content"] if "cache_control" in part] == ["3", "4", "5"]


def test_a_long_life_behind_a_short_one_is_shortened() -> None:
    """The longer must come first; a mark without ttl lives five minutes."""
    messages: list[Message] = [{"role": "user", "content": [text("a", MARKS[0]), text("b", MARKS[2])]}]
    (kept,) = apply_marks(WIRE, messages, Marking.KEEP)
    assert [part["cache_control"].get("ttl") for part in kept["content"]] == [None, "5m"]
    (kept,) = apply_marks(
        WIRE,
        [{"role": "user", "content": [text("b", MARKS[2])]}],
        Marking.KEEP,
        outside=Outside(1, Ttl.MINUTES_5),
    )
    assert kept["content"][0]["cache_control"]["ttl"] == "5m"


def test_placed_marks_stand_behind_the_summary_and_at_the_end() -> None:
    """The insert is equal from request to request; text given as a string becomes a part that can be marked."""
    messages: list[Message] = [
        {"role": "user", "content": "summary"},
        {"role": "assistant", "content": [text("old", MARKS[0])]},
        {"role": "user", "content": [text("new"), text("")]},
    ]
    done = apply_marks(WIRE, messages, Marking.PLACE, insert_length=1, ttl=Ttl.HOUR)
    mark = {"type": "ephemeral", "ttl": "1h"}
    assert done[0] == {"role": "user", "content": [text("summary", mark)]}
    assert done[1] == {"role": "assistant", "content": [text("old")]}
    assert done[2] == {"role": "user", "content": [text("new", mark), text("")]}


@pytest.mark.parametrize(("taken", "places"), [(2, [0, 1]), (3, [1]), (4, []), (7, [])])
def test_slots_of_the_caller_count(taken: int, places: list[int]) -> None:
    """Where one is left, it is spent at the end."""
    messages: list[Message] = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    done = apply_marks(WIRE, messages, Marking.PLACE, insert_length=1, outside=Outside(marks=taken))
    assert [index for index, one in enumerate(done) if count_marks([one])] == places


def test_a_message_of_thinking_alone_passes_its_mark_to_the_one_before() -> None:
    """Thinking may carry none."""
    thinking = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
    messages: list[Message] = [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": [thinking]},
    ]
    done = apply_marks(WIRE, messages, Marking.PLACE)
    assert [count_marks([one]) for one in done] == [1, 0]


@pytest.mark.parametrize("marking", list(Marking))
def test_marks_that_are_no_objects_go(marking: Marking) -> None:
    """Whatever a caller may have sent."""
    messages: list[Message] = [{"role": "user", "content": [{**text("a"), "cache_control": "yes"}]}]
    done = apply_marks(WIRE, messages, marking)
    assert '"yes"' not in json.dumps(done)


@needs_recordings()
@pytest.mark.recordings
def test_recordings_take_every_marking() -> None:
    """No new complaint of any rule."""
    for recording in recordings():
        told = recording.load()
        wire, messages = Format(told["format"]), told["messages"]
        before = validate(wire, messages)
        for marking in Marking:
            done = apply_marks(wire, messages, marking, insert_length=min(3, len(messages)))
            assert [one for one in validate(wire, done) if one not in before] == [], (recording.name, marking)
