"""The size of the next request: what is reported counts, what follows is estimated, and each session teaches."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from precompact_shared.engine.estimate import (
    EMPTY,
    Lessons,
    Piece,
    Rates,
    Report,
    Source,
    Span,
    State,
    begin,
    forget,
    learn,
    load_of,
    observe,
    pack,
    predict,
    rates_of,
    span_of,
    unpack,
)
from precompact_shared.engine.tokens import IMAGE_TOKENS, count_message
from precompact_shared.engine.types import Format, Message
from tests.support.recordings import Recording, cases, needs_recordings

CLAUDE = rates_of(Format.ANTHROPIC, "claude-opus-4-6")
DROPPING = rates_of(Format.ANTHROPIC, "claude-sonnet-4-5-20250929")
GPT = rates_of(Format.OPENAI_RESPONSES, "gpt-5.5")
LINE = "The build failed because a dependency of the worker was pinned twice.\n"


def said(role: str, text: str) -> Piece:
    """One Anthropic message of plain text."""
    return load_of(Format.ANTHROPIC, {"role": role, "content": text})


def called(number: int) -> Message:
    """An assistant's message that calls a tool."""
    part = {"type": "tool_use", "id": f"call-{number}", "name": "read", "input": {"path": f"src/{number}.py"}}
    return {"role": "assistant", "content": [part]}


def answered(number: int, text: str) -> Message:
    """The result of that call."""
    return {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": f"call-{number}", "content": text}],
    }


def step(number: int, lines: int = 30) -> Span:
    """A call and its result."""
    messages = (called(number), answered(number, LINE * lines))
    return span_of(load_of(Format.ANTHROPIC, one) for one in messages)


def reply(text: str, **more: Any) -> Piece:
    """One Responses message of the model."""
    return load_of(
        Format.OPENAI_RESPONSES,
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}], **more},
    )


def asked(text: str) -> Piece:
    """One Responses message of the user."""
    return load_of(Format.OPENAI_RESPONSES, {"type": "message", "role": "user", "content": text})


def reported(rates: Rates, total: int, *, output: int = -1, reasoned: int = -1) -> State:
    """A session right after its first report."""
    return observe(begin(rates), rates, Report(total, output=output, reasoned=reasoned), EMPTY)


# --------------------------------------------------------------------------------------------------- what a size says


def test_with_nothing_after_it_the_report_is_the_size() -> None:
    """No estimate is mixed in."""
    size = predict(reported(CLAUDE, 43_763), CLAUDE, EMPTY)
    assert (size.tokens, size.source, size.spread) == (43_763, Source.REPORTED, 0)


def test_what_follows_a_report_is_added_and_called_an_estimate() -> None:
    """Thirty lines of prose are some 500 tokens for Claude, more than for o200k."""
    size = predict(reported(CLAUDE, 40_000), CLAUDE, step(1))
    assert size.source is Source.EXTENDED
    assert 40_400 < size.tokens < 40_700
    assert size.spread is not None
    assert 0 < size.spread < 500


def test_without_a_report_the_size_is_said_to_be_unknown() -> None:
    """It is what we hold, system prompt and tools not among it, and nobody knows how far off."""
    size = predict(begin(CLAUDE), CLAUDE, step(1))
    assert (size.source, size.spread) == (Source.ESTIMATED, None)
    assert 400 < size.tokens < 700


@pytest.mark.parametrize("total", [0, -5])
def test_an_empty_report_changes_nothing(total: int) -> None:
    """Aborted and failed calls report zeros."""
    state = reported(CLAUDE, 40_000)
    assert observe(state, CLAUDE, Report(total), step(1)) == state


def test_a_report_from_before_an_adoption_is_no_base() -> None:
    """It may well come late; the calibration survives the adoption."""
    state = observe(reported(CLAUDE, 184_000), CLAUDE, Report(184_600), step(1))
    adopted = forget(state, version=3)
    assert adopted.factors == state.factors
    late = observe(adopted, CLAUDE, Report(184_915, version=2), EMPTY)
    assert late == adopted
    assert predict(late, CLAUDE, step(1)).source is Source.ESTIMATED
    again = observe(late, CLAUDE, Report(28_617, version=3), EMPTY)
    assert predict(again, CLAUDE, EMPTY).tokens == 28_617
    assert (again.factors, again.carried) == (state.factors, 0.0)


@needs_recordings()
@pytest.mark.recordings
@pytest.mark.parametrize("case", cases("count-"), ids=lambda case: case.name)
def test_the_summary_calls_own_usage_is_not_the_contexts_size(case: Recording) -> None:
    """count-01: after a summary call of 150,000 tokens two short messages stay two short messages."""
    content = case.load()
    assert content["op"] == "usage of the summary call: input 150000"
    context = span_of(load_of(Format.ANTHROPIC, message) for message in content["input"])
    before = reported(CLAUDE, 149_000)
    adopted = forget(before, version=1)
    after = observe(adopted, CLAUDE, Report(150_000, version=0), context)
    assert predict(after, CLAUDE, context).tokens < 100
    measured = observe(after, CLAUDE, Report(4_321, version=1), context)
    assert predict(measured, CLAUDE, EMPTY).tokens == 4_321


# ------------------------------------------------------------------------------------------------------- what it holds


def test_an_image_costs_the_same_however_large_its_base64_is() -> None:
    """410,000 characters as text would be 50 times too much."""
    source = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo" * 40_000}
    piece = load_of(Format.ANTHROPIC, {"role": "user", "content": [{"type": "image", "source": source}]})
    size = predict(reported(CLAUDE, 10_000), CLAUDE, span_of([piece]))
    assert size.tokens == 10_000 + IMAGE_TOKENS


def test_base64_that_a_tool_printed_is_text() -> None:
    """The model reads it, two to three characters a token, and it does not stall the count."""
    text = "QUJD0123+/xyzKLM" * 20_000
    piece = load_of(Format.ANTHROPIC, answered(1, text))
    tokens = predict(reported(CLAUDE, 1_000), CLAUDE, span_of([piece])).tokens - 1_000
    assert len(text) / 4 < tokens < len(text)


def test_chinese_is_not_counted_four_characters_a_token() -> None:
    """It is one to two characters a token."""
    text = "不要修改配置文件，先运行测试。" * 200
    tokens = predict(reported(CLAUDE, 1_000), CLAUDE, span_of([said("user", text)])).tokens - 1_000
    assert len(text) / 2 < tokens < len(text) * 1.5


def test_hidden_thinking_weighs_by_its_signature() -> None:
    """Newer Claudes withhold the text; 9,928 characters of signature came with some 3,000 tokens."""
    newer = rates_of(Format.ANTHROPIC, "claude-opus-4-7")
    part = {"type": "thinking", "thinking": "", "signature": "A" * 9_928}
    piece = load_of(Format.ANTHROPIC, {"role": "assistant", "content": [part]})
    assert 2_000 < predict(reported(newer, 50_000), newer, span_of([piece])).tokens - 50_000 < 3_500


def test_calls_that_were_never_answered_leave_with_the_next_user_message() -> None:
    """No provider takes them: clients leave the message out."""
    pieces = [load_of(Format.ANTHROPIC, called(1)), said("user", "Stop. What did you do?")]
    alone = span_of([said("assistant", ""), said("user", "Stop. What did you do?")])
    state = reported(CLAUDE, 10_000)
    assert predict(state, CLAUDE, span_of(pieces)).tokens == predict(state, CLAUDE, alone).tokens
    open_yet = predict(state, CLAUDE, span_of(pieces[:1])).tokens
    assert open_yet > 10_050


# ----------------------------------------------------------------------------------------------------------- reasoning


def test_reported_reasoning_is_in_the_next_prompt() -> None:
    """The transcript does not hold it."""
    state = reported(GPT, 20_000, reasoned=800)
    assert 20_800 < predict(state, GPT, span_of([reply("Looking.")])).tokens < 20_830


def test_reasoning_is_told_from_the_output_where_no_report_parts_it() -> None:
    """What the visible reply does not explain."""
    state = reported(GPT, 20_000, output=805)
    assert predict(state, GPT, span_of([reply("Looking.")])).tokens == 20_805


def test_reasoning_leaves_when_a_new_turn_begins() -> None:
    """The prompt shrinks, though a message came."""
    state = reported(GPT, 20_000, reasoned=5_000)
    tool = load_of(
        Format.OPENAI_RESPONSES, {"type": "function_call_output", "call_id": "1", "output": LINE * 10}
    )
    looped = observe(
        state,
        GPT,
        Report(25_200, reasoned=100),
        span_of([reply("Looking."), tool]),
    )
    ended = span_of([reply("Done."), asked("Now the next thing.")])
    assert predict(looped, GPT, ended).tokens < 20_300


def test_reasoning_stays_when_the_user_only_steers() -> None:
    """A message between two results does not end the turn."""
    state = reported(GPT, 20_000, reasoned=5_000)
    tool = load_of(Format.OPENAI_RESPONSES, {"type": "function_call_output", "call_id": "1", "output": "ok"})
    steered = span_of([reply("Looking."), tool, asked("And mind the tests.")])
    assert predict(state, GPT, steered).tokens > 25_000


def test_system_text_behind_a_reply_belongs_to_the_turn_that_begins() -> None:
    """Clients put it in front of the user's message: the reasoning before leaves. Behind a result it only steers."""
    state = reported(GPT, 20_000, reasoned=5_000)
    told = load_of(Format.OPENAI_RESPONSES, {"role": "developer", "content": "Ask before you write."})
    tool = load_of(Format.OPENAI_RESPONSES, {"type": "function_call_output", "call_id": "1", "output": "ok"})
    begun = span_of([reply("Done."), told, asked("Now the next thing.")])
    steered = span_of([reply("Looking."), tool, told, asked("And mind the tests.")])
    assert predict(state, GPT, begun).tokens < 20_100
    assert predict(state, GPT, steered).tokens > 25_000


def test_what_the_providers_own_searches_found_is_expected() -> None:
    """The prompt holds it and no entry does, so no entry's size does either. One that tells no action found nothing."""
    state, silent = reported(GPT, 20_000, reasoned=0), {"type": "web_search_call", "status": "completed"}
    searched = {**silent, "action": {"type": "search", "query": "pinned twice"}}
    one, none = load_of(Format.OPENAI_RESPONSES, searched), load_of(Format.OPENAI_RESPONSES, silent)
    found = predict(state, GPT, span_of([one, one, reply("Found.")])).tokens
    assert found - predict(state, GPT, span_of([none, none, reply("Found.")])).tokens == pytest.approx(
        2 * GPT.search, abs=60
    )
    assert GPT.search > 5_000
    assert count_message(Format.OPENAI_RESPONSES, searched, "gpt-5.5") < 60


def test_a_model_that_keeps_its_reasoning_is_found_out() -> None:
    """After two turns that did not shrink the prompt, the third is not expected to."""
    total, state = 20_000, reported(GPT, 20_000, reasoned=1_000)
    turn = span_of([reply("Done."), asked("Next.")])
    for _ in range(3):
        total += 1_006
        state = observe(state, GPT, Report(total, reasoned=1_000), turn)
    assert state.leaves < 0.3
    assert predict(state, GPT, turn).tokens > total + 300


def test_reasoning_that_outlives_its_turn_is_text_like_any_other() -> None:
    """What one turn's end did not take, the next one's does not take either."""
    state = reported(GPT, 20_000, reasoned=2_000)
    turn = span_of([reply("Done."), asked("Next.")])
    kept = observe(state, GPT, Report(22_010, reasoned=0), turn)
    assert kept.carried == 0
    assert predict(kept, GPT, turn).tokens > 22_000


def test_reasoning_that_no_prompt_holds_is_found_out() -> None:
    """Chat Completions report it and leave it out: after a few calls it is not expected any more."""
    chat, total = rates_of(Format.OPENAI_CHAT, "gpt-5.5"), 20_000
    call = {"id": "c", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    pieces = [
        load_of(Format.OPENAI_CHAT, {"role": "assistant", "content": None, "tool_calls": [call]}),
        load_of(Format.OPENAI_CHAT, {"role": "tool", "tool_call_id": "c", "content": LINE * 10}),
    ]
    state, span = reported(chat, total, reasoned=600), span_of(pieces)
    visible = round(chat.parts(span.total)[0] + chat.parts(span.total)[2])
    first = predict(state, chat, span).tokens - total - visible
    for _ in range(5):
        total += visible
        state = observe(state, chat, Report(total, reasoned=600), span)
    assert first == pytest.approx(600, abs=1)
    assert abs(predict(state, chat, span).tokens - total - visible) < 60


def test_a_response_without_a_reasoning_item_did_not_reason() -> None:
    """The Responses API names each piece of reasoning; chat messages do not, so there it is always expected."""
    state, tool = reported(GPT, 20_000, reasoned=0), {"type": "function_call_output", "call_id": "1"}
    result = load_of(Format.OPENAI_RESPONSES, {**tool, "output": "ok"})
    thought = load_of(Format.OPENAI_RESPONSES, {"type": "reasoning", "summary": []})
    silent = span_of([reply("Looking."), result, reply("And again.")])
    reasoned = span_of([reply("Looking."), result, thought, reply("And again.")])
    least, most = predict(state, GPT, silent), predict(state, GPT, reasoned)
    assert most.tokens - least.tokens == pytest.approx(state.root_reasoning**2, abs=1)
    assert least.spread is not None
    assert most.spread is not None
    assert least.spread < most.spread


def test_reported_thoughts_of_other_models_are_not_expected_in_the_prompt() -> None:
    """Gemini CLI sends none back."""
    gemini = rates_of(Format.OPENAI_CHAT, "gemini-2.5-flash")
    answer = load_of(Format.OPENAI_CHAT, {"role": "assistant", "content": "Done."})
    assert predict(reported(gemini, 9_000, reasoned=500), gemini, span_of([answer])).tokens < 9_010


def test_older_thinking_leaves_where_the_model_drops_it() -> None:
    """Sonnet 4.5 drops it at a new turn, Opus 4.6 keeps it."""
    part = {"type": "thinking", "thinking": LINE * 100, "signature": "s"}
    pieces = [
        load_of(
            Format.ANTHROPIC, {"role": "assistant", "content": [part, {"type": "text", "text": "Done."}]}
        ),
        said("user", "Next."),
    ]
    dropped = predict(reported(DROPPING, 9_000), DROPPING, span_of(pieces)).tokens
    kept = predict(reported(CLAUDE, 9_000), CLAUDE, span_of(pieces)).tokens
    assert dropped < 9_100
    assert kept > 10_500


def test_one_long_reasoning_does_not_spoil_the_next_ten() -> None:
    """The running mean gives way slowly."""
    state, total = reported(GPT, 20_000, reasoned=30), 20_000
    for reasoned in [30] * 10 + [8_000]:
        total += 35 + max(0, state.reasoned)
        state = observe(state, GPT, Report(total, reasoned=reasoned), span_of([reply("Looking.")]))
    state = observe(state, GPT, Report(total + 8_035, reasoned=30), span_of([reply("Looking.")]))
    assert state.root_reasoning**2 < 70


# ------------------------------------------------------------------------------------------------------------ learning


def play(rates: Rates, factor: float, hidden: int, steps: int) -> tuple[State, int]:
    """A session whose prompts grow by `factor` times the family's estimate and `hidden` tokens a step."""
    state, total = reported(rates, 20_000), 20_000
    for number in range(steps):
        span = step(number, lines=5 + 60 * (number % 4))
        total += round(factor * sum(rates.parts(span.total))) + hidden
        state = observe(state, rates, Report(total), span)
    return state, total


@pytest.mark.parametrize(("factor", "hidden"), [(0.85, 0), (1.15, 0), (1.1, 60)])
def test_a_session_learns_its_own_rate(factor: float, hidden: int) -> None:
    """Twenty growths bring the error of the next one from up to 18 % below 4 %."""
    state, total = play(CLAUDE, factor, hidden, 20)
    span = step(99, lines=100)
    grown = round(factor * sum(CLAUDE.parts(span.total))) + hidden
    assert abs(predict(state, CLAUDE, span).tokens - total - grown) < 0.04 * grown


def test_one_hidden_jump_teaches_next_to_nothing() -> None:
    """40,000 tokens that no entry explains are the client's doing, not the tokenizer's."""
    state, total = play(CLAUDE, 1.0, 0, 10)
    jumped = observe(state, CLAUDE, Report(total + 40_000), step(50))
    assert all(abs(new - old) < 0.05 for new, old in zip(jumped.factors, state.factors, strict=True))
    assert predict(jumped, CLAUDE, EMPTY).tokens == total + 40_000


def test_a_cut_by_the_client_teaches_nothing() -> None:
    """A prompt that falls by 156,000 tokens says nothing about the tokenizer."""
    state, total = play(CLAUDE, 1.0, 0, 10)
    cut = observe(state, CLAUDE, Report(total // 8), step(50))
    assert (cut.factors, cut.doubt, cut.carried) == (state.factors, state.doubt, 0.0)


def test_a_reply_with_server_side_tools_is_a_base_and_teaches_nothing() -> None:
    """Its report holds results that no transcript does."""
    state, total = play(CLAUDE, 1.0, 0, 10)
    searched = observe(state, CLAUDE, Report(total + 9_000, inner_calls=True), step(50))
    assert (searched.base, searched.factors) == (total + 9_000, state.factors)


def test_a_new_session_starts_from_its_tenants_lessons() -> None:
    """Twelve sessions at 1.15 bring most of it to the thirteenth's first step."""
    lessons = Lessons()
    for _ in range(12):
        lessons = learn(lessons, play(CLAUDE, 1.15, 0, 20)[0])
    assert lessons.sessions == 12
    assert begin(CLAUDE, lessons).factors[0] > 1.08
    assert begin(CLAUDE).factors == (1.0, 1.0, 1.0)


def test_a_session_that_reported_little_teaches_its_tenant_nothing() -> None:
    """Its factors are hardly more than what it began with."""
    assert learn(Lessons(), play(CLAUDE, 1.3, 0, 3)[0]) == Lessons()


# -------------------------------------------------------------------------------------------------------------- shape


def test_the_state_survives_packing() -> None:
    """It fits into one field of a hash, to six digits."""
    state, total = play(CLAUDE, 1.1, 30, 15)
    packed = pack(state)
    assert len(packed) < 300
    span = step(99)
    assert predict(unpack(packed), CLAUDE, span) == predict(state, CLAUDE, span)
    assert unpack(packed).base == total


@pytest.mark.parametrize("packed", ["", "[]", "{}", '["a"]'])
def test_what_is_no_packed_state_is_refused(packed: str) -> None:
    """With one kind of error."""
    with pytest.raises(msgspec.DecodeError):
        unpack(packed)


def test_a_span_does_not_grow_with_its_entries() -> None:
    """A hundred steps are as small as one."""
    one, many = (
        step(1),
        span_of(
            load_of(Format.ANTHROPIC, message)
            for number in range(100)
            for message in (called(number), answered(number, LINE))
        ),
    )
    assert len(msgspec.json.encode(many)) < len(msgspec.json.encode(one)) + 40


@pytest.mark.parametrize(
    ("format_", "model", "name"),
    [
        (Format.ANTHROPIC, None, "claude from 4.7 on"),
        (Format.ANTHROPIC, "claude-opus-4-7", "claude from 4.7 on"),
        (Format.ANTHROPIC, "claude-fable-5", "claude from 4.7 on"),
        (Format.ANTHROPIC, "claude-opus-4-5-20251101", "claude up to 4.6"),
        (Format.ANTHROPIC, "claude-sonnet-4-6", "claude up to 4.6"),
        (Format.ANTHROPIC, "claude-sonnet-4-20250514", "claude up to 4.5, dropping thinking"),
        (Format.OPENAI_CHAT, "anthropic/claude-haiku-4.5", "claude up to 4.5, dropping thinking"),
        (Format.OPENAI_CHAT, None, "gpt"),
        (Format.OPENAI_RESPONSES, "openai.gpt-5.5", "gpt"),
        (Format.OPENAI_RESPONSES, "o4-mini-2025-04-16", "gpt"),
        (Format.OPENAI_CHAT, "gemini-2.5-flash", "other"),
        (Format.OPENAI_CHAT, "litellm_proxy/deepseek-chat", "other"),
    ],
)
def test_a_models_family_is_told_by_its_name(format_: Format, model: str | None, name: str) -> None:
    """The format's newest where nobody named one."""
    assert rates_of(format_, model).name == name
