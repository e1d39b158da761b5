"""What a writer of a summary is asked for, and the summary of a turn that a cut divides."""

from __future__ import annotations

import pytest

from precompact_shared.engine.cut import Cut
from precompact_shared.engine.preset import SectionCheck, load_preset, preset_names
from precompact_shared.engine.summary import (
    Accepted,
    check_summary,
    extract,
    render,
    split_template,
    summarise_by_code,
    template,
)
from precompact_shared.engine.tokens import count_text
from tests.unit.engine.presets.talk import C, call, model, plain, result, user


@pytest.mark.parametrize("name", preset_names())
def test_the_form_names_every_heading_in_order_and_says_what_belongs_there(name: str) -> None:
    """The same text every time: a prompt cache may hold it."""
    preset = load_preset(name)
    form = template(preset)
    places = [form.index(f"{one.heading}\n({one.asks})") for one in preset.summary.sections]
    assert places == sorted(places)
    assert form.startswith(preset.summary.instructions)
    assert form == template(preset)
    assert bool(split_template(preset)) == bool(preset.summary.split_sections)


@pytest.mark.parametrize("name", preset_names())
@pytest.mark.parametrize("budget", [300, 1_000, 8_000])
def test_what_code_writes_passes_the_presets_own_check(name: str, budget: int) -> None:
    """Also where a section has nothing to say, and where sections stand under a heading of their own."""
    preset = load_preset(name)
    messages = [
        user("build the parser"),
        call("a"),
        result("a"),
        model("built " * 400),
        user("and the printer"),
    ]
    summary = render(extract(C, plain(messages), None), preset, budget)
    verdict = check_summary(
        summary.text, tokens=summary.tokens, covered_tokens=10_000, max_tokens=budget, preset=preset
    )
    assert verdict == Accepted()


@pytest.mark.parametrize("name", [one for one in preset_names() if load_preset(one).summary.split_sections])
@pytest.mark.parametrize("budget", [800, 2_000, 8_000])
def test_both_parts_of_a_divided_turn_fit_the_budget_and_tell_their_own(name: str, budget: int) -> None:
    """The history is not told in the head, nor the head in the history."""
    preset = load_preset(name)
    messages = [
        user("the first request"),
        model("x " * 900),
        user("the second request"),
        call("a"),
        result("a", "y " * 900),
    ]
    cut = Cut(5, split_turn=True, covered_tokens=9_999, kept_tokens=9, reason="inside_turn", turn_start=2)
    summary, carried = summarise_by_code(C, plain(messages), cut, preset, max_tokens=budget)
    assert summary.tokens == count_text(summary.text) <= budget
    history, _, head = summary.text.partition(preset.summary.split_heading)
    assert "the first request" in history
    assert "the second request" in head
    assert "the second request" not in history
    assert (carried.start, carried.stop, carried.request_count) == (0, 5, 2)
    if preset.summary.check is SectionCheck.ALL:
        verdict = check_summary(
            summary.text, tokens=summary.tokens, covered_tokens=9_999, max_tokens=budget, preset=preset
        )
        assert verdict == Accepted()
