"""A9: empty and blank texts. Blank text of the assistant beside other parts passes, and so does content "" of its own."""

from __future__ import annotations

from collections.abc import Iterator

from precompact_standin.anthropic.request import Request
from precompact_standin.refusal import Refusal, broken


def empty_texts(request: Request) -> Iterator[Refusal]:
    """A9a: no text block ""."""
    for path, block in request.blocks():
        if block["type"] == "text" and block["text"] == "":
            yield broken("A9a", "messages: text content blocks must be non-empty", param=path)
    system = request.body.get("system")
    if isinstance(system, list) and any(block.get("text") == "" for block in system):
        yield broken("A9a", "system: text content blocks must be non-empty")


def blank_messages(request: Request) -> Iterator[Refusal]:
    """A9b: no message of white space alone; none of the user's (or system's) without content."""
    for index, message in enumerate(request.messages):
        content, mine = message["content"], message["role"] == "assistant"
        if not content:
            if not mine:
                yield broken(
                    "A9b", f"messages.{index}: {message['role']} messages must have non-empty content"
                )
        elif _is_blank(content):
            yield broken("A9b", "messages: text content blocks must contain non-whitespace text")


def _is_blank(content: str | list[dict[str, object]]) -> bool:
    if isinstance(content, str):
        return not content.strip()
    return all(block.get("type") == "text" and not str(block.get("text")).strip() for block in content)
