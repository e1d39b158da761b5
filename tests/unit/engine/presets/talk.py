"""Small conversations for tests of presets, in the chat format, with sizes as the test wants them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from precompact_shared.engine.preset import Preset
from precompact_shared.engine.types import Entry, Format, Message

C = Format.OPENAI_CHAT


def user(text: str) -> Message:
    """What the user says."""
    return {"role": "user", "content": text}


def model(text: str) -> Message:
    """What the model says."""
    return {"role": "assistant", "content": text}


def call(call_id: str, name: str = "Read", arguments: str = '{"file_path": "src/app.py"}') -> Message:
    """A call of a tool."""
    made = {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
    return {"role": "assistant", "content": None, "tool_calls": [made]}


def result(call_id: str, text: str = "ok") -> Message:
    """What the tool answered."""
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def sized(*messages: tuple[Message, int], start: int = 0) -> list[Entry]:
    """Entries from messages with their sizes in tokens."""
    return [Entry(seq, message, tokens) for seq, (message, tokens) in enumerate(messages, start)]


def plain(messages: Sequence[Message], *, start: int = 0) -> list[Entry]:
    """Entries whose size is a token for four characters."""
    return [
        Entry(seq, one, len(str(one.get("content") or "")) // 4 + 1)
        for seq, one in enumerate(messages, start)
    ]


def with_trigger(preset: Preset, **values: Any) -> Preset:
    """The preset with other numbers in its trigger."""
    return replace(preset, trigger=replace(preset.trigger, **values))


def with_cut(preset: Preset, **values: Any) -> Preset:
    """The preset with other numbers in its cut."""
    return replace(preset, cut=replace(preset.cut, **values))


def with_injection(preset: Preset, **values: Any) -> Preset:
    """The preset with another injection."""
    return replace(preset, injection=replace(preset.injection, **values))
