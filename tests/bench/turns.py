"""Conversations to send: a tool call and its result a turn, about 1 KB each, no two alike."""

from __future__ import annotations

import random
from functools import cache
from typing import Any

FORMAT = "anthropic"
MODEL = "claude-sonnet-4-6"
OPENING = {"role": "user", "content": "Find out why the nightly import fails and make it work again."}
POOL = 509
"""Different texts; each gets the number of its turn besides, so that nothing can be remembered by text."""
_SENTENCES = (
    "import error value none return def class self path open read write line test assert the of and to in is "
    "config.yaml src/loader.py tests/test_loader.py KeyError: 'id' ok failed passed 0.42s {'rows': 118} -> == ( ) : , . "
    "retry connection timeout after seconds while parsing column header unexpected token expected integer got string"
)
_WORDS = _SENTENCES.split()


@cache
def text(number: int, size_bytes: int) -> str:
    """A text that looks like tool output, of about `size_bytes`."""
    rng = random.Random(number * 1_000_003 + size_bytes)
    words: list[str] = []
    left = size_bytes
    while left > 0:
        word = rng.choice(_WORDS)
        words.append(word + ("\n" if rng.random() < 0.12 else " "))
        left -= len(words[-1])
    return "".join(words)


def turn(number: int, size_bytes: int = 2_000) -> list[dict[str, Any]]:
    """An assistant's message with a call and the user message with its result; together about `size_bytes` as JSON."""
    said, found = int(size_bytes * 0.2), int(size_bytes * 0.62)
    call = f"toolu_{number:012d}"
    use = {"type": "tool_use", "id": call, "name": "Read", "input": {"file_path": f"src/module_{number}.py"}}
    words = {"type": "text", "text": f"Step {number}. {text(number % POOL, said)}"}
    result = {
        "type": "tool_result",
        "tool_use_id": call,
        "content": f"{number}: {text(number % POOL, found)}",
    }
    return [{"role": "assistant", "content": [words, use]}, {"role": "user", "content": [result]}]
