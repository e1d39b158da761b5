"""Short conversations for tests of the API."""

from __future__ import annotations

from typing import Any

WORDS = "the parser reads one line after the other and writes what it finds into the table "


def user(text: str) -> dict[str, Any]:
    """A user message."""
    return {"role": "user", "content": text}


def assistant(text: str) -> dict[str, Any]:
    """An assistant message."""
    return {"role": "assistant", "content": text}


def turns(count: int, *, start: int = 0, words: int = 1) -> list[dict[str, Any]]:
    """`count` user turns with an answer each; `words` makes them longer (about 16 tokens each)."""
    said: list[dict[str, Any]] = []
    for number in range(start, start + count):
        said += [user(f"request {number}: {WORDS * words}"), assistant(f"answer {number}: {WORDS * words}")]
    return said


def call(call_id: str, name: str = "read") -> dict[str, Any]:
    """An Anthropic assistant message that calls a tool."""
    return {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": call_id, "name": name, "input": {"path": "a.py"}}],
    }


def result(call_id: str, text: str = "done") -> dict[str, Any]:
    """An Anthropic user message with a tool's result."""
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call_id, "content": text}]}
