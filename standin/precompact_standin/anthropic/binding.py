"""What a thinking block is bound to: the conversation before it, over compactions too, and its model.

A running digest goes over system, tools and every block that is no thinking. Each signature made here keeps its
value; a compaction's signature keeps the one it replaces, so kept turns behind it go on from there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from precompact_standin.anthropic.request import Block, Request, blocks_of
from precompact_standin.signing import Signer, digest

THINKING = ("thinking", "redacted_thinking")


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A thinking block that stands where it was not made."""

    path: str
    reason: str


def base_of(request: Request) -> str:
    """The digest's begin: system and the tools that are not deferred, without cache marks."""
    tools = [_unmarked(tool) for tool in request.body.get("tools") or [] if not tool.get("defer_loading")]
    return digest([[_unmarked(block) for block in blocks_of(request.body.get("system"))], tools])


def prefix_of(request: Request) -> str:
    """The digest over the whole request."""
    state = base_of(request)
    for _, _, state in _walk(request):  # noqa: B007 - the last one counts
        pass
    return state


def sign_thinking(request: Request, thinking: str) -> str:
    """The signature of a new thinking block."""
    record = {"kind": "thinking", "text": digest(thinking), "prefix": prefix_of(request)}
    return request.signer.sign({**record, "model": request.model.name})


def sign_compaction(request: Request, content: str) -> str:
    """The signature of a new compaction block."""
    record = {"kind": "compaction", "content": digest(content), "changes": digest([])}
    bound = {"base": base_of(request), "prefix": prefix_of(request), "model": request.model.name}
    return request.signer.sign({**record, **bound})


def misread(block: Block, signer: Signer, *, foreign: bool) -> bool:
    """Whether a thinking block is not as it was signed; `foreign` lets signatures of other servers pass."""
    record = signer.read(str(block["signature"]))
    if record is None:
        return not foreign
    return record.get("kind") != "thinking" or record["text"] != digest(block["thinking"])


def mismatches(request: Request) -> Iterator[Mismatch]:
    """Thinking of ours that is not behind what it was made behind, or made by another model."""
    for path, block, state in _walk(request):
        record = request.signer.read(str(block.get("signature"))) if block["type"] == "thinking" else None
        if record is None:
            continue
        if record["model"] != request.model.name:
            yield Mismatch(path, "model_binding_mismatch")
        elif record["prefix"] != state:
            yield Mismatch(path, "prefix_binding_mismatch")


def _walk(request: Request) -> Iterator[tuple[str, Block, str]]:
    """Every block, with the digest before it if it is thinking, else behind it."""
    state = base_of(request)
    for index, message in enumerate(request.messages):
        for at, block in enumerate(blocks_of(message["content"])):
            if block["type"] == "compaction" and block.get("signature"):
                state = _replaced(request, block, state)
            elif block["type"] not in THINKING:
                state = digest([state, message["role"], _unmarked(block)])
            yield f"messages.{index}.content.{at}", block, state


def _replaced(request: Request, block: Block, state: str) -> str:
    record = request.signer.read(block["signature"]) or {}
    same = record.get("base") == state and record.get("model") == request.model.name
    return str(record["prefix"]) if same else digest([state, block.get("content")])


def _unmarked(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {name: content for name, content in value.items() if name != "cache_control"}
