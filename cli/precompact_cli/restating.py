"""A conversation told in another provider's form: Anthropic's messages as Responses items, call by call."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import accumulate
from typing import Any

from precompact_cli.recording import ModelCall, Recording
from precompact_shared.engine.types import Format, Message

MODEL = "gpt-5.4"


def as_responses(recording: Recording, model: str = MODEL) -> Recording:
    """The same conversation, pace and recorded sizes as `model` would have it; of text, calls and results alone."""
    restated = [list(_items(message)) for message in recording.messages]
    at = list(accumulate(map(len, restated), initial=0))
    gaps = [
        0.0 if place else gap
        for gap, items in zip(recording.pace.gaps_s, restated, strict=True)
        for place, _ in enumerate(items)
    ]
    return replace(
        recording,
        format=Format.OPENAI_RESPONSES,
        model=model,
        tools=[_tool(tool) for tool in recording.tools or ()],
        messages=[item for items in restated for item in items],
        calls=tuple(_moved(call, at) for call in recording.calls),
        pace=replace(recording.pace, gaps_s=tuple(gaps)),
    )


def _moved(call: ModelCall, at: list[int]) -> ModelCall:
    return replace(call, prefix=at[call.prefix], end=at[call.end])


def _items(message: Message) -> Iterator[Message]:
    content = message["content"]
    for part in [{"type": "text", "text": content}] if isinstance(content, str) else content:
        yield _item(str(message["role"]), part)


def _item(role: str, part: Mapping[str, Any]) -> Message:
    match part["type"]:
        case "tool_use":
            arguments = json.dumps(part["input"], ensure_ascii=False)
            return {
                "type": "function_call",
                "call_id": part["id"],
                "name": part["name"],
                "arguments": arguments,
            }
        case "tool_result":
            return {
                "type": "function_call_output",
                "call_id": part["tool_use_id"],
                "output": part["content"],
            }
        case _:
            kind = "output_text" if role == "assistant" else "input_text"
            return {
                "type": "message",
                "role": role,
                "content": [{"type": kind, "text": part["text"]}],
            }


def _tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "function",
        "name": tool["name"],
        "description": tool["description"],
        "parameters": tool["input_schema"],
    }
