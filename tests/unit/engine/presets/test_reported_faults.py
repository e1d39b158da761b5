"""Faults reported of other implementations, one test each, for every preset: small inputs rebuilt from public reports."""

from __future__ import annotations

from typing import Any

import pytest

from precompact_shared.engine.cut import Cut, Skip, SkipReason, plan_cut, safe_cuts
from precompact_shared.engine.edits import apply_context
from precompact_shared.engine.limits import LimitOverrides, limits
from precompact_shared.engine.pairing import pair
from precompact_shared.engine.preset import load_preset, preset_names
from precompact_shared.engine.projection import context_edits, render_insert
from precompact_shared.engine.tokens import count_message
from precompact_shared.engine.trigger import Action, LastTry, Reason, SizeFacts, decide
from precompact_shared.engine.types import Entry, Message
from precompact_shared.engine.validate import validate
from tests.support.histories import entries_of
from tests.support.recordings import cases, needs_recordings
from tests.unit.engine.presets.compaction import Compacted, compact
from tests.unit.engine.presets.talk import C

pytestmark = [pytest.mark.recordings, needs_recordings()]
every_preset = pytest.mark.parametrize("name", preset_names())
BUDGETS = (1, 8, 20, 60, 200, 1_000)


def given(name: str) -> list[Message]:
    """The case's history."""
    (case,) = cases(name)
    messages: list[Message] = case.load()["input"]
    return messages


def cuts(name: str, messages: list[Message]) -> set[int]:
    """Every place the preset would cut at, over all budgets."""
    rule, entries = load_preset(name).cut, entries_of(messages)
    found = (plan_cut(C, entries, keep_tokens=keep, at_least=0, rule=rule) for keep in BUDGETS)
    return {cut.upto for cut in found if isinstance(cut, Cut)}


def context(name: str, messages: list[Message], upto: int) -> list[Message]:
    """What the model sees after a cut there."""
    entries, preset = entries_of(messages), load_preset(name)
    insert = render_insert(C, preset, "what was said", (), covered=entries[:upto])
    return apply_context(messages, insert, upto, context_edits(C, entries[upto:], preset))


@every_preset
def test_pair_01_a_result_without_its_call_is_never_kept(name: str) -> None:
    """langchain#38352: `a` has no call and goes; `b` keeps its call, wherever the cut falls."""
    messages = given("pair-01")
    assert 2 not in safe_cuts(C, entries_of(messages))
    for upto in {0, 1} | cuts(name, messages):
        kept = context(name, messages, upto)
        assert validate(C, kept) == ()
        assert [one for one in kept if one.get("tool_call_id") == "a"] == []
    assert [one.get("tool_call_id") for one in context(name, messages, 1)].count("b") == 1


@every_preset
def test_pair_03_both_results_of_a_batch_stay_on_the_side_of_their_call(name: str) -> None:
    """langmem#126: no cut between the call and its last result."""
    messages = given("pair-03")
    assert cuts(name, messages).isdisjoint({2, 3})
    if name == "precompact":
        cut = plan_cut(C, entries_of(messages), keep_tokens=200, at_least=0)
        assert isinstance(cut, Cut)
        assert cut.upto == 4


@every_preset
def test_pair_04_the_kept_list_never_begins_with_a_result(name: str) -> None:
    """semantic-kernel#12708: kept: system, user B, assistant done (or more)."""
    messages = given("pair-04")
    assert 3 not in cuts(name, messages)
    cut = plan_cut(C, entries_of(messages), keep_tokens=20, at_least=0)
    assert isinstance(cut, Cut)
    assert messages[cut.upto :] == [
        {"role": "user", "content": "B"},
        {"role": "assistant", "content": "done"},
    ]


@every_preset
def test_pair_06_a_reused_id_ties_each_result_to_the_call_before_it(name: str) -> None:
    """Ownership by order, not by id alone: the second x stays paired, wherever the first exchange goes."""
    messages = given("pair-06")
    assert safe_cuts(C, entries_of(messages)) == (0, 1, 3, 4, 5, 7, 8, 9)
    assert pair(C, entries_of(messages)).owner == {(2, 0): (1, 0), (6, 0): (5, 0)}
    kept = context(name, messages, 4)
    assert [one["content"] for one in kept if one["role"] == "tool"] == ["second"]
    assert cuts(name, messages) <= {1, 3, 4, 5, 7, 8, 9}


@every_preset
def test_keep_01_the_newest_user_message_is_kept_word_for_word(name: str) -> None:
    """langmem#77: a budget smaller than the history."""
    messages = given("keep-01")
    for upto in cuts(name, messages):
        assert upto <= 2
        assert context(name, messages, upto)[-1] == messages[-1]
    cut = plan_cut(C, entries_of(messages), keep_tokens=8, at_least=0)
    assert isinstance(cut, Cut)
    assert cut.upto == 2


def test_size_02_a_tail_that_swallows_everything_is_a_no_op_and_not_tried_every_turn() -> None:
    """hermes-agent#40803: a named skip, and the next try waits until the session has grown."""
    messages = given("size-02")
    entries = [Entry(seq, one, count_message(C, one, None)) for seq, one in enumerate(messages)]
    total = sum(entry.tokens for entry in entries)
    preset = load_preset("precompact")
    found = plan_cut(C, entries, keep_tokens=total, at_least=0, rule=preset.cut)
    assert found == Skip(SkipReason.ALL_FITS)
    known = limits(preset, window=96_000, max_output=8_000, overrides=LimitOverrides(limit_share=0.6))

    def decided(tokens: int) -> Any:
        last = LastTry(tokens=total, reason=SkipReason.ALL_FITS)
        return decide(SizeFacts(tokens=tokens, limits=known, last_try=last))

    assert known.reached(total)
    assert decided(total).reason is Reason.NOTHING_NEW
    assert decided(total + known.keep_tokens // 2 - 1).action is Action.NONE
    assert decided(total + known.keep_tokens // 2).action is Action.CLAIM


def test_size_02_a_share_of_45_percent_leaves_something_to_compact() -> None:
    """hermes-agent#40803: window 96k, tail share 0.45: the budget is one of tokens, so the tail cannot swallow all."""
    messages = given("size-02")
    entries = [Entry(seq, one, count_message(C, one, None)) for seq, one in enumerate(messages)]
    found = compact(load_preset("precompact"), C, entries, keep_tokens=int(0.45 * 96_000))
    assert isinstance(found, Compacted)
    assert found.cut.kept_tokens <= 43_200
    assert found.cut.covered_tokens + found.cut.kept_tokens == sum(entry.tokens for entry in entries)
