"""The `claude-code` preset: chapter 5 of the behaviours list, by number."""

from __future__ import annotations

import pytest

from precompact_shared.engine.cut import Cut, plan_cut
from precompact_shared.engine.limits import LimitOverrides, limits
from precompact_shared.engine.preset import load_preset
from precompact_shared.engine.projection import render_insert
from precompact_shared.engine.recognition import summary_preset
from precompact_shared.engine.state_blocks import (
    KindBudget,
    Oversize,
    StateBlock,
    StateBudgets,
    StateKind,
    choose_blocks,
    render_blocks,
)
from precompact_shared.engine.summary import extract, render, template
from tests.unit.engine.presets.compaction import Compacted, compact
from tests.unit.engine.presets.talk import C, model, plain, user

CLAUDE = load_preset("claude-code")
BUDGETS = StateBudgets(
    tuple(KindBudget(kind, 0, 0, 0, Oversize.SHORTEN) for kind in (StateKind.RULES, StateKind.MEMORY))
)


@pytest.mark.parametrize(
    ("window", "output", "limit"),
    [
        (200_000, 20_000, 167_000),
        (200_000, 64_000, 167_000),
        (200_000, 8_000, 179_000),
        (1_000_000, 128_000, 967_000),
    ],
)
def test_automatic_from_167_000_of_200_000(window: int, output: int, limit: int) -> None:
    """Chapter 5, 1: window - min(output limit, 20,000) - 13,000; about 967K of 1M."""
    found = CLAUDE.limits(window=window, max_output=output)
    assert found.limit == limit
    assert [found.reached(size) for size in (limit - 1, limit)] == [False, True]


@pytest.mark.parametrize(("share", "limit"), [(0.5, 90_000), (0.9, 162_000), (0.95, 167_000), (1.0, 167_000)])
def test_a_percent_override_lowers_the_trigger_and_never_raises_it(share: float, limit: int) -> None:
    """Chapter 5, 2."""
    wanted = LimitOverrides(limit_share=share)
    assert limits(CLAUDE, window=200_000, max_output=32_000, overrides=wanted).limit == limit


def test_an_observed_limit_is_never_passed() -> None:
    """A provider's refusal counts more than the window, also where little is set aside for output."""
    found = limits(CLAUDE, window=200_000, max_output=64_000, observed_limit=150_000)
    assert found.limit <= found.hard == 150_000


def test_focus_by_hand_steers_the_summary_and_moves_no_cut() -> None:
    """Chapter 5, 6."""
    messages = [
        one
        for n in range(40)
        for one in (user(f"request {n} about part{n} " + "w " * 200), model("m " * 100))
    ]
    entries = plain(messages)
    cut = plan_cut(C, entries, keep_tokens=1_000, at_least=0, rule=CLAUDE.cut)
    assert isinstance(cut, Cut)
    carried = extract(C, entries[: cut.upto], None)
    assert "request 7 about" in render(carried, CLAUDE, 900, "part7").text
    assert "request 7 about" not in render(carried, CLAUDE, 900).sections[0][1]


def test_the_summary_has_nine_parts() -> None:
    """Chapter 5, Summary: request and intent to next step with quotes."""
    headings = [section.heading for section in CLAUDE.summary.sections]
    assert [heading.split(". ")[0] for heading in headings] == [f"## {number}" for number in range(1, 10)]
    asked = template(CLAUDE)
    assert all(f"{section.heading}\n({section.asks})" in asked for section in CLAUDE.summary.sections)


def test_state_is_read_again_behind_the_summary() -> None:
    """Chapter 5, Injection: files, skills and rules come back behind the continuation text."""
    state = [user("<rules>be kind</rules>")]
    changing = [user("<git>main</git>")]
    rendered = render_insert(C, CLAUDE, "s", (), state=state, changing=changing)
    assert rendered[1:] == (*state, *changing)
    ours = render_insert(C, load_preset("precompact"), "s", (), state=state, changing=changing)
    assert (ours[:1], ours[2:]) == (tuple(state), tuple(changing))


def test_the_summary_is_a_record_of_its_own_kind_and_the_transcript_stays_readable() -> None:
    """Chapter 5, 10: recognisable when it comes back; every covered turn has its address."""
    messages = [one for n in range(30) for one in (user(f"request {n} " + "w " * 300), model("m " * 300))]
    found = compact(CLAUDE, C, plain(messages), keep_tokens=2_000)
    assert isinstance(found, Compacted)
    assert [summary_preset(C, message) for message in found.context[:2]] == ["claude-code/1", None]
    assert f"[r:0-{found.cut.upto - 1}]" in found.summary
    assert found.tail == messages[found.cut.upto :]
    assert not found.cut.split_turn


def test_rules_and_memory_come_back_and_nothing_the_caller_did_not_give() -> None:
    """Chapter 5, 9: root instructions and unscoped rules each time; path-scoped ones when the caller sends them."""
    root = StateBlock(StateKind.RULES, "CLAUDE.md", "Be kind.")
    memory = StateBlock(StateKind.MEMORY, "MEMORY.md", "Likes tests.")
    scoped = StateBlock(StateKind.RULES, "src/api/CLAUDE.md", "Only here.")
    for needed in ((), (scoped,)):
        choice = choose_blocks([root, memory, *needed], BUDGETS)
        assert {one.block for one in choice.stable} == {root, memory, *needed}
        message = render_blocks(C, choice.stable)
        assert message is not None
        rendered = render_insert(C, CLAUDE, "s", (), state=[message])
        assert rendered[1:] == (message,)
        assert ("Only here." in message["content"]) == bool(needed)
