"""A request as a row of pieces in the order the model reads it: tools, system, messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import msgspec

from precompact_standin.anthropic.request import Block, Request, blocks_of
from precompact_standin.caching import Piece, fingerprint
from precompact_standin.counting import Counter

IMAGE_TOKENS = 1_600
DOCUMENT_TOKENS = 2_500
MESSAGE_TOKENS = 4
UNCACHED = ("thinking", "redacted_thinking")
"""Blocks that take no mark."""
GROUPED = ("tool_use", "tool_result", *UNCACHED)
"""Neighbours of one of these types are one step when a breakpoint looks back."""


def pieces(request: Request, messages: list[dict[str, Any]], counter: Counter) -> list[Piece]:
    """The pieces with their tokens and breakpoints; an automatic mark goes to the last piece that can take one."""
    found = [
        *_tools(request, counter),
        *_system(request, counter),
        *_messages(request, messages, counter),
    ]
    automatic = request.body.get("cache_control")
    if automatic is not None:
        _mark_last(found, str(automatic.get("ttl", "5m")))
    return found


def count(request: Request, messages: list[dict[str, Any]], counter: Counter) -> int:
    """Tokens of the request with these messages in it."""
    return sum(piece.tokens for piece in pieces(request, messages, counter))


def instruction_piece(text: str, request: Request, counter: Counter) -> Piece:
    """What a compaction puts behind the conversation."""
    return Piece(fingerprint("instruction", text), counter.text(text, request.model.factor) + MESSAGE_TOKENS)


def _tools(request: Request, counter: Counter) -> Iterator[Piece]:
    for tool in request.body.get("tools") or []:
        bare = _unmarked(tool)
        tokens = counter.text(msgspec.json.encode(bare).decode(), request.model.factor)
        yield Piece(fingerprint("tool", bare), tokens, _ttl(tool))


def _system(request: Request, counter: Counter) -> Iterator[Piece]:
    salt = [request.body.get("speed")]
    for block in blocks_of(request.body.get("system")):
        tokens = counter.text(str(block.get("text")), request.model.factor)
        yield Piece(fingerprint("system", salt, _unmarked(block)), tokens, _ttl(block))


def _messages(request: Request, messages: list[dict[str, Any]], counter: Counter) -> Iterator[Piece]:
    salt = [request.body.get("speed"), request.body.get("tool_choice"), _thinking_mode(request)]
    salt.append(any(_holds_image(block) for message in messages for block in blocks_of(message["content"])))
    for message in messages:
        overhead = MESSAGE_TOKENS
        for block in blocks_of(message["content"]):
            key = fingerprint("message", salt, message["role"], _unmarked(block))
            tokens = block_tokens(block, counter, request.model.factor) + overhead
            group = block["type"] if block["type"] in GROUPED else ""
            yield Piece(key, tokens, _block_ttl(block), group)
            overhead = 0


def block_tokens(block: Block, counter: Counter, factor: float) -> int:
    """Tokens of one block: its texts by the counter, media by flat rates."""
    kind = block.get("type")
    if kind == "image":
        return IMAGE_TOKENS
    if kind == "document" and (block.get("source") or {}).get("type") != "text":
        return DOCUMENT_TOKENS
    if kind == "tool_result" and isinstance(block.get("content"), list):
        return sum(block_tokens(part, counter, factor) for part in block["content"])
    return counter.texts(texts_of(block), factor)


def texts_of(block: Mapping[str, Any]) -> list[str]:
    """The texts of a block that the model reads."""
    kind = block.get("type")
    if kind in {"text", "thinking"}:
        return [str(block[kind])]
    if kind in {"compaction", "tool_result"} and not isinstance(block.get("content"), list):
        return [str(block.get("content") or "")]
    if kind == "tool_result":
        return [text for part in block["content"] for text in texts_of(part)]
    if kind == "tool_use":
        return [str(block["name"]), msgspec.json.encode(block["input"]).decode()]
    if kind == "document":
        return [str((block.get("source") or {}).get("data", ""))]
    if kind == "image":
        return []
    return [msgspec.json.encode(_unmarked(block)).decode()]


def _mark_last(found: list[Piece], ttl: str) -> None:
    for at in range(len(found) - 1, -1, -1):
        if found[at].group not in UNCACHED:
            found[at] = replace(found[at], ttl=found[at].ttl or ttl)
            return


def _thinking_mode(request: Request) -> Any:
    thinking = request.body.get("thinking") or {}
    return [thinking.get("type"), thinking.get("budget_tokens")]


def _holds_image(block: Block) -> bool:
    parts = block.get("content") if block.get("type") == "tool_result" else None
    return block.get("type") == "image" or any(
        part.get("type") == "image" for part in (parts if isinstance(parts, list) else [])
    )


def _unmarked(value: Any) -> Any:
    """Without cache marks, those of parts included: a mark is no content."""
    if isinstance(value, dict):
        return {name: _unmarked(content) for name, content in value.items() if name != "cache_control"}
    return [_unmarked(item) for item in value] if isinstance(value, list) else value


def _block_ttl(block: Block) -> str:
    """The mark of a block or of a part of a result: parts are not cached by themselves here."""
    parts = block.get("content") if isinstance(block.get("content"), list) else []
    return _ttl(block) or next(
        (ttl for part in parts or [] if isinstance(part, dict) and (ttl := _ttl(part))), ""
    )


def _ttl(value: Mapping[str, Any]) -> str:
    mark = value.get("cache_control")
    return str(mark.get("ttl", "5m")) if mark is not None else ""
