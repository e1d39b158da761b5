"""Whatever the history, the format and the preset: the context is valid, stable and whole."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from precompact_shared.engine.cut import Cut, Skip, SkipReason, plan_cut, safe_cuts
from precompact_shared.engine.edits import apply_context, edit_from_json, edit_to_json
from precompact_shared.engine.formats import facts, plain_text, user_message
from precompact_shared.engine.preset import Preset, load_preset, preset_names
from precompact_shared.engine.projection import context_edits, pinned_entries, render_insert
from precompact_shared.engine.recognition import summary_preset
from precompact_shared.engine.summary import RejectReason
from precompact_shared.engine.types import Entry, Format, Message
from tests.support.histories import any_history, entries_of, histories
from tests.unit.engine.presets.compaction import Compacted, breaches, compact, size, written

History = tuple[Format, list[Message]]
PRESETS = st.sampled_from([load_preset(name) for name in preset_names()])
REASONS = {*SkipReason, *RejectReason, "not_smaller"} - {SkipReason.EMPTY}


def projected(preset: Preset, wire: Format, messages: list[Message], position: int) -> list[Message]:
    """The context after a cut at this position, with everything the preset puts in front."""
    return put_back(preset, wire, entries_of(messages), position)


def put_back(preset: Preset, wire: Format, entries: list[Entry], position: int) -> list[Message]:
    """The same for entries, which may be pinned."""
    covered, kept = entries[:position], entries[position:]
    insert = render_insert(
        wire, preset, "what was said", pinned_entries(wire, covered), covered=covered, overflow_tail=kept
    )
    messages = [entry.message for entry in entries]
    return apply_context(messages, insert, position, context_edits(wire, kept, preset))


@given(any_history(open_end=True), PRESETS)
def test_every_safe_cut_projects_to_a_valid_list_twice_the_same(generated: History, preset: Preset) -> None:
    """Also with kept user texts, an acknowledgement and the last request sent again."""
    wire, messages = generated
    for position in safe_cuts(wire, entries_of(messages)):
        context = projected(preset, wire, messages, position)
        assert breaches(wire, context) == (), position
        assert written(context) == written(projected(preset, wire, messages, position))


@given(any_history(max_turns=8, open_end=True), PRESETS, st.integers(1, 2_000))
def test_a_compaction_is_smaller_or_a_skip_with_a_named_reason(
    generated: History, preset: Preset, keep: int
) -> None:
    """And its splice, sent as JSON and applied to the caller's own list, gives what was rendered."""
    wire, messages = generated
    found = compact(preset, wire, entries_of(messages), keep_tokens=keep)
    if isinstance(found, str):
        assert found in REASONS
        return
    assert size(wire, found.context) < size(wire, messages)
    edits = [edit_from_json(edit_to_json(edit)) for edit in found.edits]
    assert apply_context(messages, found.insert, found.cut.upto, edits) == found.context
    assert breaches(wire, found.context) == ()
    assert [summary_preset(wire, one) for one in found.insert].count(f"{preset.name}/{preset.version}") == 1


@given(any_history(max_turns=8, open_end=True), PRESETS, st.integers(1, 2_000))
def test_no_text_of_the_kept_part_is_lost(generated: History, preset: Preset, keep: int) -> None:
    """What is not covered is there word for word."""
    wire, messages = generated
    found = compact(preset, wire, entries_of(messages), keep_tokens=keep)
    if isinstance(found, Compacted):
        kept = filter(None, (plain_text(wire, one) for one in messages[found.cut.upto :]))
        assert "\n".join(filter(None, (plain_text(wire, one) for one in found.tail))) == "\n".join(kept)


@given(any_history(open_end=True), PRESETS, st.integers(1, 400), st.integers(0, 20))
def test_a_planned_cut_is_safe_and_ahead_for_every_preset(
    generated: History, preset: Preset, keep: int, ahead: int
) -> None:
    """Repeated compaction goes on from the earlier boundary."""
    wire, messages = generated
    entries = entries_of(messages)
    at_least = min(ahead, len(entries) - 1)
    cut = plan_cut(wire, entries, keep_tokens=keep, at_least=at_least, rule=preset.cut)
    if isinstance(cut, Skip):
        return
    assert cut.upto in safe_cuts(wire, entries)
    assert at_least < cut.upto <= len(entries)
    assert cut.covered_tokens > 0
    if cut.turn_start is not None:
        assert cut.turn_start < cut.upto
        assert not facts(wire, messages[cut.upto]).user_turn or cut.upto - 1 >= cut.turn_start


@given(any_history(max_turns=8), PRESETS)
def test_a_second_compaction_stands_on_the_first(generated: History, preset: Preset) -> None:
    """The earlier insert is replaced: one summary, no user text twice, a valid list."""
    wire, messages = generated
    entries = entries_of(messages)
    middle = [p for p in safe_cuts(wire, entries) if 0 < p < len(entries)]
    if not middle:
        return
    half = middle[len(middle) // 2]
    first = render_insert(wire, preset, "first", (), covered=entries[:half])
    again = plan_cut(wire, entries[half:], keep_tokens=20, at_least=half, rule=preset.cut)
    if isinstance(again, Cut):
        covered = entries[half : again.upto]
        insert = render_insert(wire, preset, "second", (), covered=covered, earlier=first)
        edits = context_edits(wire, entries[again.upto :], preset)
        context = apply_context(messages, insert, again.upto, edits)
        assert breaches(wire, context) == ()
        assert [summary_preset(wire, one) for one in insert].count(f"{preset.name}/{preset.version}") == 1
        assert len(insert) <= len(entries) + 3


@given(any_history(open_end=True), st.data(), PRESETS)
def test_calls_never_answered_and_pieces_of_no_call_are_repaired(
    generated: History, data: st.DataObject, preset: Preset
) -> None:
    """Results lost anywhere: wherever it is cut, the list is valid, and no cut divides a batch."""
    wire, messages = generated
    results = [place for place, one in enumerate(messages) if facts(wire, one).results]
    lost = data.draw(st.sets(st.sampled_from(results), max_size=3)) if results else set()
    left = [one for place, one in enumerate(messages) if place not in lost]
    calling = [bool(facts(wire, one).calls) for one in left]
    for position in safe_cuts(wire, entries_of(left)):
        assert breaches(wire, projected(preset, wire, left, position)) == (), position
        assert not (0 < position < len(left) and calling[position - 1] and calling[position])


@given(histories(Format.OPENAI_RESPONSES, open_end=True))
def test_no_cut_parts_reasoning_from_what_came_with_it(messages: list[Message]) -> None:
    """The provider cannot see that it is missing, so nothing but the rule can (O4)."""
    wire = Format.OPENAI_RESPONSES
    reasons = [facts(wire, message).reasoning for message in messages]
    assert [p for p in safe_cuts(wire, entries_of(messages)) if p and reasons[p - 1]] == []


@given(any_history(open_end=True), st.data(), PRESETS)
def test_what_is_pinned_is_there_once_wherever_the_cut_is(
    generated: History, data: st.DataObject, preset: Preset
) -> None:
    """In the insert when it is covered, in the tail when it is not; the list stays valid."""
    wire, messages = generated
    spoken = [place for place, one in enumerate(messages) if facts(wire, one).user_turn]
    chosen = data.draw(st.sets(st.sampled_from(spoken), max_size=3))
    marked = [
        user_message(wire, f"pinned {place}.") if place in chosen else one
        for place, one in enumerate(messages)
    ]
    entries = [replace(one, pinned=one.seq in chosen) for one in entries_of(marked)]
    for position in safe_cuts(wire, entries):
        context = put_back(preset, wire, entries, position)
        assert breaches(wire, context) == (), position
        told = "\n".join(plain_text(wire, one) for one in context)
        assert [told.count(f"pinned {place}.") for place in sorted(chosen)] == [1] * len(chosen)


@pytest.mark.slow
@given(any_history(max_turns=20, open_end=True), PRESETS)
def test_long_histories_keep_the_promises_too(generated: History, preset: Preset) -> None:
    """The same in depth."""
    wire, messages = generated
    found = compact(preset, wire, entries_of(messages), keep_tokens=500)
    if isinstance(found, Compacted):
        assert breaches(wire, found.context) == ()
