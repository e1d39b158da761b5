"""The head of a turn that the cut divides: two requests that together are the one, or none."""

from __future__ import annotations

from dataclasses import replace

import pytest

from precompact_shared.engine.preset import load_preset
from precompact_shared.engine.summary import budgets_of, extract
from precompact_shared.engine.types import Entry, Format
from precompact_worker.checking import with_facts
from precompact_worker.dividing import LEAST_PART_TOKENS, halves_of, in_one, put_together
from precompact_worker.providers.base import Reply, Request
from tests.support.talk import assistant, turns, user

PRESET = load_preset("precompact")
MESSAGES = [*turns(3), user("rewrite the parser"), assistant("I begin."), assistant("I go on.")]
ENTRIES = tuple(Entry(seq, message, 10) for seq, message in enumerate(MESSAGES))
TURN = 6


def request(max_tokens: int = 8_000, *, turn: int = TURN) -> Request:
    """As a worker makes it of a cut inside the last turn."""
    return Request(
        format=Format.ANTHROPIC,
        preset=PRESET,
        carried=extract(Format.ANTHROPIC, ENTRIES[:turn], None),
        head=extract(Format.ANTHROPIC, ENTRIES[turn:], None),
        known=extract(Format.ANTHROPIC, ENTRIES, None),
        covered=ENTRIES,
        covered_tokens=90,
        max_tokens=max_tokens,
        focus="the parser",
        attempt=1,
        previous="what came before",
    )


def test_both_together_cover_what_the_one_covers() -> None:
    """Nothing twice, nothing left out, within the room; only the first goes on from the previous record."""
    halves = halves_of(request())
    assert halves is not None
    assert (*halves.history.covered, *halves.head.covered) == ENTRIES
    assert halves.head.covered[0].seq == TURN
    assert halves.history.covered_tokens + halves.head.covered_tokens == 90
    assert halves.history.max_tokens + halves.head.max_tokens < 8_000
    assert (halves.history.previous, halves.head.previous) == ("what came before", "")
    assert {half.focus for half in halves} == {"the parser"}
    assert [half.head for half in halves] == [None, None]


@pytest.mark.parametrize("asked", [replace(request(), head=None), request(turn=0), request(max_tokens=800)])
def test_where_there_is_nothing_to_divide_or_no_room_for_two_there_is_one(asked: Request) -> None:
    """No head, nothing in front of it, or a budget in which two forms would hold nothing but headings."""
    assert halves_of(asked) is None


def test_the_least_room_is_that_of_the_smaller_part() -> None:
    """Found by trying: the bound is where both parts have it."""
    least = next(room for room in range(100, 8_000) if halves_of(request(room)) is not None)
    assert min(budgets_of(PRESET, least)) == LEAST_PART_TOKENS


def test_in_one_form_code_fills_in_what_belongs_to_each_part() -> None:
    """The turn's request under the head's heading alone, the earlier ones under the others alone."""
    asked = in_one(request())
    form = "\n\n".join(f"{one.heading}\nwritten" for one in asked.preset.summary.sections)
    history, between, head = with_facts(form, asked).partition(PRESET.summary.split_heading)
    assert between
    assert "rewrite the parser" in head
    assert "rewrite the parser" not in history
    assert "request 0" in history
    assert "request 0" not in head


def test_what_was_seen_adds_up_and_what_nobody_knows_stays_unknown() -> None:
    """`None` says that all was seen."""
    parts = (Reply(text="a", tokens=1, seen_tokens=10), Reply(text="b", tokens=1, seen_tokens=20))
    assert put_together(*parts, PRESET).seen_tokens == 30
    assert put_together(parts[0], replace(parts[1], seen_tokens=None), PRESET).seen_tokens is None
    assert PRESET.summary.split_heading in put_together(*parts, PRESET).text
