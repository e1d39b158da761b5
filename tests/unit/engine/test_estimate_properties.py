"""What holds of every estimate: it is never negative, more text is never less, and batches do not matter."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from precompact_shared.engine.estimate import (
    EMPTY,
    Report,
    Span,
    State,
    begin,
    extend,
    load_of,
    observe,
    predict,
    rates_of,
    span_of,
)
from precompact_shared.engine.types import Format, Message
from tests.support.recordings import needs_recordings, recordings

MODELS = {
    Format.ANTHROPIC: ("claude-opus-4-6", "claude-sonnet-4-5", "claude-opus-4-7"),
    Format.OPENAI_CHAT: ("gpt-5.3-codex", "gemini-2.5-flash"),
}
TEXT = st.text(max_size=60)


@st.composite
def conversations(draw: st.DrawFn) -> tuple[Format, str, list[Message]]:
    """A wire format, a model, and entries in any order, valid for a provider or not."""
    wire = draw(st.sampled_from(sorted(MODELS)))
    speak = _anthropic if wire is Format.ANTHROPIC else _chat
    messages = draw(st.lists(speak(), max_size=8))
    return wire, draw(st.sampled_from(MODELS[wire])), messages


def _anthropic() -> st.SearchStrategy[Message]:
    ids = st.sampled_from(["a", "b"])
    result = st.builds(lambda i, t: {"type": "tool_result", "tool_use_id": i, "content": t}, ids, TEXT)
    call = st.builds(lambda i, t: {"type": "tool_use", "id": i, "name": "read", "input": {"p": t}}, ids, TEXT)
    thinking = st.builds(lambda t: {"type": "thinking", "thinking": t, "signature": "s" * 300}, TEXT)
    text = st.builds(lambda t: {"type": "text", "text": t}, TEXT)
    return st.one_of(
        st.builds(_entry, st.just("user"), st.lists(st.one_of(text, result), min_size=1, max_size=3)),
        st.builds(
            _entry, st.just("assistant"), st.lists(st.one_of(text, call, thinking), min_size=1, max_size=3)
        ),
    )


def _chat() -> st.SearchStrategy[Message]:
    function = st.builds(lambda t: {"name": "read", "arguments": t}, TEXT)
    call = st.builds(lambda f: {"id": "a", "type": "function", "function": f}, function)
    return st.one_of(
        st.builds(_entry, st.sampled_from(["system", "user", "assistant"]), TEXT),
        st.builds(lambda c: {"role": "assistant", "content": None, "tool_calls": [c]}, call),
        st.builds(lambda t: {"role": "tool", "tool_call_id": "a", "content": t}, TEXT),
    )


def _entry(role: str, content: Any) -> Message:
    return {"role": role, "content": content}


def _span(wire: Format, messages: list[Message]) -> Span:
    return span_of(load_of(wire, message) for message in messages)


REPORTS = st.lists(
    st.builds(
        Report,
        total=st.integers(-10, 400_000),
        output=st.integers(-1, 60_000),
        reasoned=st.integers(-1, 60_000),
        inner_calls=st.booleans(),
    ),
    max_size=6,
)


def _after(wire: Format, model: str, messages: list[Message], reports: list[Report]) -> State:
    rates = rates_of(wire, model)
    state = begin(rates)
    for number, report in enumerate(reports):
        state = observe(state, rates, report, _span(wire, messages[number:]))
    return state


@given(conversations(), REPORTS)
def test_no_size_is_negative_whatever_was_reported(
    said: tuple[Format, str, list[Message]], reports: list[Report]
) -> None:
    """Nor is its spread, and every factor stays within reason."""
    wire, model, messages = said
    state = _after(wire, model, messages, reports)
    size = predict(state, rates_of(wire, model), _span(wire, messages))
    assert size.tokens >= 0
    assert size.spread is None or size.spread >= 0
    text, reasoning, structure = state.factors
    assert min(text, structure) >= 0.4
    assert reasoning >= 0  # Chat Completions report it and leave it out
    assert max(state.factors) <= 2.5
    assert 0 <= state.leaves <= 1


@given(conversations(), REPORTS, TEXT)
def test_more_text_is_never_less(
    said: tuple[Format, str, list[Message]], reports: list[Report], more: str
) -> None:
    """Text behind the last entry of the caller, and a result more: the size does not fall."""
    wire, model, messages = said
    rates, state = rates_of(wire, model), _after(wire, model, messages, reports)
    span = _span(wire, messages)
    for given_ in (_result(wire, more), {"role": "assistant", "content": more}):
        longer = extend(span, load_of(wire, given_))
        assert predict(state, rates, longer).tokens >= predict(state, rates, span).tokens


def _result(wire: Format, text: str) -> Message:
    if wire is Format.OPENAI_CHAT:
        return {"role": "tool", "tool_call_id": "a", "content": text}
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": text}]}


@given(conversations(), st.integers(0, 8))
def test_batches_do_not_matter(said: tuple[Format, str, list[Message]], cut: int) -> None:
    """A span that was stored in between goes on as if it had not been."""
    wire, _, messages = said
    pieces = [load_of(wire, message) for message in messages]
    stored = msgspec.json.decode(msgspec.json.encode(span_of(pieces[:cut])), type=Span)
    for piece in pieces[cut:]:
        stored = extend(stored, piece)
    assert stored == span_of(pieces)


@needs_recordings()
@pytest.mark.recordings
@pytest.mark.parametrize("chars", [20_000, 100_000, 300_000])
def test_how_long_text_is_parted_does_not_matter(chars: int) -> None:
    """Within 0.1 %: one text, or the same in parts."""
    longest = max(recordings(), key=lambda one: one.path.stat().st_size)
    text = longest.path.read_text(encoding="utf-8")[:900_000]
    parts = [{"type": "text", "text": text[at : at + chars]} for at in range(0, len(text), chars)]
    rates = rates_of(Format.ANTHROPIC, "claude-opus-4-6")
    whole, parted = (
        predict(begin(rates), rates, extend(EMPTY, load_of(Format.ANTHROPIC, _entry("user", content)))).tokens
        for content in ([{"type": "text", "text": text}], parts)
    )
    assert abs(parted - whole) <= 0.001 * whole
