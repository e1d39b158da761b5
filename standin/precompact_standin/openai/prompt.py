"""A request as a row of pieces in the order the model reads it: tools, instructions, items or messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from precompact_standin.caching import Piece, Place, fingerprint
from precompact_standin.counting import Counter
from precompact_standin.models import Model
from precompact_standin.openai.request import Item, kind_of, parts_of, texts_of
from precompact_standin.signing import Signer

IMAGE_TOKENS = 1_100
FILE_TOKENS = 2_500
ITEM_TOKENS = 4
MAX_WRITES = 4


def head(body: Mapping[str, Any], counter: Counter, model: Model) -> list[Piece]:
    """Tools and instructions, with what else changes the rendered prompt from its begin."""
    found = [
        Piece(fingerprint("tool", tool), counter.text(msgspec.json.encode(tool).decode(), model.factor))
        for tool in body.get("tools") or []
    ]
    salt = [body.get("text"), (body.get("reasoning") or {}).get("effort"), body.get("response_format")]
    instructions = str(body.get("instructions") or "")
    return [
        *found,
        Piece(fingerprint("instructions", salt, instructions), counter.text(instructions, model.factor)),
    ]


def item_pieces(items: Sequence[Item], counter: Counter, model: Model, signer: Signer) -> Iterator[Piece]:
    """Items, each a piece."""
    for item in items:
        if kind_of(item) in {"compaction_trigger", "item_reference"}:
            continue
        tokens = ITEM_TOKENS + counter.texts(readable(item, signer), model.factor) + _media(item)
        yield Piece(fingerprint("item", _bare(item)), tokens, "30m" if _breakpoint(item) else "")


def message_pieces(messages: Sequence[dict[str, Any]], counter: Counter, model: Model) -> Iterator[Piece]:
    """Messages of a chat, each a piece."""
    for message in messages:
        texts = [
            str(part.get("text") or part.get("refusal") or "") for part in parts_of(message.get("content"))
        ]
        calls = [msgspec.json.encode(call).decode() for call in message.get("tool_calls") or []]
        images = sum(part.get("type") == "image_url" for part in parts_of(message.get("content")))
        tokens = ITEM_TOKENS + counter.texts([*texts, *calls], model.factor) + images * IMAGE_TOKENS
        yield Piece(fingerprint("chat", _bare(message)), tokens, "30m" if _breakpoint(message) else "")


def readable(item: Item, signer: Signer) -> list[str]:
    """What the model reads of an item: also what a compaction of ours holds."""
    if kind_of(item) == "compaction":
        return [str((signer.unseal(str(item["encrypted_content"])) or {}).get("text", ""))]
    return list(texts_of(item))


def marked(found: list[Piece], body: Mapping[str, Any], model: Model) -> list[Piece]:
    """With the breakpoints of the request's mode: implicit puts one at the end, explicit takes the marked parts."""
    options = body.get("prompt_cache_options") or {}
    ttl = (
        str(options.get("ttl") or "30m")
        if model.charges_writes
        else str(body.get("prompt_cache_retention") or "in_memory")
    )
    explicit = options.get("mode") == "explicit"
    last = len(found) - 1
    marks = [at for at, piece in enumerate(found) if piece.ttl or (at == last and not explicit)]
    kept = set(marks[-MAX_WRITES:])
    return [replace(piece, ttl=ttl if at in kept else "") for at, piece in enumerate(found)]


def place_of(workspace: str, body: Mapping[str, Any], model: Model) -> Place:
    """Where the prompt is cached: the key divides, and every stored prefix is in sight."""
    seed = fingerprint(workspace, model.name, body.get("prompt_cache_key") or "")
    return Place(seed, model.cache_min_tokens, look_back=None, every_piece=not model.charges_writes)


def _media(item: Item) -> int:
    kinds = [part.get("type") for part in parts_of(item.get("content"))] if "role" in item else []
    return kinds.count("input_image") * IMAGE_TOKENS + kinds.count("input_file") * FILE_TOKENS


def _breakpoint(holder: Mapping[str, Any]) -> bool:
    content = holder.get("content")
    return isinstance(content, list) and any("prompt_cache_breakpoint" in part for part in content)


def _bare(value: Any) -> Any:
    """Without breakpoints, ids and states: none of these is rendered."""
    if isinstance(value, dict):
        return {
            name: _bare(content)
            for name, content in value.items()
            if name not in {"prompt_cache_breakpoint", "id", "status"}
        }
    return [_bare(one) for one in value] if isinstance(value, list) else value
