"""A provider's own compaction: its block first and unchanged, a readable summary beside it for every other model."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from precompact_shared.engine.preset import Preset
from precompact_shared.engine.projection import render_insert
from precompact_shared.engine.types import Entry, Format, Message

_DATE = re.compile(r"-(?:\d{8}|\d{4}-\d{2}-\d{2}|latest)$")
_VERSION = re.compile(r"-v\d+(?::\d+)?$")
"""Bedrock's, behind its names of Anthropic's models."""


def family_of(model: str | None) -> str:
    """The models that read the same blocks: the same name without vendor, region, date and version. Empty for no model."""
    _, is_bedrocks, bare = (model or "").rsplit("/", 1)[-1].rpartition("anthropic.")
    return _DATE.sub("", _VERSION.sub("", bare) if is_bedrocks else bare)


def instructions_digest(prefix: Mapping[str, Any]) -> str:
    """Names system prompt and tools of an agent's requests (rule 7): parameters and cache marks may change as they like."""
    told = [_unmarked(prefix.get(name) or None) for name in ("system", "tools")]
    return hashlib.sha256(json.dumps(told, sort_keys=True, separators=(",", ":")).encode()).hexdigest()[:32]


def _unmarked(value: Any) -> Any:
    """Without cache marks and nulls; deeper down a tool's schema may use either word for something else."""
    if not isinstance(value, list):
        return value
    return [
        {name: told for name, told in part.items() if name != "cache_control" and told is not None}
        if isinstance(part, Mapping)
        else part
        for part in value
    ]


class NativeFault(StrEnum):
    """Why a provider's reply is no block that could stand for what it covers."""

    NO_BLOCK = "no_block"
    TWO_BLOCKS = "two_blocks"
    NOT_FIRST = "not_first"
    """Anthropic: something stands in front of the block."""
    EMPTY = "empty"
    """The block holds no summary."""
    UNSIGNED = "unsigned"
    """Anthropic: only a signed block opens a list."""
    NULL_FIELD = "null_field"
    """Anthropic: nulls are refused when the block comes back."""


@dataclass(frozen=True, slots=True)
class NativeBlock:
    """What the provider returned, byte for byte, and the model family that may read it."""

    family: str
    items: tuple[Message, ...]


def native_fault(format: Format, items: Sequence[Message]) -> NativeFault | None:  # noqa: A002
    """What is wrong with these messages (Anthropic) or items (Responses) as the opening of a list; None for nothing."""
    return _anthropic_fault(items) if format is Format.ANTHROPIC else _responses_fault(items)


def render_native(
    block: NativeBlock, pinned: Sequence[Entry], state: Sequence[Message] = ()
) -> tuple[Message, ...]:
    """The provider's messages first, the same values, then what may never be covered and what is true now."""
    return (*block.items, *(entry.message for entry in pinned), *state)


def insert_for_model(
    format: Format,  # noqa: A002
    preset: Preset,
    block: NativeBlock | None,
    summary_text: str,
    pinned: Sequence[Entry],
    *,
    family: str | None,
) -> tuple[Message, ...]:
    """The block for a model of its family, the readable summary for any other: an opaque block is nobody else's."""
    if block is not None and block.family == family:
        return render_native(block, pinned)
    return render_insert(format, preset, summary_text, pinned)


def _anthropic_fault(messages: Sequence[Message]) -> NativeFault | None:
    parts = [part for message in messages for part in _parts(message)]
    blocks = [part for part in parts if part.get("type") == "compaction"]
    if len(blocks) != 1:
        return NativeFault.TWO_BLOCKS if blocks else NativeFault.NO_BLOCK
    [block] = blocks
    if parts[0] is not block:
        return NativeFault.NOT_FIRST
    if not _is_text(block.get("content")):
        return NativeFault.EMPTY
    if any(value is None for value in block.values()):
        return NativeFault.NULL_FIELD
    return None if _is_text(block.get("signature")) else NativeFault.UNSIGNED


def _responses_fault(items: Sequence[Message]) -> NativeFault | None:
    found = [item for item in items if item.get("type") == "compaction"]
    if len(found) != 1:
        return NativeFault.TWO_BLOCKS if found else NativeFault.NO_BLOCK
    return None if _is_text(found[0].get("encrypted_content")) else NativeFault.EMPTY


def _parts(message: Message) -> list[dict[str, Any]]:
    content = message.get("content")
    return [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())
