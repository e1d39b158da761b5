"""Huge texts in the kept tail: shown as head and tail with their address, never in what the model has not seen."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from precompact_shared.engine.cut import Cut, plan_cut
from precompact_shared.engine.edits import apply_context, edit_from_json, edit_to_json
from precompact_shared.engine.oversized import oversized_edits
from precompact_shared.engine.preset import load_preset
from precompact_shared.engine.projection import context_edits
from precompact_shared.engine.types import Entry, Format, Message

OURS = load_preset("precompact")
HUGE = "head " + "x" * 225_000 + " tail"
DONE: Message = {"role": "assistant", "content": "done"}


def entries(*messages: Message, tokens: int = 10) -> list[Entry]:
    """Entries from 5 on."""
    return [Entry(seq, message, tokens) for seq, message in enumerate(messages, 5)]


def shown(wire: Format, *messages: Message) -> list[Message]:
    """The tail as the model sees it."""
    kept = entries(*messages)
    edits = [edit_from_json(edit_to_json(edit)) for edit in context_edits(wire, kept, OURS)]
    return apply_context([{}] * 5 + list(messages), (), 5, edits)


def texts(message: Message) -> str:
    """Everything in it."""
    return str(message)


@pytest.mark.parametrize(
    ("wire", "message"),
    [
        (Format.OPENAI_CHAT, {"role": "tool", "tool_call_id": "c", "content": HUGE}),
        (Format.OPENAI_CHAT, {"role": "user", "content": [{"type": "text", "text": HUGE}]}),
        (Format.ANTHROPIC, {"role": "user", "content": HUGE}),
        (
            Format.ANTHROPIC,
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": HUGE}]},
        ),
        (
            Format.ANTHROPIC,
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "c", "content": [{"type": "text", "text": HUGE}]}
                ],
            },
        ),
        (Format.OPENAI_RESPONSES, {"type": "function_call_output", "call_id": "c", "output": HUGE}),
        (
            Format.OPENAI_RESPONSES,
            {
                "type": "custom_tool_call_output",
                "call_id": "c",
                "output": [{"type": "input_text", "text": HUGE}],
            },
        ),
        (
            Format.OPENAI_RESPONSES,
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": HUGE}]},
        ),
    ],
)
def test_a_huge_text_is_shown_as_head_and_tail_with_its_address(wire: Format, message: Message) -> None:
    """225,000 characters exist in the recordings; 8,000 and 32,000 of them stay."""
    kept = entries(message, DONE)
    edits = oversized_edits(wire, kept, OURS.cut)
    assert len(edits) == 1
    after = apply_context([{}] * 5 + [message, DONE], (), 5, edits)
    assert "head xxx" in texts(after[0])
    assert "xxx tail" in texts(after[0])
    assert "[r:5] has the whole text" in texts(after[0])
    assert 40_000 < len(texts(after[0])) < 40_500
    assert HUGE in texts(message)
    assert {key: after[0][key] for key in message if key not in {"content", "output"}} == {
        key: message[key] for key in message if key not in {"content", "output"}
    }


def test_texts_up_to_the_bound_and_the_models_own_stay_as_they_are() -> None:
    """Calls and answers are never touched."""
    call = {"role": "assistant", "content": HUGE}
    fits: Message = {"role": "user", "content": "x" * 100_000}
    assert oversized_edits(Format.OPENAI_CHAT, entries(fits, call, DONE), OURS.cut) == ()


def test_what_the_model_has_not_seen_yet_is_shown_whole() -> None:
    """A user who pastes a long text wants it read."""
    asked: Message = {"role": "user", "content": HUGE}
    assert shown(Format.OPENAI_CHAT, DONE, asked)[-1] == asked
    assert shown(Format.OPENAI_CHAT, asked, DONE)[0] != asked


def test_no_grapheme_is_cut_in_two() -> None:
    """Families and flags stay whole or go."""
    family = "👩‍👩‍👧‍👦"
    (message, _) = shown(Format.OPENAI_CHAT, {"role": "user", "content": family * 20_000}, DONE)
    head, _, rest = str(message["content"]).partition("\n[…")
    tail = rest.partition("…]\n")[2]
    assert set(head.split(family)) == set(tail.split(family)) == {""}


def test_a_preset_that_shortens_nothing_changes_nothing() -> None:
    """The systems that have no such rule."""
    asked: Message = {"role": "user", "content": HUGE}
    assert oversized_edits(Format.OPENAI_CHAT, entries(asked, DONE), load_preset("codex").cut) == ()


def test_the_cut_reckons_with_the_size_that_is_shown() -> None:
    """A huge result within the tail takes its shortened size from the budget."""
    messages: list[Message] = [{"role": "user", "content": "old " * 50}, DONE]
    messages += [{"role": "user", "content": "x" * 400_000}, DONE]
    sizes = [2_000, 2_000, 100_000, 2_000]
    listed = [Entry(seq, m, size) for seq, (m, size) in enumerate(zip(messages, sizes, strict=True))]

    def planned(**more: Any) -> Cut:
        cut = plan_cut(
            Format.OPENAI_CHAT, listed, keep_tokens=20_000, at_least=0, rule=replace(OURS.cut, **more)
        )
        assert isinstance(cut, Cut)
        return cut

    assert (planned().upto, planned().kept_tokens) == (2, 12_000)
    assert planned(huge_characters=0).upto == 3


def test_thinking_and_a_huge_result_go_together_with_repairs() -> None:
    """Edits of one entry never clash."""
    thought: Message = {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
            {"type": "tool_use", "id": "c", "name": "f", "input": {}},
        ],
    }
    orphan = {"type": "tool_result", "tool_use_id": "lost", "content": HUGE}
    answer = {"type": "tool_result", "tool_use_id": "c", "content": HUGE}
    context = shown(Format.ANTHROPIC, thought, {"role": "user", "content": [answer, orphan]}, DONE)
    assert [part["type"] for part in context[0]["content"]] == ["tool_use"]
    assert len(context[1]["content"]) == 1
    assert "[r:6]" in context[1]["content"][0]["content"]
