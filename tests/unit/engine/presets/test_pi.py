"""The `pi` preset: chapter 3 of the behaviours list, by number."""

from __future__ import annotations

import pytest

from precompact_shared.engine.cut import Cut, CutReason, Skip, SkipReason, plan_cut
from precompact_shared.engine.edits import apply_context
from precompact_shared.engine.formats import facts
from precompact_shared.engine.preset import load_preset
from precompact_shared.engine.projection import render_insert
from precompact_shared.engine.summary import Summary, spoken, summarise_by_code
from precompact_shared.engine.tokens import count_message
from precompact_shared.engine.types import Entry, Message, Role
from tests.unit.engine.presets.compaction import Compacted, compact, size
from tests.unit.engine.presets.talk import C, call, model, plain, result, sized, user, with_trigger

PI = load_preset("pi")


def planned(entries: list[Entry], keep: int, *, at_least: int = 0) -> Cut | Skip:
    """Where pi cuts."""
    return plan_cut(C, entries, keep_tokens=keep, at_least=at_least, rule=PI.cut)


def test_the_reserve_decides_and_the_comparison_is_strict() -> None:
    """Chapter 3, 1: window 100,000, reserve 10,000: 95,000 compacts, 89,000 does not; the limit itself does not."""
    found = with_trigger(PI, limit_reserve_tokens=10_000).limits(window=100_000, max_output=4_000)
    assert [found.reached(size) for size in (89_000, 90_000, 90_001, 95_000)] == [False, False, True, True]


def test_the_shipped_numbers() -> None:
    """Chapter 3, Trigger: reserveTokens 16,384, keepRecentTokens 20,000."""
    found = PI.limits(window=200_000, max_output=8_000)
    assert (found.limit, found.keep_tokens) == (200_000 - 16_384, 20_000)


@pytest.mark.parametrize("keep", range(1, 120, 7))
def test_the_tail_begins_with_user_or_assistant_never_with_a_tool_result(keep: int) -> None:
    """Chapter 3, 7."""
    entries = sized(
        (user("a"), 10), (call("c"), 5), (result("c"), 50), (call("d"), 5), (result("d"), 5), (model("m"), 20)
    )
    cut = planned(entries, keep)
    if isinstance(cut, Cut):
        assert facts(C, entries[cut.upto].message).role in {Role.USER, Role.ASSISTANT}


def test_a_lone_tool_result_is_no_place_to_cut() -> None:
    """Chapter 3, 7: a lone tool result: no cut."""
    assert planned(sized((result("x"), 500)), 10) == Skip(SkipReason.NO_SAFE_CUT)


def test_messages_within_a_budget_of_50_000_leave_nothing_to_do() -> None:
    """Chapter 3, 8."""
    assert planned(sized((user("a"), 20_000), (model("b"), 30_000)), 50_000) == Skip(SkipReason.ALL_FITS)


def test_a_cut_on_an_assistant_message_splits_the_turn_that_starts_at_its_user_message() -> None:
    """Chapter 3, 9."""
    cut = planned(
        sized((user("a"), 10), (model("b"), 10), (user("c"), 10), (model("d"), 900), (model("e"), 40)), 40
    )
    assert isinstance(cut, Cut)
    assert (cut.upto, cut.split_turn, cut.turn_start, cut.reason) == (4, True, 2, CutReason.INSIDE_TURN)


def test_a_second_compaction_begins_at_the_first_entry_that_was_kept() -> None:
    """Chapter 3, 10: messages kept last time are summarised; the old summary's text is not among them, it goes in apart."""
    messages: list[Message] = [
        user("set up the parser"),
        model("a" * 400),
        user("now the printer"),
        model("b" * 400),
    ]
    messages += [user("never print tabs"), model("c" * 400), user("last one"), model("d" * 400)]
    entries = plain(messages)
    first = planned(entries[:4], 105)
    assert isinstance(first, Cut)
    assert first.upto == 2
    _, carried = summarise_by_code(C, entries[:2], first, PI)
    second = planned(entries[first.upto :], 104, at_least=first.upto)
    assert isinstance(second, Cut)
    assert second.upto == 6
    summary, _ = summarise_by_code(C, entries[2:6], second, PI, previous=carried)
    for told in ("set up the parser", "now the printer", "never print tabs"):
        assert told in summary.text
    assert "<conversation-summary" not in summary.text


def split() -> tuple[Summary, Cut]:
    """A summary of a history whose last turn is divided, after an earlier compaction that knew a file."""
    before = plain([user("read it"), call("c"), result("c"), model("done")])
    known = Cut(4, split_turn=False, covered_tokens=9, kept_tokens=0, reason="by_hand")
    _, carried = summarise_by_code(C, before, known, PI)
    later = plain(
        [
            user("the history"),
            model("ok"),
            user("the long request"),
            model("early " + "e" * 4_000),
            model("kept " * 9),
        ],
        start=4,
    )
    cut = planned(later, 12, at_least=4)
    assert isinstance(cut, Cut)
    summary, _ = summarise_by_code(C, later[: cut.upto - 4], cut, PI, previous=carried)
    return summary, cut


def test_the_head_of_a_divided_turn_gets_a_summary_of_its_own() -> None:
    """Chapter 3, Cut: history summary + turn-prefix summary: Original Request, Early Progress, Context for Suffix."""
    summary, cut = split()
    assert (cut.split_turn, cut.turn_start, cut.upto) == (True, 6, 8)
    history, _, head = summary.text.partition(PI.summary.split_heading)
    assert [heading for heading, _ in summary.sections][-3:] == [
        "## Original Request",
        "## Early Progress",
        "## Context for Suffix",
    ]
    assert "the long request" in head
    assert "the long request" not in history
    assert "the history" in history


def test_a_split_turn_keeps_the_file_lists_of_earlier_compactions() -> None:
    """Chapter 3, 15."""
    summary, _ = split()
    assert "src/app.py" in dict(summary.sections)["## Files"]


def test_both_summaries_keep_to_their_shares_of_the_reserve() -> None:
    """Chapter 3, Cut: output caps 0.8 and 0.5 of the reserve."""
    assert (PI.summary.max_tokens, PI.summary.split_max_tokens) == (int(0.8 * 16_384), 16_384 // 2)
    assert split()[0].tokens <= PI.summary.max_tokens


def test_the_model_sees_the_summary_first_then_kept_and_later_messages() -> None:
    """Chapter 3, 16: two kept and two later messages: five in all; kept from the first entry: everything plus it."""
    messages = [user("a"), model("b"), user("kept"), model("kept"), user("later"), model("later")]
    insert = render_insert(C, PI, "s", ())
    context = apply_context(messages, insert, 2, ())
    assert (len(context), context[0], context[1:]) == (5, insert[0], messages[2:])
    assert apply_context(messages, insert, 0, ()) == [*insert, *messages]


def test_an_empty_session_is_a_skip_not_a_failure() -> None:
    """Chapter 3, 19."""
    assert planned([], 20_000) == Skip(SkipReason.EMPTY)
    assert planned(plain([user("a"), model("b")], start=7), 1, at_least=9) == Skip(SkipReason.NOT_AHEAD)


def test_modified_beats_read_and_files_come_last() -> None:
    """Chapter 3, Summary: read and modified files, kept by code across compactions, modified beats read."""
    messages = [user("go"), call("a", "edit"), result("a"), call("b", "read"), result("b"), model("x")]
    cut = Cut(6, split_turn=False, covered_tokens=9, kept_tokens=0, reason="by_hand")
    summary, _ = summarise_by_code(C, plain(messages), cut, PI)
    heading, body = summary.sections[-1]
    assert heading == "## Files"
    assert "modified: src/app.py" in body
    assert "read: src/app.py" not in body


def test_a_tool_result_with_an_image_counts_above_1_000_tokens() -> None:
    """Chapter 3, 11. An entry of unknown role counts 0 there; here for what it holds, since it is sent."""
    image = {"type": "image_url", "image_url": {"url": "https://e.com/a.png"}}
    shown = {"role": "tool", "tool_call_id": "c", "content": [{"type": "text", "text": "ok"}, image]}
    assert count_message(C, shown, None) > 1_000
    assert 0 < count_message(C, {"role": "spectator", "content": "a few words"}, None) < 20


def test_the_writer_sees_2_000_characters_of_a_result_and_all_that_was_said() -> None:
    """Chapter 3, 12: of 5,000 characters 2,000 and a note of 3,000 more; 1,500 stay; user and assistant text stays."""
    messages = [user("u" * 5_000), model("m" * 5_000), call("c"), result("c", "r" * 5_000)]
    said = spoken(C, plain([*messages, call("d"), result("d", "s" * 1_500)]), PI.summary)
    assert "u" * 5_000 in said[0].text
    assert "m" * 5_000 in said[1].text
    assert ("r" * 2_000 in said[3].text, "r" * 2_001 in said[3].text) == (True, False)
    assert "3,000 characters left out" in said[3].text
    assert "s" * 1_500 in said[5].text


def test_the_estimate_after_is_the_sum_of_its_parts() -> None:
    """Chapter 3, 17: summary in front and kept tail; what the summary call itself used is recorded with the job."""
    messages = [one for n in range(20) for one in (user(f"request {n} " + "w " * 300), model("m " * 300))]
    found = compact(PI, C, plain(messages), keep_tokens=2_000)
    assert isinstance(found, Compacted)
    assert size(C, found.context) == size(C, found.insert) + size(C, found.tail)
