"""The `opencode` preset: chapter 2 of the behaviours list, by number."""

from __future__ import annotations

from dataclasses import replace

import pytest

from precompact_shared.engine.cut import Cut, CutReason, Skip, SkipReason, plan_cut
from precompact_shared.engine.formats import plain_text
from precompact_shared.engine.preset import SectionCheck, load_preset
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
from precompact_shared.engine.trigger import Action, Kind, SizeFacts, decide
from precompact_shared.engine.types import Entry, Message
from precompact_shared.errors import Configuration
from tests.unit.engine.presets.compaction import Compacted, compact
from tests.unit.engine.presets.talk import (
    C,
    call,
    model,
    plain,
    result,
    sized,
    user,
    with_cut,
    with_injection,
)

OPENCODE = load_preset("opencode")
STRICT = replace(OPENCODE, summary=replace(OPENCODE.summary, check=SectionCheck.ALL))
FORK = with_cut(OPENCODE, keep_share=0.10, keep_min_tokens=8_000, keep_tokens=60_000, keep_share_max=0.25)


def planned(entries: list[Entry], keep: int, *, turns: int = 0, by_hand: bool = False) -> Cut | Skip:
    """Where OpenCode cuts."""
    rule = replace(OPENCODE.cut, keep_turns=turns)
    return plan_cut(C, entries, keep_tokens=keep, at_least=0, rule=rule, by_hand=by_hand)


def test_a_context_with_its_output_limit_is_due() -> None:
    """Chapter 2, 1: V1, window 100,000, output limit 32,000: 75,000 in + 5,000 out is due."""
    assert OPENCODE.limits(window=100_000, max_output=32_000).reached(80_000)


def test_a_declared_input_limit_equal_to_the_context_is_due_near_it() -> None:
    """Chapter 2, 2: V1, 200,000 of input: 198,000 used is due."""
    assert OPENCODE.limits(window=200_000, max_output=0).reached(198_000)


def test_a_window_of_nothing_is_refused_instead_of_never_due() -> None:
    """Chapter 2, 3: context limit 0 is never due there; here it is refused with what to do."""
    with pytest.raises(Configuration, match="real window"):
        OPENCODE.limits(window=0, max_output=0)


def test_the_limit_is_a_tenth_below_the_input_limit() -> None:
    """Chapter 2, 4: V2, input limit 272,000: due at 244,800, not at 244,799."""
    found = OPENCODE.limits(window=272_000, max_output=0)
    assert [found.reached(size) for size in (244_799, 244_800)] == [False, True]


@pytest.mark.parametrize(
    ("window", "limit"), [(200_000, 180_000), (100_000, 84_000), (32_000, 16_000), (31_000, 27_900)]
)
def test_the_buffer_is_16_000_at_least_but_in_small_windows(window: int, limit: int) -> None:
    """Chapter 2, Trigger: window - max(10 %, 16,000); under 32,000 only the 10 % count."""
    assert OPENCODE.limits(window=window, max_output=0).limit == limit


@pytest.mark.parametrize(
    ("tokens", "kind"),
    [(171_999, None), (172_000, Kind.SPECULATIVE), (179_999, Kind.SPECULATIVE), (180_000, Kind.DUE)],
)
def test_a_draft_starts_in_the_last_band_under_the_ceiling(tokens: int, kind: Kind | None) -> None:
    """Chapter 2, 30: ceiling 180,000: draft starts at 172,000; not at 171,999, not at 180,000."""
    decision = decide(SizeFacts(tokens=tokens, limits=OPENCODE.limits(window=200_000, max_output=0)))
    assert decision.kind == kind
    assert (decision.action is Action.NONE) == (kind is None)


def test_a_draft_whose_tail_grew_over_two_keeps_is_not_used() -> None:
    """Chapter 2, 32: keep 15,000 and a tail of 30,001: draft dropped."""
    found = OPENCODE.limits(window=200_000, max_output=0)
    assert (found.keep_tokens, found.growth_max) == (15_000, 30_000)


@pytest.mark.parametrize(
    ("limit", "keep"), [(180_000, 15_000), (60_000, 15_000), (40_000, 10_000), (8_000, 2_000), (4_000, 2_000)]
)
def test_the_tail_is_a_quarter_of_the_usable_window_within_bounds(limit: int, keep: int) -> None:
    """Chapter 2, Cut: V1, 25 % of usable, clamped to 2,000-15,000."""
    assert OPENCODE.cut.budget(limit) == keep


@pytest.mark.parametrize(
    ("limit", "keep"), [(180_000, 18_000), (1_000_000, 60_000), (60_000, 8_000), (20_000, 5_000)]
)
def test_the_keep_of_the_fork(limit: int, keep: int) -> None:
    """Chapter 2, 11: fork, usable 180,000 keeps 18,000, 1,000,000 keeps 60,000; 8,000 at least, at most 25 %."""
    assert FORK.cut.budget(limit) == keep


def test_two_turns_stay_within_the_budget_and_a_small_budget_keeps_the_newest() -> None:
    """Chapter 2, 7: two tail turns, budget 10,000: from the older one; budget 100, a 2,000-character turn: the newest."""
    messages = [user("first"), model("m"), user("x" * 2_000), model("m"), user("newest"), model("m")]
    older = [user("z" * 60_000), model("m")]
    two = planned(plain([*older, *messages]), 10_000, turns=2)
    assert isinstance(two, Cut)
    assert two.upto == 4
    newest = planned(plain(messages), 100, turns=2)
    assert isinstance(newest, Cut)
    assert newest.upto == 4


def test_a_turn_too_large_is_entered_and_its_last_reply_kept() -> None:
    """Chapter 2, 8: the tail starts inside the turn, that reply is not summarised; order is summary, reply."""
    messages = [user("go"), call("c"), result("c", "x" * 8_000), model("the last reply")]
    cut = planned(plain(messages), 100)
    assert isinstance(cut, Cut)
    assert (cut.upto, cut.split_turn, cut.turn_start) == (3, True, 0)
    assert cut.reason is CutReason.INSIDE_TURN


def test_every_message_is_whole_and_in_the_summary_or_in_the_tail() -> None:
    """Chapter 2, 9: nothing falls between the two."""
    messages = [one for n in range(30) for one in (user(f"request {n} " + "w" * 900), model("a" * 900))]
    found = compact(OPENCODE, C, plain(messages), keep_tokens=2_000)
    assert isinstance(found, Compacted)
    assert found.tail == messages[found.cut.upto :]
    assert found.cut.covered_tokens + found.cut.kept_tokens == sum(entry.tokens for entry in plain(messages))


def test_if_all_fits_the_last_exchange_alone_stays() -> None:
    """Chapter 2, Cut: V2, if all fits only the last exchange; one exchange and no older summary: nothing."""
    cut = planned(sized((user("a"), 10), (model("b"), 10), (user("c"), 10), (model("d"), 10)), 15_000)
    assert isinstance(cut, Cut)
    assert (cut.upto, cut.reason) == (2, CutReason.LAST_EXCHANGE)
    assert planned(sized((user("a"), 10), (model("b"), 10)), 15_000) == Skip(SkipReason.ONE_TURN)


def test_a_run_by_hand_on_a_conversation_of_one_message_works() -> None:
    """Chapter 2, 10: with an empty tail."""
    cut = planned(sized((user("a"), 10)), 15_000, by_hand=True)
    assert isinstance(cut, Cut)
    assert (cut.upto, cut.kept_tokens) == (1, 0)


def test_one_heading_is_enough_and_none_is_not() -> None:
    """Chapter 2, 14: a reply without any template heading is not taken."""

    def checked(text: str) -> Accepted | Rejected:
        return check_summary(text, tokens=5, covered_tokens=99, max_tokens=99, preset=OPENCODE)

    assert checked("words\n## Next Move\nship it") == Accepted()
    assert checked("words about ## Next Move inside a line") == Rejected(
        RejectReason.SECTION_MISSING, "## Objective"
    )


def test_the_strict_form_wants_all_ten_headings_in_order_and_filled() -> None:
    """Chapter 2, 15: a missing, wrong or empty section fails (fork)."""
    headings = [section.heading for section in STRICT.summary.sections]
    assert len(headings) == 10

    def checked(lines: list[str]) -> Accepted | Rejected:
        return check_summary("\n".join(lines), tokens=5, covered_tokens=99, max_tokens=99, preset=STRICT)

    filled = [line for heading in headings for line in (heading, "x")]
    assert checked(filled) == Accepted()
    # a heading over others needs no words of its own
    assert checked([line for place, line in enumerate(filled) if place != 7]) == Accepted()
    assert filled[6:8] == ["## Work State", "x"]
    assert checked(filled[2:]) == Rejected(RejectReason.SECTION_MISSING, "## Objective")
    assert checked([line for line in filled if line != "## Next Move"]) == Rejected(
        RejectReason.SECTION_MISSING, "## Next Move"
    )
    assert checked(filled[:-1]) == Rejected(RejectReason.SECTION_EMPTY, headings[-1])
    assert checked([*filled[2:4], *filled[:2], *filled[4:]]) == Rejected(
        RejectReason.SECTION_ORDER, "## Objective"
    )


def test_at_most_fifteen_files_are_listed() -> None:
    """Chapter 2, Summary: at most 15 files, most important first; here changed ones before read ones."""
    messages = [user("read them")]
    for number in range(30):
        tool = "Edit" if number < 3 else "Read"
        messages += [call(f"c{number}", tool, f'{{"file_path": "src/f{number}.py"}}'), result(f"c{number}")]
    summary = render(extract(C, plain(messages), None), OPENCODE, 8_000)
    [files] = [body for heading, body in summary.sections if heading == "## Relevant Files"]
    listed = [line for line in files.splitlines() if "src/f" in line]
    assert len(listed) == 15
    assert all("modified" in line for line in listed[:3])
    assert "and 15 more" in files


def test_the_old_summary_is_not_repeated_in_the_new_one() -> None:
    """Chapter 2, 12: second compaction: facts are carried on, no summary of a summary."""
    first = plain([user("never touch the lock file"), model("noted")])
    second = plain([user("go on"), model("done")], start=2)
    carried = extract(C, second, extract(C, first, None))
    text = render(carried, OPENCODE, 4_000).text
    assert text.count("never touch the lock file [r:0]") == 1
    assert "<conversation-summary" not in text


def test_the_continuation_opens_with_one_checkpoint_user_message() -> None:
    """Chapter 2, 19: one first user message, marked as history."""
    (message,) = render_insert(C, OPENCODE, "## Objective\nx", ())
    assert message["role"] == "user"
    assert message["content"].startswith('<conversation-summary preset="opencode/1">')


def test_a_continue_message_may_follow_and_without_it_the_summary_is_last() -> None:
    """Chapter 2, 20: V1's synthetic message; a plugin can stop it."""
    v1 = with_injection(OPENCODE, continuation="Go on with the next step.")
    assert [m["content"][:5] for m in render_insert(C, v1, "s", ())] == ["<conv", "Go on"]
    assert len(render_insert(C, OPENCODE, "s", ())) == 1


def test_on_overflow_the_last_real_user_turn_is_sent_again_with_media_as_labels() -> None:
    """Chapter 2, 21: V1; with none to send, a text about the size limit."""
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    asked: Message = {"role": "user", "content": [{"type": "text", "text": "what is this?"}, image]}
    covered = plain([user("old"), model("m"), asked, call("c"), result("c")])
    replayed = render_insert(C, OPENCODE, "s", (), covered=covered, overflow_tail=[])
    assert plain_text(C, replayed[-1]).endswith("what is this?\n[image]")
    nothing = render_insert(C, OPENCODE, "s", (), covered=plain([model("m")]), overflow_tail=[])
    assert "did not fit the window" in nothing[-1]["content"]
    kept = render_insert(C, OPENCODE, "s", (), covered=covered, overflow_tail=plain([user("here")]))
    assert len(kept) == 1
    assert len(render_insert(C, OPENCODE, "s", (), covered=covered)) == 1


def test_tool_media_are_named_by_type() -> None:
    """Chapter 2, 18: the text form of media is a label, never their bytes."""
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}}
    found = compact(
        OPENCODE,
        C,
        plain([{"role": "user", "content": [image]}, model("m" * 9_000), user("next"), model("m")]),
        keep_tokens=50,
    )
    assert isinstance(found, Compacted)
    assert "QUJD" not in str(found.insert)


def test_native_with_nothing_new_since_the_checkpoint_makes_no_call() -> None:
    """Chapter 2, 35: all entries lie in what is covered already."""
    rule = load_preset("openai-native").cut
    entries = sized((user("a"), 10), (model("b"), 10), start=5)
    assert plan_cut(C, entries, keep_tokens=0, at_least=7, rule=rule) == Skip(SkipReason.NOT_AHEAD)


def test_native_keeps_whole_user_messages_and_stops_at_one_too_large() -> None:
    """Chapter 2, 36: the newest user message above 64,000: nothing retained, older ones not tried."""
    native = with_injection(OPENCODE, user_texts_tokens=64_000, user_texts_whole=True)
    large = plain([user("older"), model("m"), user("x" * 64_001 * 4), model("m")])
    assert len(render_insert(C, native, "s", (), covered=large)) == 1
    fits = plain([user("older"), model("m"), user("x" * 60_000 * 4), model("m")])
    assert len(render_insert(C, native, "s", (), covered=fits)) == 3


def test_the_text_form_cuts_tool_output_to_1_250_code_points() -> None:
    """Chapter 2, Recovery: an emoji is one; what was said stays whole."""
    said = spoken(C, plain([user("u" * 3_000), call("c"), result("c", "🙂" * 3_000)]), OPENCODE.summary)
    assert "u" * 3_000 in said[0].text
    assert said[2].text.count("🙂") == 1_250
