"""The `gemini-cli` preset: chapter 4 of the behaviours list, by number."""

from __future__ import annotations

from importlib.resources import files

import pytest

from precompact_shared.engine.cut import Cut, CutReason, Skip, SkipReason, plan_cut
from precompact_shared.engine.preset import load_preset, parse_preset
from precompact_shared.engine.projection import render_insert
from precompact_shared.engine.summary import (
    Accepted,
    Rejected,
    RejectReason,
    check_summary,
    extract,
    render,
    spoken,
)
from precompact_shared.engine.types import Entry
from precompact_shared.errors import Configuration
from tests.unit.engine.presets.talk import C, call, model, plain, result, sized, user, with_trigger

GEMINI = load_preset("gemini-cli")


def planned(entries: list[Entry]) -> Cut | Skip:
    """Where Gemini CLI cuts."""
    return plan_cut(C, entries, keep_tokens=GEMINI.cut.keep_tokens, at_least=0, rule=GEMINI.cut)


def test_below_the_threshold_is_no_op() -> None:
    """Chapter 4, 1: 600 tokens of 1,000 at threshold 0.7; the threshold itself counts as reached."""
    found = with_trigger(GEMINI, limit_share_of_window=0.7).limits(window=1_000, max_output=0)
    assert [found.reached(size) for size in (600, 699, 700)] == [False, False, True]


def test_half_the_window_or_50_000_tokens_whichever_is_less() -> None:
    """Chapter 4, Trigger: 0.5 of the model limit; newer: 50,000 tokens whatever the percentage."""
    limits = [GEMINI.limits(window=window, max_output=0).limit for window in (32_000, 100_000, 1_000_000)]
    assert limits == [16_000, 50_000, 50_000]


def test_a_stored_history_of_512_kb_triggers_whatever_its_tokens() -> None:
    """Chapter 4, 3: newer: 600 KB of history at 10,000 tokens compresses, 500 tokens of small history does not."""
    found = GEMINI.limits(window=1_000_000, max_output=0)
    assert found.reached(10_000, stored_bytes=600 * 1024)
    assert found.reached(10_000, stored_bytes=512 * 1024)
    assert not found.reached(500, stored_bytes=2_000)


def test_forced_it_works_at_100_tokens() -> None:
    """Chapter 4, 2: a share of the history needs no size."""
    cut = planned(plain([user("a" * 100), model("b" * 100), user("c" * 9), model("d" * 9)]))
    assert isinstance(cut, Cut)
    assert cut.upto == 2


@pytest.mark.parametrize("share", ["0.0", "1.0", "1.5"])
def test_a_fraction_of_0_or_1_is_an_error(share: str) -> None:
    """Chapter 4, 4."""
    source = files("precompact_shared").joinpath("presets", "gemini-cli.toml").read_text(encoding="utf-8")
    assert "keep_history_share = 0.3\n" in source
    with pytest.raises(Configuration, match="keep_history_share"):
        parse_preset(source.replace("keep_history_share = 0.3\n", f"keep_history_share = {share}\n"))


def test_an_empty_history_and_a_single_message_are_not_split() -> None:
    """Chapter 4, 4 and 16: split 0."""
    assert planned([]) == Skip(SkipReason.EMPTY)
    assert isinstance(planned(plain([user("alone")])), Skip)
    assert isinstance(planned(plain([model("alone")])), Skip)


def test_the_first_seventy_percent_of_the_characters_go() -> None:
    """Chapter 4, Cut: JSON characters, not tokens; in front of the first user message behind that share."""
    messages = [one for _ in range(10) for one in (user("u" * 100), model("m" * 100))]
    entries = sized(*((message, 1 if place < 18 else 9_999) for place, message in enumerate(messages)))
    cut = planned(entries)
    assert isinstance(cut, Cut)
    assert (cut.upto, cut.reason) == (14, CutReason.TURN_START)


def test_never_behind_a_function_response() -> None:
    """Chapter 4, Cut: only before a user message without a function response."""
    work = [item for n in range(6) for item in (call(f"c{n}"), result(f"c{n}", "r" * 300))]
    cut = planned(plain([user("one"), *work, user("two"), model("answer")]))
    assert isinstance(cut, Cut)
    assert cut.upto == 13


def test_where_no_such_place_follows_everything_goes_if_the_model_spoke_last() -> None:
    """Chapter 4, Cut: the last message is model text without a call."""
    work = [item for n in range(3) for item in (call(f"c{n}"), result(f"c{n}", "r" * 300))]
    cut = planned(plain([user("one"), model("x"), user("two"), *work, model("done")]))
    assert isinstance(cut, Cut)
    assert (cut.upto, cut.kept_tokens, cut.reason) == (10, 0, CutReason.EVERYTHING)


def test_else_the_last_earlier_place_is_taken() -> None:
    """Chapter 4, Cut: a history that ends in a tool's result."""
    work = [item for n in range(3) for item in (call(f"c{n}"), result(f"c{n}", "r" * 300))]
    cut = planned(plain([user("one"), model("x"), user("two"), *work]))
    assert isinstance(cut, Cut)
    assert (cut.upto, cut.reason) == (2, CutReason.EARLIER_TURN)


def test_of_35_entries_of_4_000_tokens_15_stay_in_60_000() -> None:
    """Chapter 4, 19: the budget of its context manager, 60,000 retained."""
    entries = sized(*((user("u") if n % 2 == 0 else model("m"), 4_000) for n in range(35)))
    cut = plan_cut(C, entries, keep_tokens=60_000, at_least=0, rule=load_preset("pi").cut)
    assert isinstance(cut, Cut)
    assert 35 - cut.upto == 15


def test_the_snapshot_has_seven_parts_with_tags_around_them() -> None:
    """Chapter 4, Summary: XML, seven named parts; a part that is missing or empty is refused."""
    summary = render(extract(C, plain([user("build it"), model("built")]), None), GEMINI, 2_000)
    for section in GEMINI.summary.sections:
        assert f"{section.heading}\n" in summary.text
        assert summary.text.index(section.heading) < summary.text.index(section.closing)
    assert [one.heading for one in GEMINI.summary.sections] == [
        "<overall_goal>",
        "<active_constraints>",
        "<key_knowledge>",
        "<artifact_trail>",
        "<file_system_state>",
        "<recent_actions>",
        "<task_state>",
    ]
    assert checked(summary.text) == Accepted()
    assert checked(summary.text.replace("<task_state>", "")) == Rejected(
        RejectReason.SECTION_MISSING, "<task_state>"
    )
    empty = "\n".join(f"{one.heading}\n{one.closing}" for one in GEMINI.summary.sections)
    assert checked(empty) == Rejected(RejectReason.SECTION_EMPTY, "<overall_goal>")


def checked(text: str, *, tokens: int = 50, covered: int = 1_000) -> Accepted | Rejected:
    """The preset's verdict."""
    return check_summary(text, tokens=tokens, covered_tokens=covered, max_tokens=99_999, preset=GEMINI)


def test_an_old_snapshot_in_the_history_is_the_anchor() -> None:
    """Chapter 4, 12: what it says is carried on as an earlier summary."""
    old = user("<state_snapshot>\n<overall_goal>ship 2.0</overall_goal>\n</state_snapshot>")
    carried = extract(C, plain([old, model("understood"), user("go on"), model("ok")]), None)
    assert carried.earlier_summary is not None
    assert "ship 2.0" in render(carried, GEMINI, 2_000).text


def test_blank_or_larger_than_before_leaves_the_history_as_it_is() -> None:
    """Chapter 4, 14 and Recovery: 100 tokens become 10,000: inflated; blank: empty."""
    assert checked("x", tokens=10_000, covered=100) == Rejected(RejectReason.NOT_SMALLER)
    assert checked(" \n") == Rejected(RejectReason.BLANK)


def test_a_user_message_with_the_summary_then_an_acknowledgement() -> None:
    """Chapter 4, Injection: user, model, then the kept part."""
    assert [message["role"] for message in render_insert(C, GEMINI, "s", ())] == ["user", "assistant"]


@pytest.mark.parametrize(("characters", "is_whole"), [(300_000, True), (4_000_000, True), (5_000_000, False)])
def test_the_writer_sees_an_old_result_whole_unless_it_cannot_fit(characters: int, is_whole: bool) -> None:
    """Chapter 4, 7: 300,000 characters are seen whole; of 5,000,000 the cut form, 8,000 first and 32,000 last."""
    output = "".join(f"{number:09}\n" for number in range(characters // 10))
    shown = spoken(C, plain([call("c"), result("c", output)]), GEMINI.summary)[1].text
    assert (output in shown) is is_whole
    if not is_whole:
        assert output[:8_000] in shown
        assert output[-32_000:] in shown
        assert len(shown) < 41_000
        assert "[r:1] has the whole text" in shown
