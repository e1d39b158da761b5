"""The `anthropic-native` and `openai-native` presets: chapters 6 and 7 of the behaviours list, by number."""

from __future__ import annotations

from dataclasses import replace
from importlib.resources import files

import pytest

from precompact_shared.engine.cut import Cut, Skip, SkipReason, plan_cut
from precompact_shared.engine.edits import apply_context
from precompact_shared.engine.native import (
    NativeBlock,
    NativeFault,
    insert_for_model,
    native_fault,
    render_native,
)
from precompact_shared.engine.preset import Form, load_preset, parse_preset, preset_names
from precompact_shared.engine.projection import context_edits
from precompact_shared.engine.recognition import summary_preset
from precompact_shared.engine.summary import Accepted, Rejected, RejectReason, check_summary
from precompact_shared.engine.types import Entry, Format, Message
from precompact_shared.engine.validate import RequestFacts, fingerprint, validate
from precompact_shared.errors import Configuration

A, R = Format.ANTHROPIC, Format.OPENAI_RESPONSES
ANTHROPIC, OPENAI = load_preset("anthropic-native"), load_preset("openai-native")
BLOCK = {"type": "compaction", "content": "what was said", "signature": "c2ln"}
OPENING: Message = {"role": "assistant", "content": [BLOCK]}
ASK: Message = {"role": "user", "content": "go"}
THOUGHT: Message = {
    "role": "assistant",
    "content": [
        {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
        {"type": "text", "text": "done"},
    ],
}
CALL: Message = {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}}]}
RESULT: Message = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "ok"}]}


def entries(*messages: Message) -> list[Entry]:
    """Ten tokens each."""
    return [Entry(seq, message, 10) for seq, message in enumerate(messages)]


def item(role: str, text: str) -> Message:
    """A message item of the Responses format."""
    kind = "input_text" if role == "user" else "output_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}


OUTPUT: tuple[Message, ...] = (
    item("user", "kept one"),
    item("user", "kept two"),
    {"type": "compaction", "id": "cmp_1", "encrypted_content": "b3BhcXVl"},
)


def test_two_presets_are_native() -> None:
    """All others write a readable message."""
    native = {name for name in preset_names() if load_preset(name).injection.form is Form.NATIVE}
    assert native == {"anthropic-native", "openai-native"}


@pytest.mark.parametrize(
    ("name", "refused", "accepted"), [("anthropic-native", 49_999, 50_000), ("openai-native", 999, 1_000)]
)
def test_a_threshold_below_the_providers_minimum_is_refused(name: str, refused: int, accepted: int) -> None:
    """Chapter 6, 1: 49,999 refused, 50,000 accepted. Chapter 7, 1: 999 refused, 1,000 accepted."""
    source = files("precompact_shared").joinpath("presets", f"{name}.toml").read_text(encoding="utf-8")
    [line] = [one for one in source.splitlines() if one.startswith("limit_tokens = ")]
    with pytest.raises(Configuration, match="limit_tokens"):
        parse_preset(source.replace(line, f"limit_tokens = {refused}"))
    preset = parse_preset(source.replace(line, f"limit_tokens = {accepted}"))
    assert preset.limits(window=200_000, max_output=8_000).limit == accepted


def test_without_a_threshold_it_is_150_000() -> None:
    """Chapter 6, 1: absent: 150,000."""
    assert ANTHROPIC.limits(window=1_000_000, max_output=64_000).limit == 150_000


def test_five_were_sent_and_eight_are_there_the_list_is_the_block_and_the_last_three() -> None:
    """Chapter 6, 3: sent 1-5, grown to 8: new list is block, 6, 7, 8."""
    sent = [ASK, THOUGHT, ASK, THOUGHT, ASK, THOUGHT][:6]
    cut = plan_cut(A, entries(*sent), keep_tokens=0, at_least=0, rule=ANTHROPIC.cut)
    assert isinstance(cut, Cut)
    assert cut.upto == 6
    grown = [*sent, ASK, CALL, RESULT]
    insert = render_native(NativeBlock("claude", (OPENING,)), ())
    tail = entries(*grown)[cut.upto :]
    context = apply_context(grown, insert, cut.upto, context_edits(A, tail, ANTHROPIC, native=True))
    assert context == [OPENING, ASK, CALL, RESULT]


def test_what_waits_for_an_answer_is_not_sent() -> None:
    """Chapter 6, Cut: a user message nobody answered and the newest step stay behind the block."""
    for waiting, upto in (([ASK], 2), ([ASK, CALL, RESULT], 3)):
        cut = plan_cut(A, entries(ASK, THOUGHT, *waiting), keep_tokens=0, at_least=0, rule=ANTHROPIC.cut)
        assert isinstance(cut, Cut)
        assert cut.upto == upto


def test_a_history_that_ends_in_an_unanswered_call_is_put_off() -> None:
    """Chapter 6, Trigger and chapter 7, 2: neither sent nor failed."""
    skip = Skip(SkipReason.OPEN_CALL)
    assert (
        plan_cut(A, entries(ASK, THOUGHT, ASK, CALL), keep_tokens=0, at_least=0, rule=ANTHROPIC.cut) == skip
    )
    items = [item("user", "a"), item("assistant", "b"), item("user", "c")]
    call = {"type": "function_call", "call_id": "x", "name": "f", "arguments": "{}"}
    assert plan_cut(R, entries(*items, call), keep_tokens=0, at_least=0, rule=OPENAI.cut) == skip


def test_behind_a_signed_block_thinking_stays_and_behind_a_readable_summary_it_goes() -> None:
    """providers.md 1.4: kept turns that follow directly and unchanged keep their thinking."""
    tail = entries(ASK, THOUGHT)
    assert context_edits(A, tail, ANTHROPIC, native=True) == ()
    assert len(context_edits(A, tail, ANTHROPIC)) == 1


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ([BLOCK], None),
        ([BLOCK, {"type": "text", "text": "and"}], None),
        ([BLOCK, BLOCK], NativeFault.TWO_BLOCKS),
        ([{"type": "text", "text": "and"}, BLOCK], NativeFault.NOT_FIRST),
        ([], NativeFault.NO_BLOCK),
        ([{**BLOCK, "content": None}], NativeFault.EMPTY),
        ([{**BLOCK, "content": " "}], NativeFault.EMPTY),
        ([{"type": "compaction", "content": "x"}], NativeFault.UNSIGNED),
        ([{**BLOCK, "tool_changes": None}], NativeFault.NULL_FIELD),
    ],
)
def test_exactly_one_whole_signed_block_may_open_the_list(
    content: list[Message], fault: NativeFault | None
) -> None:
    """Chapter 6, 4 and 8: two blocks are ambiguous, empty content leaves the history unchanged."""
    assert native_fault(A, [{"role": "assistant", "content": content}]) is fault


def test_compacting_again_leaves_the_newest_block_only() -> None:
    """Chapter 6, 5: the block stands for the earlier one, too."""
    newer = {"role": "assistant", "content": [{**BLOCK, "content": "all of it"}]}
    insert = render_native(NativeBlock("claude", (newer,)), ())
    context = apply_context([ASK, THOUGHT, ASK, THOUGHT, ASK], insert, 4, ())
    assert native_fault(A, context) is None
    assert context == [newer, ASK]


def test_the_output_of_the_endpoint_goes_whole_and_unchanged_to_the_front() -> None:
    """Chapter 7, 3: kept user messages and the item, in their order, the same values."""
    block = NativeBlock("gpt", OUTPUT)
    later = item("user", "later")
    history = [item("user", "a"), item("assistant", "b"), later]
    assert apply_context(history, render_native(block, ()), 2, ()) == [*OUTPUT, later]
    assert all(new is old for new, old in zip(render_native(block, ()), OUTPUT, strict=True))
    assert native_fault(R, OUTPUT) is None
    assert native_fault(R, OUTPUT[:2]) is NativeFault.NO_BLOCK
    assert native_fault(R, [{"type": "compaction", "encrypted_content": ""}]) is NativeFault.EMPTY


@pytest.mark.parametrize(("wire", "preset", "items"), [(A, ANTHROPIC, (OPENING,)), (R, OPENAI, OUTPUT)])
def test_another_model_gets_the_readable_summary(
    wire: Format, preset: object, items: tuple[Message, ...]
) -> None:
    """Chapter 7, 5: the block is of no use to another provider; a readable text stands beside it."""
    loaded = load_preset(getattr(preset, "name"))  # noqa: B009
    block = NativeBlock("own", items)
    assert insert_for_model(wire, loaded, block, "what was said", (), family="own") == items
    (readable,) = insert_for_model(wire, loaded, block, "what was said", (), family="other")
    assert summary_preset(wire, readable) == f"{loaded.name}/1"
    assert insert_for_model(wire, loaded, None, "s", (), family="own") != items


def test_what_is_pinned_stands_behind_the_block() -> None:
    """The block has to be first in the list."""
    rules = Entry(0, {"role": "user", "content": "rules"}, 5, pinned=True)
    assert render_native(NativeBlock("claude", (OPENING,)), [rules]) == (OPENING, rules.message)


def test_a_fallback_summary_is_taken_if_it_is_there_and_smaller() -> None:
    """Chapter 7, 6: completed and non-blank is accepted; nothing else is asked of a text the provider wrote."""
    for preset in (ANTHROPIC, OPENAI):
        accepted = check_summary("any words", tokens=3, covered_tokens=99, max_tokens=99, preset=preset)
        assert accepted == Accepted()
        blank = check_summary("", tokens=0, covered_tokens=99, max_tokens=99, preset=preset)
        assert blank == Rejected(RejectReason.BLANK)


def test_the_cut_takes_everything_again_after_growth() -> None:
    """Chapter 6, Background: later compactions count from the first."""
    grown = [replace(entry, seq=entry.seq + 6) for entry in entries(ASK, THOUGHT, ASK, THOUGHT)]
    cut = plan_cut(A, grown, keep_tokens=0, at_least=6, rule=ANTHROPIC.cut)
    assert isinstance(cut, Cut)
    assert cut.upto == 10


def test_a_summarised_message_left_behind_the_block_is_caught_by_the_validator() -> None:
    """Chapter 6, 6: the API says nothing, so we do."""
    covered = frozenset(fingerprint(A, message) for message in (ASK, THOUGHT))
    request = RequestFacts(covered=covered)
    newer: Message = {"role": "user", "content": "something new"}
    assert "A15" not in {one.id for one in validate(A, [OPENING, newer], request=request)}
    left = [
        one.index for one in validate(A, [OPENING, newer, THOUGHT, ASK], request=request) if one.id == "A15"
    ]
    assert left == [2, 3]
