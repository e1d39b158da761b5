"""The `codex` preset: chapter 1 of the behaviours list, by number."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from precompact_shared.engine.cut import Cut, Skip, SkipReason, plan_cut
from precompact_shared.engine.edits import apply_context
from precompact_shared.engine.preset import load_preset
from precompact_shared.engine.projection import render_insert
from precompact_shared.engine.recognition import summary_preset
from precompact_shared.engine.summary import Accepted, check_summary
from precompact_shared.engine.trigger import Action, Kind, SizeFacts, decide
from precompact_shared.engine.types import Entry, Format, Message
from tests.unit.engine.presets.compaction import written
from tests.unit.engine.presets.talk import C, call, model, plain, result, user, with_trigger

CODEX = load_preset("codex")


def planned(entries: list[Entry]) -> Cut | Skip:
    """Where Codex cuts."""
    return plan_cut(C, entries, keep_tokens=0, at_least=0, rule=CODEX.cut)


def inserted(entries: list[Entry], **more: object) -> list[str]:
    """The texts that stand in for these entries."""
    rendered = render_insert(C, CODEX, "the hand-over", (), covered=entries, **more)  # type: ignore[arg-type]
    return [message["content"] for message in rendered]


def test_the_limit_is_nine_tenths_of_the_window_and_hard_its_usable_part() -> None:
    """Chapter 1, Trigger: 90 % of the window when no limit is set; the usable window is 95 % of the raw one."""
    found = CODEX.limits(window=272_000, max_output=0)
    assert (found.limit, found.hard) == (244_800, 258_400)


def test_a_limit_in_tokens_counts_where_it_is_lower() -> None:
    """Chapter 1, Trigger: min(model_auto_compact_token_limit, 90 % of the window)."""
    assert with_trigger(CODEX, limit_tokens=150_000).limits(window=272_000, max_output=0).limit == 150_000
    assert with_trigger(CODEX, limit_tokens=260_000).limits(window=272_000, max_output=0).limit == 244_800


def test_a_turn_measured_below_the_limit_starts_nothing_and_one_above_it_does() -> None:
    """Chapter 1, 1: limit 200,000, turns measured at 70,000 and 330,000."""
    found = with_trigger(CODEX, limit_tokens=200_000).limits(window=400_000, max_output=0)
    assert [found.reached(size) for size in (70_000, 199_999, 200_000, 330_000)] == [False, False, True, True]


@pytest.mark.parametrize(
    ("tokens", "kind"),
    [(59_999, None), (60_000, Kind.SPECULATIVE), (99_999, Kind.SPECULATIVE), (100_000, Kind.DUE)],
)
def test_prefix_mode_starts_at_sixty_percent_and_ends_at_the_limit(tokens: int, kind: Kind | None) -> None:
    """Chapter 1, 19: limit 100,000, starts at 60,000; not at 59,999, not at 100,000."""
    found = with_trigger(CODEX, limit_tokens=100_000).limits(window=200_000, max_output=0)
    decision = decide(SizeFacts(tokens=tokens, limits=found))
    assert decision.kind == kind
    assert (decision.action is Action.NONE) == (kind is None)


def test_a_tail_of_any_length_may_follow_a_candidate() -> None:
    """Chapter 1, Background: result = replacement + every later item, no tail limit."""
    found = CODEX.limits(window=200_000, max_output=0)
    assert found.growth_max == found.limit


def test_assistant_and_tool_items_all_go_and_the_summary_is_last() -> None:
    """Chapter 1, 8: after each of three compactions inside one task the input is user message, then summary."""
    messages = [user("build the parser")]
    for step in range(3):
        messages += [call(f"c{step}"), result(f"c{step}", "x" * 400)]
        entries = plain(messages)
        cut = planned(entries)
        assert isinstance(cut, Cut)
        assert (cut.upto, cut.kept_tokens) == (len(messages), 0)
        texts = inserted(entries)
        assert texts[0] == "build the parser"
        assert len(texts) == 2
        assert texts[1].startswith('<conversation-summary preset="codex/1">')


def test_an_incoming_message_is_not_summarised_and_follows_behind_the_summary() -> None:
    """Chapter 1, 10: a text and image that come with the run are in the follow-up, not in what is summarised."""
    image = {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}
    incoming: Message = {"role": "user", "content": [{"type": "text", "text": "and this?"}, image]}
    messages = [user("one"), model("done"), incoming]
    entries = plain(messages)
    cut = planned(entries)
    assert isinstance(cut, Cut)
    assert cut.upto == 2
    context = apply_context(messages, render_insert(C, CODEX, "s", (), covered=entries[:2]), 2, ())
    assert context[-1] == incoming


def test_the_only_message_there_is_waits_for_its_answer() -> None:
    """Chapter 1, Cut: nothing but the incoming message: nothing to compact."""
    assert planned(plain([user("hello")])) == Skip(SkipReason.ONE_TURN)


def test_a_run_by_hand_without_any_user_message_works() -> None:
    """Chapter 1, 9: the local path compacts a history in which no user has spoken."""
    entries = plain([model("hello"), model("still here")])
    cut = planned(entries)
    assert isinstance(cut, Cut)
    assert cut.upto == 2
    assert len(inserted(entries)) == 1


def test_user_texts_stay_newest_first_up_to_the_budget_and_the_crossing_one_loses_its_middle() -> None:
    """Chapter 1, 6: budget 20,000 tokens at four characters each; the walk ends there, order is restored."""
    long = "head " + "x" * 70_000 + " tail"
    entries = plain(
        [user("too old"), user(long), model("m"), user("y" * 40_000), model("m"), user("newest"), model("m")]
    )
    texts = inserted(entries)
    assert texts[1:3] == ["y" * 40_000, "newest"]
    assert texts[0].startswith("head x")
    assert texts[0].endswith("x tail")
    assert "left out; [r:1] has the whole text" in texts[0]
    assert sum(len(text.encode()) for text in texts[:3]) <= 80_000
    assert len(texts) == 4


def test_older_summaries_wrappers_and_images_alone_are_no_user_messages() -> None:
    """Chapter 1, 6: older summaries and session-prefix items are never collected; image-only content gives no text."""
    image: Message = {
        "role": "user",
        "content": [{"type": "image_url", "image_url": {"url": "https://e.com/a.png"}}],
    }
    older = user('<conversation-summary preset="codex/1">\nold\n</conversation-summary>')
    prefix = user("<environment_context>cwd=/tmp</environment_context>")
    assert inserted(plain([older, prefix, image, user("real"), model("m")]))[:-1] == ["real"]


def test_a_second_compaction_keeps_the_user_text_of_the_first() -> None:
    """Chapter 1, 13: two runs; later turns keep the user text, and only the newest summary is there."""
    first = plain([user("first request"), model("m")])
    earlier = render_insert(C, CODEX, "one", (), covered=first)
    second = plain([user("second request"), model("m")], start=2)
    rendered = render_insert(C, CODEX, "two", (), covered=second, earlier=earlier)
    assert [message["content"] for message in rendered[:-1]] == ["first request", "second request"]
    assert [summary_preset(C, message) for message in rendered] == [None, None, "codex/1"]


def test_mid_turn_context_stands_before_the_last_user_message_or_before_the_summary() -> None:
    """Chapter 1, Injection and 11: with no real user message left it stands before the summary, which stays last."""
    state = [user("initial context")]
    with_texts = inserted(plain([user("one"), model("m"), user("two"), model("m")]), state=state)
    assert with_texts[:3] == ["one", "initial context", "two"]
    alone = inserted(plain([model("m")]), state=state)
    assert alone[0] == "initial context"
    assert alone[1].startswith("<conversation-summary")
    assert len(alone) == 2


def test_twenty_items_are_replaced_and_the_five_that_came_since_follow_unchanged() -> None:
    """Chapter 1, 20: replacement, captured context, then those 5 unchanged."""
    messages = [one for number in range(10) for one in (user(f"u{number}"), model("m"))]
    entries = plain(messages)
    cut = planned(entries)
    assert isinstance(cut, Cut)
    assert cut.upto == 20
    later = [user("u"), call("c"), result("c"), model("m"), user("now")]
    insert = render_insert(C, CODEX, "s", (), covered=entries, state=[user("captured")])
    context = apply_context([*messages, *later], insert, cut.upto, ())
    assert context == [*insert, *later]
    assert user("captured") in insert


def test_a_summary_in_prose_passes() -> None:
    """Chapter 1, Summary: no headings and no check of the result; an empty text is refused all the same."""
    assert check_summary("prose", tokens=1, covered_tokens=9, max_tokens=9, preset=CODEX) == Accepted()
    assert check_summary(" ", tokens=1, covered_tokens=9, max_tokens=9, preset=CODEX) != Accepted()


def test_it_works_on_responses_items_too() -> None:
    """Codex's own format: the reasoning item and its call go together with their output."""
    items: list[Message] = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}]},
        {"type": "reasoning", "summary": [], "encrypted_content": "eHl6"},
        {"type": "function_call", "call_id": "c", "name": "shell", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": "ok"},
    ]
    entries = [Entry(seq, item, 100) for seq, item in enumerate(items)]
    cut = plan_cut(Format.OPENAI_RESPONSES, entries, keep_tokens=0, at_least=0, rule=CODEX.cut)
    assert isinstance(cut, Cut)
    assert cut.upto == 4
    waiting = [*entries, replace(entries[0], seq=4)]
    behind = plan_cut(Format.OPENAI_RESPONSES, waiting, keep_tokens=0, at_least=0, rule=CODEX.cut)
    assert isinstance(behind, Cut)
    assert behind.upto == 4


def test_what_is_pinned_travels_once() -> None:
    """Neither the covered part nor the earlier insert gives a pinned text a second time."""
    rules = Entry(0, user("the rules"), 3, pinned=True)
    covered = [replace(rules, pinned=False), *plain([user("one"), model("m")], start=1)]
    first = render_insert(C, CODEX, "s", [rules], covered=covered)
    assert [message["content"] for message in first[:-1]] == ["the rules", "one"]
    second = render_insert(C, CODEX, "t", [rules], covered=plain([user("two")], start=3), earlier=first)
    assert [message["content"] for message in second[:-1]] == ["the rules", "one", "two"]


def test_a_quoted_tag_makes_no_summary() -> None:
    """Only a message that begins with it is one."""
    quoted = user('why does it say <conversation-summary preset="codex/1">?')
    assert summary_preset(C, quoted) is None
    assert inserted(plain([quoted, model("m")]))[0] == quoted["content"]
    assert summary_preset(C, model('<conversation-summary preset="codex/1">')) is None


def test_a_reloaded_and_a_forked_session_show_the_same_prefix() -> None:
    """Chapter 1, 12: after one and after two compactions; nothing but what the wire format knows reaches the provider."""
    first = plain([user("first request"), model("m"), call("c"), result("c"), model("m")])
    second = plain([user("second request"), model("m")], start=5)
    reloaded = [Entry(one.seq, json.loads(json.dumps(one.message)), one.tokens) for one in (*first, *second)]
    once = render_insert(C, CODEX, "one", (), covered=first)
    twice = render_insert(C, CODEX, "two", (), covered=second, earlier=once)
    once_again = render_insert(C, CODEX, "one", (), covered=reloaded[:5])
    stored = json.loads(json.dumps(once_again))
    assert written(once_again) == written(once)
    assert written(render_insert(C, CODEX, "two", (), covered=reloaded[5:], earlier=stored)) == written(twice)
    assert {key for message in twice for key in message} == {"role", "content"}
