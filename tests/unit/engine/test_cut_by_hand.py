"""Spans that somebody asked for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from precompact_shared.engine.cut import Skip, SkipReason, Span, safe_cuts, span_by_hand
from precompact_shared.engine.types import Entry, Format, Message
from tests.support.histories import any_history, entries_of

ASK: Message = {"role": "user", "content": "go"}
CALL: Message = {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}}]}
RESULT: Message = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "ok"}]}
SAY: Message = {"role": "assistant", "content": "done"}


def asked(*, start: int | None = None, upto: int, covered: int = 10) -> Span | Skip:
    """The span in a history that is covered up to 10: ask, call, result, say."""
    entries = [Entry(seq, message, 5) for seq, message in enumerate([ASK, CALL, RESULT, SAY], 10)]
    return span_by_hand(Format.ANTHROPIC, entries, covered=covered, start=start, upto=upto)


@pytest.mark.parametrize(
    ("start", "upto", "found"),
    [
        (None, 14, Span(10, 14)),
        (None, 99, Span(10, 14)),
        # both ends move back to a safe place: never between a call and its result
        (None, 12, Span(10, 11)),
        (12, 14, Span(11, 14)),
        (13, 14, Span(13, 14)),
        (9, 14, Skip(SkipReason.FROM_ALREADY_COVERED)),
        (None, 10, Skip(SkipReason.UPTO_ALREADY_COVERED)),
        (14, 15, Skip(SkipReason.FROM_BEYOND_THE_END)),
        (12, 12, Skip(SkipReason.NO_SAFE_CUT)),
    ],
)
def test_both_ends_move_back_to_a_safe_place_or_the_reason_is_named(
    start: int | None, upto: int, found: Span | Skip
) -> None:
    """A refusal is a skip, never an error."""
    assert asked(start=start, upto=upto) == found


def test_a_session_without_new_entries_has_nothing_to_ask_for() -> None:
    """All of it is covered."""
    assert span_by_hand(Format.ANTHROPIC, [], covered=7, upto=9) == Skip(SkipReason.EMPTY)


@given(any_history(open_end=True), st.integers(0, 40), st.integers(0, 40))
def test_a_span_lies_between_safe_places(
    generated: tuple[Format, list[Message]], start: int, upto: int
) -> None:
    """Whatever was asked for."""
    wire, messages = generated
    entries = entries_of(messages, start=3)
    found = span_by_hand(wire, entries, covered=3, start=start, upto=upto)
    if isinstance(found, Span):
        safe = [3 + place for place in safe_cuts(wire, entries)]
        assert found.start in safe
        assert found.upto in safe
        assert 3 <= found.start < found.upto <= max(upto, 4)
