"""Generated histories: valid conversations in each wire format, with everything that makes cutting hard.

Parallel calls, call ids that repeat across turns (but for Anthropic, which refuses that), thinking and reasoning, split and mixed result messages, images,
emoji and Chinese, neighbours of one role, system text at the head; on request an open call at the end.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count

from hypothesis import strategies as st

from precompact_shared.engine.types import Entry, Format, Message

_PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
_WORDS = (
    "please look at src/app.py",
    "the tests must stay green",
    "never touch the lock file 🙂",
    "不要修改配置文件。",
    "it fails with ValueError: bad input",
    "I ran it and all is well 👩‍👩‍👧‍👦",
    "line one\nline two",
    "nur kurz nachsehen, bitte nichts ändern",
)
_TOOLS = (
    ("Read", {"file_path": "src/app.py"}),
    ("Edit", {"file_path": "src/cut.py", "old_string": "a", "new_string": "b"}),
    ("Bash", {"command": "pytest -q tests/unit"}),
    ("Grep", {"pattern": "def main"}),
)


@dataclass(frozen=True)
class Step:
    """One reply with calls, and what came back."""

    text: str
    tools: tuple[int, ...]
    """Which of the tools it calls, in parallel."""
    outputs: tuple[str, ...]
    first_id: int
    """Ids count from here, so that they repeat from step to step."""
    thinks: bool
    split: bool
    """Each result in a message of its own, where the format has a choice."""
    custom: bool
    failed: bool


@dataclass(frozen=True)
class Turn:
    """One request, the steps it took, and the answer."""

    request: str
    image: bool
    steps: tuple[Step, ...]
    answer: str
    thinks: bool
    again: str
    """A second user message right behind the first; empty for none."""


_text = st.sampled_from(_WORDS)


@st.composite
def _steps(draw: st.DrawFn) -> Step:
    tools = tuple(draw(st.lists(st.sampled_from(range(len(_TOOLS))), min_size=1, max_size=3)))
    return Step(
        text=draw(st.one_of(st.just(""), _text)),
        tools=tools,
        outputs=tuple(draw(_text) * draw(st.sampled_from((1, 1, 30))) for _ in tools),
        first_id=draw(st.integers(0, 2)),
        thinks=draw(st.booleans()),
        split=draw(st.booleans()),
        custom=draw(st.booleans()),
        failed=draw(st.booleans()),
    )


_turns = st.builds(
    Turn,
    request=_text,
    image=st.booleans(),
    steps=st.lists(_steps(), max_size=4).map(tuple),
    answer=_text,
    thinks=st.booleans(),
    again=st.one_of(st.just(""), _text),
)


@st.composite
def histories(draw: st.DrawFn, wire: Format, *, max_turns: int = 5, open_end: bool = False) -> list[Message]:
    """A history valid for `wire`; with `open_end` it may stop behind a call, its results missing in whole or part."""
    turns = draw(st.lists(_turns, min_size=1, max_size=max_turns))
    head = draw(st.booleans()) and wire is not Format.ANTHROPIC
    messages = [*(_head(wire) if head else ()), *(item for turn in turns for item in _WRITERS[wire](turn))]
    if open_end and draw(st.booleans()):
        open_turn = Turn(draw(_text), image=False, steps=(draw(_steps()),), answer="", thinks=False, again="")
        written = list(_WRITERS[wire](open_turn))[:-1]
        results = sum(1 for message in written if _is_result(message))
        messages += written[: len(written) - draw(st.integers(1, results))]
    return _with_own_ids(messages) if wire is Format.ANTHROPIC else messages


def any_history(
    *, max_turns: int = 5, open_end: bool = False
) -> st.SearchStrategy[tuple[Format, list[Message]]]:
    """A format and a history valid for it."""
    return st.sampled_from(Format).flatmap(
        lambda wire: st.tuples(st.just(wire), histories(wire, max_turns=max_turns, open_end=open_end))
    )


def entries_of(messages: Sequence[Message], *, start: int = 0) -> list[Entry]:
    """Entries with `seq` from `start`; four characters of JSON count as a token."""
    return [
        Entry(seq, message, len(json.dumps(message, ensure_ascii=False)) // 4 + 1)
        for seq, message in enumerate(messages, start)
    ]


def _is_result(message: Message) -> bool:
    content = message.get("content")
    parts = content if isinstance(content, list) else []
    in_parts = any(isinstance(part, dict) and part.get("type") == "tool_result" for part in parts)
    return in_parts or message.get("role") == "tool" or str(message.get("type")).endswith("_output")


def _head(wire: Format) -> tuple[Message, ...]:
    if wire is Format.OPENAI_CHAT:
        return ({"role": "system", "content": "You are a careful agent."},)
    text = {"type": "input_text", "text": "You are a careful agent."}
    return ({"type": "message", "role": "developer", "content": [text]},)


def _calls(step: Step) -> Iterator[tuple[str, str, dict[str, str], str]]:
    for offset, (tool, output) in enumerate(zip(step.tools, step.outputs, strict=True)):
        name, arguments = _TOOLS[tool]
        yield f"call_{step.first_id + offset}", name, arguments, output


# ------------------------------------------------------------------------------------------------------- anthropic


def _with_own_ids(messages: Sequence[Message]) -> list[Message]:
    """The same messages, no call id twice."""
    names: dict[str, str] = {}
    numbers = count()
    return [_renamed(message, names, numbers) for message in messages]


def _renamed(message: Message, names: dict[str, str], numbers: Iterator[int]) -> Message:
    if not isinstance(message["content"], list):
        return message
    parts = []
    for part in message["content"]:
        if part["type"] == "tool_use":
            names[part["id"]] = f"call_{next(numbers)}"
            parts.append({**part, "id": names[part["id"]]})
        elif part["type"] == "tool_result":
            parts.append({**part, "tool_use_id": names[part["tool_use_id"]]})
        else:
            parts.append(part)
    return {**message, "content": parts}


def _anthropic(turn: Turn) -> Iterator[Message]:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": _PIXEL}}
    text = {"type": "text", "text": turn.request}
    yield {"role": "user", "content": [text, image] if turn.image else turn.request}
    if turn.again:
        yield {"role": "user", "content": [{"type": "text", "text": turn.again}]}
    for step in turn.steps:
        yield from _anthropic_step(step)
    final = {"type": "text", "text": turn.answer}
    yield {"role": "assistant", "content": [*_thinking(turn.thinks), final]}


def _thinking(thinks: bool) -> tuple[Message, ...]:
    if not thinks:
        return ()
    return (
        {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "eHl6"},
    )


def _anthropic_step(step: Step) -> Iterator[Message]:
    said = [{"type": "text", "text": step.text}] if step.text else []
    uses = [
        {"type": "tool_use", "id": call_id, "name": name, "input": arguments}
        for call_id, name, arguments, _ in _calls(step)
    ]
    if step.split and said:
        yield {"role": "assistant", "content": [*_thinking(step.thinks), *said]}
        yield {"role": "assistant", "content": uses}
    else:
        yield {"role": "assistant", "content": [*_thinking(step.thinks), *said, *uses]}
    results = [
        {"type": "tool_result", "tool_use_id": call_id, "content": output, "is_error": step.failed}
        for call_id, _, _, output in _calls(step)
    ]
    if step.split:
        yield from ({"role": "user", "content": [result]} for result in results)
    else:
        note = [{"type": "text", "text": "a word in between"}] if step.custom else []
        yield {"role": "user", "content": [*results, *note]}


# ----------------------------------------------------------------------------------------------------- openai-chat


def _chat(turn: Turn) -> Iterator[Message]:
    image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{_PIXEL}"}}
    text = {"type": "text", "text": turn.request}
    yield {"role": "user", "content": [text, image] if turn.image else turn.request}
    if turn.again:
        yield {"role": "user", "content": turn.again}
    for step in turn.steps:
        yield from _chat_step(step)
    yield {"role": "assistant", "content": turn.answer}


def _chat_step(step: Step) -> Iterator[Message]:
    yield {
        "role": "assistant",
        "content": step.text or None,
        "tool_calls": [
            {
                "id": call_id,
                "type": "function",
                "function": {"name": name, "arguments": json.dumps(arguments)},
            }
            for call_id, name, arguments, _ in _calls(step)
        ],
    }
    for call_id, _, _, output in _calls(step):
        yield {"role": "tool", "tool_call_id": call_id, "content": output}


# ------------------------------------------------------------------------------------------------ openai-responses


def _responses(turn: Turn) -> Iterator[Message]:
    image = {"type": "input_image", "image_url": f"data:image/png;base64,{_PIXEL}"}
    text = {"type": "input_text", "text": turn.request}
    yield {"type": "message", "role": "user", "content": [text, image] if turn.image else [text]}
    if turn.again:
        yield {"role": "user", "content": turn.again}
    for step in turn.steps:
        yield from _responses_step(step)
    if turn.thinks:
        yield _REASONING
    yield _said(turn.answer)


_REASONING: Message = {"type": "reasoning", "summary": [], "encrypted_content": "ZW5j"}


def _said(text: str) -> Message:
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}


def _responses_step(step: Step) -> Iterator[Message]:
    if step.thinks:
        yield _REASONING
    if step.text:
        yield _said(step.text)
    kind = "custom_tool_call" if step.custom else "function_call"
    payload = "input" if step.custom else "arguments"
    for call_id, name, arguments, _ in _calls(step):
        yield {"type": kind, "call_id": call_id, "name": name, payload: json.dumps(arguments)}
    for call_id, _, _, output in _calls(step):
        yield {"type": f"{kind}_output", "call_id": call_id, "output": output}


_WRITERS = {
    Format.ANTHROPIC: _anthropic,
    Format.OPENAI_CHAT: _chat,
    Format.OPENAI_RESPONSES: _responses,
}
