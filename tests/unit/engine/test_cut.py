"""Where a history may be cut, and where it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from precompact_shared.engine.cut import Cut, Skip, SkipReason, plan_cut, safe_cuts
from precompact_shared.engine.cut.rules import RULES
from precompact_shared.engine.formats import facts
from precompact_shared.engine.preset import Boundary
from precompact_shared.engine.types import Entry, Format, Message
from tests.support.histories import any_history, entries_of

A, C, R = Format.ANTHROPIC, Format.OPENAI_CHAT, Format.OPENAI_RESPONSES


def message(wire: Format, sketch: str) -> Message:
    """One message from a sketch: `u` user, `a` assistant, `s` system, `cX..` calls, `rX..` results, `t` reasoning.

    `n` is an item of a type nobody knows; `r` with a `+` holds text of the user, too.
    """
    kind, ids = sketch[0], [one for one in sketch[1:] if one != "+"]
    if kind in "uas":
        role = {"u": "user", "a": "assistant", "s": "system"}[kind]
        return {"role": role, "content": f"some text {sketch[1:]}"}
    if wire is A:
        note = [{"type": "text", "text": "and"}] if "+" in sketch else []
        blocks = {
            "c": [{"type": "tool_use", "id": one, "name": "Read", "input": {}} for one in ids],
            "r": [*({"type": "tool_result", "tool_use_id": one, "content": "ok"} for one in ids), *note],
            "n": [{"type": "tidings"}],
        }
        return {"role": "assistant" if kind == "c" else "user", "content": blocks[kind]}
    if wire is C:
        calls = [{"id": one, "type": "function", "function": {"name": "f", "arguments": "{}"}} for one in ids]
        shapes: dict[str, Message] = {
            "c": {"role": "assistant", "content": None, "tool_calls": calls},
            "r": {"role": "tool", "tool_call_id": "".join(ids), "content": "ok"},
        }
        return shapes[kind]
    items: dict[str, Message] = {
        "c": {"type": "function_call", "call_id": "".join(ids), "name": "f", "arguments": "{}"},
        "r": {"type": "function_call_output", "call_id": "".join(ids), "output": "ok"},
        "t": {"type": "reasoning", "summary": []},
        "n": {"type": "tidings"},
    }
    return items[kind]


def history(wire: Format, sketches: str, *, tokens: Sequence[int] = (), start: int = 0) -> list[Entry]:
    """Entries from sketches divided by blanks, 10 tokens each unless told."""
    messages = [message(wire, sketch) for sketch in sketches.split()]
    sizes = tokens or [10] * len(messages)
    return [Entry(seq, m, size) for seq, (m, size) in enumerate(zip(messages, sizes, strict=True), start)]


@pytest.mark.parametrize(
    ("wire", "sketches", "safe"),
    [
        # a call and its result are one unit
        (A, "u cX rX a", {0, 1, 3, 4}),
        (C, "s u cX rX a", {0, 1, 2, 4, 5}),
        (R, "u cX rX a", {0, 1, 3, 4}),
        # also where something stands between them
        (R, "u cX a rX u", {0, 1, 4, 5}),
        (A, "u cX u rX a", {0, 1, 4, 5}),
        # a batch is one unit, in one message or as neighbours, its results in one or many
        (A, "u cXY rX rY a", {0, 1, 4, 5}),
        (A, "u cX cY rXY a", {0, 1, 4, 5}),
        (C, "u cXY rX rY a", {0, 1, 4, 5}),
        (R, "u cX cY rX rY a", {0, 1, 5, 6}),
        # ids repeat: each result belongs to the call before it
        (C, "u cX rX cX rX a", {0, 1, 3, 5, 6}),
        (R, "u cX rX u cX rX", {0, 1, 3, 4, 6}),
        # what came with a reasoning item stays behind it; the next reasoning item opens a new unit
        (R, "u t a u", {0, 1, 3, 4}),
        (R, "u t a cX rX t a", {0, 1, 5, 7}),
        (R, "u t t a t a", {0, 1, 4, 6}),
        (R, "u t u", {0, 1, 2, 3}),
        # nothing open in front of a cut
        (A, "u a u cX", {0, 1, 2, 3}),
        (C, "u cXY rX", {0, 1}),
        (R, "u cX a", {0, 1}),
        # a call that never will be answered blocks nothing, but stays in its batch
        (A, "u cX u a", {0, 1, 2, 3, 4}),
        (A, "u cX cY rY a", {0, 1, 4, 5}),
        # no tail starts with a result, not even one without a call
        (A, "rX u a", {0, 1, 2, 3}),
        (A, "u rX a", {0, 2, 3}),
        (A, "u cX rX+ a", {0, 1, 3, 4}),
        (C, "u rX a", {0, 2, 3}),
        # system text in mid-conversation stays behind its turn
        (A, "u s a u", {0, 2, 3, 4}),
        (C, "u s a u", {0, 1, 2, 3, 4}),
        # an unknown item stays with what stands before it
        (R, "u a n u", {0, 1, 3, 4}),
        # neighbours of one role may be parted
        (A, "u u a a u", {0, 1, 2, 3, 4, 5}),
        (A, "", {0}),
    ],
)
def test_the_safe_places(wire: Format, sketches: str, safe: set[int]) -> None:
    """Read as a table: a place is a number, a unit has none inside."""
    assert set(safe_cuts(wire, history(wire, sketches))) == safe


def test_every_rule_has_a_name_of_its_own() -> None:
    """Names are what a report shows."""
    assert len({rule.name for rule in RULES}) == len(RULES)


@given(
    any_history(open_end=True),
    st.integers(1, 400),
    st.integers(0, 60),
    st.integers(0, 30),
    st.sampled_from(Boundary),
)
def test_a_planned_cut_is_safe_ahead_and_honest_about_its_sizes(
    generated: tuple[Format, list[Message]], keep: int, ahead: int, start: int, boundary: Boundary
) -> None:
    """One of the safe places, beyond the current checkpoint, something covered, something kept."""
    wire, messages = generated
    entries = entries_of(messages, start=start)
    at_least = start + min(ahead, len(messages) - 1)
    cut = plan_cut(wire, entries, keep_tokens=keep, at_least=at_least, boundary=boundary)
    if isinstance(cut, Skip):
        assert cut.reason is not SkipReason.EMPTY
        return
    position = cut.upto - start
    assert position in safe_cuts(wire, entries)
    assert at_least < cut.upto <= start + len(messages)
    assert cut.upto < start + len(messages) or boundary in {Boundary.END, Boundary.USER}
    assert (cut.turn_start is not None) == cut.split_turn
    assert cut.kept_tokens == sum(entry.tokens for entry in entries[position:])
    assert 0 < cut.covered_tokens <= sum(entry.tokens for entry in entries[:position])
    assert plan_cut(wire, entries, keep_tokens=keep, at_least=at_least, boundary=boundary) == cut


@given(any_history(), st.integers(1, 400))
def test_the_newest_user_message_stays_when_its_turn_fits_twice_the_budget(
    generated: tuple[Format, list[Message]], keep: int
) -> None:
    """What the user just asked is never a summary."""
    wire, messages = generated
    entries = entries_of(messages)
    newest = max(e.seq for e in entries if facts(wire, e.message).user_turn)
    fits = sum(entry.tokens for entry in entries[newest:]) <= 2 * keep
    cut = plan_cut(wire, entries, keep_tokens=keep, at_least=0)
    if fits and isinstance(cut, Cut):
        assert cut.upto <= newest


def planned(sketches: str, tokens: Sequence[int], *, keep: int, wire: Format = A, **more: Any) -> Cut | Skip:
    """The plan for a sketched history."""
    return plan_cut(wire, history(wire, sketches, tokens=tokens), keep_tokens=keep, at_least=0, **more)


@pytest.mark.parametrize(
    ("sketches", "tokens", "keep", "cut"),
    [
        # the turn start within the budget that keeps most
        ("u a u a u a", [10, 10, 10, 10, 10, 10], 45, Cut(2, False, 20, 40, "turn_start")),
        # a turn that leaves less than a quarter of the budget is not worth it: inside the older one
        ("u a a a a u", [10, 30, 30, 30, 30, 10], 100, Cut(2, True, 40, 100, "inside_turn", 0)),
        # the newest turn is larger than the budget, but fits twice
        ("u a u a a", [10, 10, 20, 30, 30], 50, Cut(2, False, 20, 80, "newest_turn")),
        # and here it does not: its head is covered
        ("u a u a a a", [10, 10, 20, 30, 30, 30], 40, Cut(5, True, 100, 30, "inside_turn", 2)),
        # a unit larger than the budget stays whole
        ("u a cX rX", [10, 10, 5, 500], 50, Cut(2, True, 20, 505, "unit_over_budget", 0)),
        # nearly nothing behind a large unit: rather the unit, while it fits twice
        ("u a a a", [10, 200, 90, 2], 50, Cut(2, True, 210, 92, "unit_over_budget", 0)),
        ("u a a a", [10, 200, 190, 2], 50, Cut(3, True, 400, 2, "inside_turn", 0)),
    ],
)
def test_where_the_cut_falls(sketches: str, tokens: list[int], keep: int, cut: Cut) -> None:
    """Walk back from the newest entry, prefer the user's turn, never leave nearly nothing."""
    assert planned(sketches, tokens, keep=keep) == cut


@pytest.mark.parametrize(
    ("sketches", "tokens", "keep", "cut"),
    [
        # the first entry at which the tail has reached the budget, be it an assistant's
        ("u a u a u a", [10, 10, 10, 10, 10, 10], 45, Cut(1, True, 10, 50, "inside_turn", 0)),
        # a result is none: the next entry is
        ("u a cX rX a a", [10, 10, 10, 50, 20, 20], 60, Cut(4, True, 80, 40, "inside_turn", 0)),
        ("u a u a", [10, 10, 30, 30], 60, Cut(2, False, 20, 60, "turn_start")),
        ("u a cX rX", [10, 10, 5, 500], 50, Cut(2, True, 20, 505, "unit_over_budget", 0)),
    ],
)
def test_where_pi_cuts(sketches: str, tokens: list[int], keep: int, cut: Cut) -> None:
    """Without a preference for turns."""
    assert planned(sketches, tokens, keep=keep, boundary=Boundary.ANY) == cut


@pytest.mark.parametrize(
    ("wire", "sketches", "keep", "at_least", "reason"),
    [
        (A, "", 10, 0, SkipReason.EMPTY),
        (A, "u a u a", 40, 0, SkipReason.ALL_FITS),
        (A, "cX", 1, 0, SkipReason.OPEN_CALL),
        (A, "cX rX", 1, 0, SkipReason.NO_SAFE_CUT),
        (A, "u a cX", 1, 2, SkipReason.NOT_AHEAD),
        (C, "s s u", 9, 0, SkipReason.ONLY_PINNED),
        (A, "u cX rX a", 30, 0, SkipReason.ONE_TURN),
    ],
)
def test_nothing_to_cut_is_a_skip_with_its_reason(
    wire: Format, sketches: str, keep: int, at_least: int, reason: SkipReason
) -> None:
    """A skip, not an error."""
    assert plan_cut(wire, history(wire, sketches), keep_tokens=keep, at_least=at_least) == Skip(reason)


def test_pinned_entries_are_not_counted_as_covered() -> None:
    """System text at the head and what the caller pinned travel on."""
    entries = history(C, "s u a u a")
    entries[1] = Entry(1, entries[1].message, 10, pinned=True)
    assert plan_cut(C, entries, keep_tokens=20, at_least=0) == Cut(3, False, 10, 20, "turn_start")
    later = history(C, "s u a u a", start=7)
    assert plan_cut(C, later, keep_tokens=20, at_least=7) == Cut(10, False, 30, 20, "turn_start")


def test_developer_text_that_opens_a_turn_stays_with_it() -> None:
    """Agents put notes in front of a user message; the turn begins with them."""
    assert planned("u a s u a", [10] * 5, keep=30, wire=C) == Cut(2, False, 20, 30, "turn_start")
