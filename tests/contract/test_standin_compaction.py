"""Anthropic's compaction on demand and by threshold, and its context editing, through its SDK."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anthropic
import pytest
from anthropic import types as errors

from precompact_standin.scenario import ModelRow
from tests.support.standin import Served

MODEL = "claude-opus-5-5"
ON_DEMAND = ["compact-2026-09-04"]
THRESHOLD = ["compact-2026-01-12"]
EDITING = ["context-management-2025-06-27"]
HISTORY: list[Any] = [
    {"role": "user", "content": "Fix src/login.py. Never change the schema."},
    {"role": "assistant", "content": "I changed src/login.py and the tests pass."},
]
GO_ON: dict[str, Any] = {"role": "user", "content": "Go on."}


def compact(claude: Any, messages: list[Any] | None = None, **more: Any) -> Any:
    """Ask for a block."""
    wanted: dict[str, Any] = {"compaction": {"type": "summarize"}, "betas": ON_DEMAND, **more}
    return claude.beta.messages.create(
        model=MODEL, max_tokens=4_096, messages=HISTORY if messages is None else messages, **wanted
    )


def go_on(claude: Any, *messages: Any, **more: Any) -> Any:
    """Send a later request."""
    wanted: dict[str, Any] = {"betas": ON_DEMAND, **more}
    return claude.beta.messages.create(model=MODEL, max_tokens=500, messages=list(messages), **wanted)


def block_of(claude: Any) -> dict[str, Any]:
    """A fresh block, as received."""
    found: dict[str, Any] = compact(claude).content[0].to_dict()
    return found


def lead(block: dict[str, Any]) -> dict[str, Any]:
    """The block as a message of its own."""
    return {"role": "assistant", "content": [block]}


def test_the_block_comes_alone_and_its_usage_elsewhere(claude: Any) -> None:
    """Top-level usage is 0; the iteration has it all."""
    reply = compact(claude)
    assert reply.stop_reason == "compaction"
    assert [block.type for block in reply.content] == ["compaction"]
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (0, 0)
    (iteration,) = reply.usage.iterations
    assert iteration.type == "compaction"
    assert iteration.input_tokens > 0
    assert iteration.output_tokens > 0


def test_a_stream_brings_the_block_in_one_event(claude: Any) -> None:
    """No deltas."""
    with claude.beta.messages.stream(
        model=MODEL, max_tokens=4_096, messages=HISTORY, compaction={"type": "summarize"}, betas=ON_DEMAND
    ) as stream:
        kinds = [event.type for event in stream]
        streamed = stream.get_final_message()
    assert "content_block_delta" not in kinds
    assert streamed.content[0].to_dict(exclude_unset=True) == block_of(claude)
    assert streamed.usage.iterations is not None


def test_own_instructions_replace_the_prompt(claude: Any) -> None:
    """Its headings are followed."""
    asked = {"type": "summarize", "instructions": "Summarize.\n## Goal\n## Files"}
    content = compact(claude, compaction=asked).content[0].content
    assert content.startswith("## Goal\n")
    assert "## Files\n- src/login.py" in content


@pytest.mark.parametrize("place", ["own message", "in the user's message"])
def test_the_block_goes_out_with_each_later_request(claude: Any, place: str) -> None:
    """As a message of its own or as the first block of the first one."""
    block = block_of(claude)
    inside = {"role": "user", "content": [block, {"type": "text", "text": "Go on."}]}
    messages = [lead(block), GO_ON] if place == "own message" else [inside]
    assert go_on(claude, *messages).stop_reason == "end_turn"


def test_a_block_can_be_compacted_again(claude: Any) -> None:
    """With what was said since."""
    block = block_of(claude)
    again = compact(claude, [lead(block), GO_ON, {"role": "assistant", "content": "Done."}])
    assert again.content[0].signature != block["signature"]


def test_kept_thinking_stays_valid_behind_a_signed_block(claude: Any) -> None:
    """Since the turns follow the summarised ones directly; with a turn left out it does not."""
    thinks: dict[str, Any] = {"thinking": {"type": "adaptive"}}
    made = go_on(claude, *HISTORY, GO_ON, **thinks).content
    kept = {"role": "assistant", "content": [block.to_dict() for block in made]}
    block = compact(claude, **thinks).content[0].to_dict()
    assert go_on(claude, lead(block), GO_ON, kept, GO_ON, **thinks)
    with pytest.raises(anthropic.BadRequestError, match="thinking"):
        go_on(claude, lead(block), {"role": "user", "content": "Other."}, kept, GO_ON, **thinks)


def test_what_is_sent_back_is_checked(claude: Any) -> None:
    """Each change has its class."""
    block = block_of(claude)
    cases: list[tuple[type[Exception], list[Any]]] = [
        (errors.CompactionSignatureInvalidError, [lead({**block, "signature": "bm8="}), GO_ON]),
        (errors.CompactionContentMismatchError, [lead({**block, "content": "Other."}), GO_ON]),
        (
            errors.CompactionToolChangesMismatchError,
            [lead({**block, "tool_changes": [{"type": "tool_removal", "tool": {}}]}), GO_ON],
        ),
        (errors.CompactionBlockMisplacedError, [HISTORY[0], lead(block), GO_ON]),
        (errors.CompactionBlockMisplacedError, [GO_ON, {"role": "system", "content": [block]}]),
        (errors.CompactionBlockAmbiguousError, [lead(block), lead(block), GO_ON]),
        (errors.CompactionNothingToSummarizeError, [lead(block)]),
        (anthropic.BadRequestError, [lead({**block, "encrypted_content": None}), GO_ON]),
        (anthropic.BadRequestError, [lead({**block, "tool_changes": None}), GO_ON]),
        (anthropic.BadRequestError, [*HISTORY, lead({**block, "content": ""}), GO_ON]),
    ]
    for error, messages in cases:
        with pytest.raises(error):
            go_on(claude, *messages)


def test_without_its_header_the_block_is_not_expected(claude: Any) -> None:
    """And the parameter neither; the message names the beta."""
    with pytest.raises(anthropic.BadRequestError, match="compact-2026-09-04"):
        go_on(claude, lead(block_of(claude)), GO_ON, betas=[])
    with pytest.raises(anthropic.BadRequestError, match="compact-2026-09-04"):
        compact(claude, betas=[])


@pytest.mark.parametrize(
    "clash",
    [
        {"stop_sequences": ["END"]},
        {"output_config": {"format": {"type": "json_schema", "schema": {}}}},
        {"tool_choice": {"type": "any"}},
        {"max_tokens": 0},
        {"context_management": {"edits": []}},
        {"output_config": {"task_budget": {"type": "tokens", "total": 9, "remaining": 5}}},
        {"compaction": {"type": "forget"}},
        {"compaction": {"type": "summarize", "instructions": "x" * 16_385}},
    ],
)
def test_what_a_compaction_cannot_stand_beside(claude: Any, clash: dict[str, Any]) -> None:
    """Each is refused."""
    wanted: dict[str, Any] = {
        "max_tokens": 4_096,
        "compaction": {"type": "summarize"},
        "betas": ON_DEMAND,
        **clash,
    }
    with pytest.raises(anthropic.BadRequestError, match="compaction"):
        claude.beta.messages.create(model=MODEL, messages=HISTORY, **wanted)


def test_an_unfinished_turn_is_not_compacted(claude: Any) -> None:
    """A call without its result at the end."""
    call = {"type": "tool_use", "id": "t1", "name": "bash", "input": {}}
    with pytest.raises(errors.CompactionIncompleteTurnError):
        compact(claude, [HISTORY[0], {"role": "assistant", "content": [call]}])


def test_too_many_tools_cannot_be_recorded(claude: Any) -> None:
    """Each name counts once."""
    calls = [{"type": "tool_use", "id": f"t{at}", "name": f"tool{at}", "input": {}} for at in range(1_025)]
    results = [{"type": "tool_result", "tool_use_id": call["id"]} for call in calls]
    messages = [HISTORY[0], {"role": "assistant", "content": calls}, {"role": "user", "content": results}]
    with pytest.raises(errors.CompactionTooManyToolReferencesError):
        compact(claude, messages)


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("empty_content", "end_turn"),
        ("blank_text", "end_turn"),
        ("null_compaction", "end_turn"),
        ("tool_call", "tool_use"),
        ("truncated", "max_tokens"),
        ("refusal", "refusal"),
        ("window_exceeded", "model_context_window_exceeded"),
    ],
)
def test_no_summary_is_a_200_without_content(claude: Any, fault: str, reason: str) -> None:
    """The reason stands in `stop_reason`, and the tokens are billed."""
    reply = compact(claude, extra_headers={"x-standin-fault": fault})
    assert (reply.content, reply.stop_reason) == ([], reason)
    assert reply.usage.iterations[0].input_tokens > 0


def test_a_small_limit_cuts_the_summary(claude: Any) -> None:
    """Without any fault asked for."""
    reply = claude.beta.messages.create(
        model=MODEL, max_tokens=3, messages=HISTORY, compaction={"type": "summarize"}, betas=ON_DEMAND
    )
    assert (reply.content, reply.stop_reason) == ([], "max_tokens")


def long_history(turns: int = 40) -> list[Any]:
    """Enough for the smallest threshold."""
    texts = [(f"Question {at}. " + "word " * 1_000, f"Answer {at}.") for at in range(turns)]
    pairs = [
        [{"role": "user", "content": ask}, {"role": "assistant", "content": said}] for ask, said in texts
    ]
    return [*(message for pair in pairs for message in pair), GO_ON]


def threshold(claude: Any, messages: list[Any], **edit: Any) -> Any:
    """A request with threshold compaction at its minimum."""
    edits = [{"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": 50_000}, **edit}]
    return go_on(claude, *messages, betas=THRESHOLD, context_management={"edits": edits})


def test_above_its_threshold_a_reply_begins_with_a_block(claude: Any) -> None:
    """Unsigned; top-level usage counts the message alone."""
    reply = threshold(claude, long_history())
    assert [block.type for block in reply.content] == ["compaction", "text"]
    assert reply.content[0].signature is None
    compacting, message = reply.usage.iterations
    assert (compacting.type, message.type) == ("compaction", "message")
    assert compacting.input_tokens > 50_000 > message.input_tokens == reply.usage.input_tokens
    then = [
        *long_history(),
        {"role": "assistant", "content": [one.to_dict() for one in reply.content]},
        GO_ON,
    ]
    later = threshold(claude, then)
    assert [block.type for block in later.content] == ["text"]
    assert later.usage.input_tokens < 5_000


def test_below_its_threshold_nothing_is_compacted(claude: Any) -> None:
    """An ordinary reply."""
    assert [block.type for block in threshold(claude, [*HISTORY, GO_ON]).content] == ["text"]


def test_a_pause_stops_behind_the_block(claude: Any) -> None:
    """With the stop reason of it."""
    reply = threshold(claude, long_history(), pause_after_compaction=True)
    assert ([block.type for block in reply.content], reply.stop_reason) == (["compaction"], "compaction")


def test_a_failed_threshold_compaction_has_null_content(claude: Any) -> None:
    """And is no obstacle when it comes back."""
    edits: Any = [{"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": 50_000}}]
    reply = go_on(
        claude,
        *long_history(),
        betas=THRESHOLD,
        context_management={"edits": edits},
        extra_headers={"x-standin-fault": "null_compaction"},
    )
    assert reply.content[0].content is None
    block = {"type": "compaction", "content": None}
    messages = [
        *HISTORY,
        GO_ON,
        {"role": "assistant", "content": [block, {"type": "text", "text": "ok"}]},
        GO_ON,
    ]
    assert go_on(claude, *messages, betas=THRESHOLD).stop_reason == "end_turn"


def test_threshold_streams_send_one_compaction_delta(claude: Any) -> None:
    """Start, delta, stop."""
    edits: Any = [{"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": 50_000}}]
    with claude.beta.messages.stream(
        model=MODEL,
        max_tokens=500,
        messages=long_history(),
        context_management={"edits": edits},
        betas=THRESHOLD,
    ) as stream:
        deltas = [event.delta.type for event in stream if event.type == "content_block_delta"]
        final = stream.get_final_message()
    assert deltas[0] == "compaction_delta"
    assert deltas.count("compaction_delta") == 1
    assert final.content[0].to_dict()["content"]


@pytest.mark.parametrize("value", [0, 49_999])
def test_a_threshold_below_the_minimum_is_refused(claude: Any, value: int) -> None:
    """50,000 is the least."""
    with pytest.raises(anthropic.BadRequestError, match="50000"):
        threshold(claude, HISTORY[:1], trigger={"type": "input_tokens", "value": value})


def test_signed_blocks_and_thresholds_exclude_each_other(claude: Any) -> None:
    """Whatever headers are there."""
    edits = [{"type": "compact_20260112"}]
    with pytest.raises(anthropic.BadRequestError, match="signed"):
        go_on(
            claude,
            lead(block_of(claude)),
            GO_ON,
            betas=[*ON_DEMAND, *THRESHOLD],
            context_management={"edits": edits},
        )


def tool_loop(calls: int) -> list[Any]:
    """A question and so many calls with long results."""
    messages: list[Any] = [HISTORY[0]]
    for at in range(calls):
        use = {"type": "tool_use", "id": f"t{at}", "name": "read" if at % 2 else "bash", "input": {"n": at}}
        result = {"type": "tool_result", "tool_use_id": f"t{at}", "content": "word " * 500}
        messages += [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
    return messages


def test_old_tool_results_are_cleared_and_told(claude: Any) -> None:
    """All but the newest, and those that are spared."""
    edit = {
        "type": "clear_tool_uses_20250919",
        "trigger": {"type": "tool_uses", "value": 4},
        "keep": {"type": "tool_uses", "value": 2},
        "exclude_tools": ["read"],
    }
    plain = go_on(claude, *tool_loop(8), betas=EDITING)
    reply = go_on(claude, *tool_loop(8), betas=EDITING, context_management={"edits": [edit]})
    (done,) = reply.context_management.applied_edits
    assert done.cleared_tool_uses == 3
    assert plain.usage.input_tokens - reply.usage.input_tokens == done.cleared_input_tokens > 0
    counted = claude.beta.messages.count_tokens(
        model=MODEL,
        messages=tool_loop(8),
        betas=EDITING,
        context_management={"edits": [edit]},
    )
    assert counted.input_tokens == reply.usage.input_tokens
    assert counted.context_management is not None
    assert counted.context_management.original_input_tokens == plain.usage.input_tokens


@pytest.mark.parametrize(
    "edit",
    [
        {"type": "clear_tool_uses_20250919", "trigger": {"type": "tool_uses", "value": 100}},
        {
            "type": "clear_tool_uses_20250919",
            "trigger": {"type": "tool_uses", "value": 1},
            "clear_at_least": {"type": "input_tokens", "value": 900_000},
        },
    ],
)
def test_clearing_that_is_not_due_or_not_worth_it_is_left(claude: Any, edit: dict[str, Any]) -> None:
    """Nothing applied."""
    reply = go_on(claude, *tool_loop(8), betas=EDITING, context_management={"edits": [edit]})
    assert reply.context_management.applied_edits == []


def test_old_thinking_is_cleared(claude: Any) -> None:
    """All but the newest turn's."""
    thought = {"type": "thinking", "thinking": "hm " * 100, "signature": "c2ln"}
    said = {"role": "assistant", "content": [thought, {"type": "text", "text": "ok"}]}
    edit = {"type": "clear_thinking_20251015", "keep": {"type": "thinking_turns", "value": 1}}
    reply = go_on(
        claude, GO_ON, said, GO_ON, said, GO_ON, betas=EDITING, context_management={"edits": [edit]}
    )
    (done,) = reply.context_management.applied_edits
    assert done.cleared_thinking_turns == 1


def test_editing_needs_its_header_and_its_order(claude: Any) -> None:
    """Thinking first."""
    edits = [{"type": "clear_tool_uses_20250919"}, {"type": "clear_thinking_20251015", "keep": "all"}]
    with pytest.raises(anthropic.BadRequestError, match="first"):
        go_on(claude, GO_ON, betas=EDITING, context_management={"edits": edits})
    with pytest.raises(anthropic.BadRequestError, match="context-management-2025-06-27"):
        go_on(claude, GO_ON, betas=THRESHOLD, context_management={"edits": edits[:1]})


def test_the_conversation_must_still_fit(claude: Any, play: Callable[..., Served]) -> None:
    """A compaction call overflows like any other."""
    play(models={MODEL: ModelRow(window=50)})
    with pytest.raises(anthropic.BadRequestError, match="prompt is too long"):
        compact(claude, [*HISTORY, {"role": "user", "content": "word " * 100}])
