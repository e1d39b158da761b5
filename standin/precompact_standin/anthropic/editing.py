"""What the server does to a conversation before the model reads it: threshold blocks, cleared results, cleared thinking."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from precompact_standin.anthropic.request import Block, blocks_of

CLEARED = "[Old tool result content cleared]"
DEFAULT_TRIGGER_TOKENS = 100_000
DEFAULT_KEEP = 3

Message = dict[str, Any]
Measure = Callable[[list[Message]], int]


@dataclass(frozen=True, slots=True)
class Edited:
    """The messages the model reads, and what was done to them."""

    messages: list[Message]
    applied: list[dict[str, Any]] = field(default_factory=list)


def from_newest_block(messages: list[Message]) -> list[Message]:
    """The messages from the newest compaction block with content on; what lies before it is left out."""
    for index in range(len(messages) - 1, -1, -1):
        content = messages[index].get("content")
        blocks: list[Block] = content if isinstance(content, list) else []
        for at, block in reversed(list(enumerate(blocks))):
            if block.get("type") == "compaction" and block.get("content") is not None:
                return [{**messages[index], "content": blocks[at:]}, *messages[index + 1 :]]
    return messages


def edited(messages: list[Message], edits: list[dict[str, Any]], measure: Measure) -> Edited:
    """Apply the clearing edits in their order; `measure` counts the request with other messages in it."""
    applied: list[dict[str, Any]] = []
    for edit in edits:
        if edit["type"] == "clear_thinking_20251015":
            messages, done = _clear_thinking(messages, edit, measure)
        elif edit["type"] == "clear_tool_uses_20250919":
            messages, done = _clear_tool_uses(messages, edit, measure)
        else:
            continue
        applied += done
    return Edited(messages, applied)


def _clear_tool_uses(
    messages: list[Message], edit: Mapping[str, Any], measure: Measure
) -> tuple[list[Message], list[dict[str, Any]]]:
    calls = _calls(messages)
    before = measure(messages)
    if not _triggered(edit.get("trigger"), before, len(calls)):
        return messages, []
    keep = (edit.get("keep") or {}).get("value", DEFAULT_KEEP)
    spared = set(edit.get("exclude_tools") or [])
    chosen = {
        call["id"]: call["name"]
        for call in calls[: max(0, len(calls) - keep)]
        if call["name"] not in spared and not _is_cleared(messages, call["id"])
    }
    inputs = edit.get("clear_tool_inputs") or False
    result = _map_blocks(messages, lambda block: _cleared(block, chosen, inputs))
    gained = before - measure(result)
    if not chosen or gained < (edit.get("clear_at_least") or {}).get("value", 0):
        return messages, []
    done = {"type": edit["type"], "cleared_tool_uses": len(chosen), "cleared_input_tokens": gained}
    return result, [done]


def _clear_thinking(
    messages: list[Message], edit: Mapping[str, Any], measure: Measure
) -> tuple[list[Message], list[dict[str, Any]]]:
    keep = edit.get("keep", {"value": 1})
    thinking = [index for index, message in enumerate(messages) if _thinks(message)]
    dropped = set() if keep == "all" else set(thinking[: max(0, len(thinking) - keep["value"])])
    if not dropped:
        return messages, []
    result = [_without_thinking(one) if at in dropped else one for at, one in enumerate(messages)]
    gained = measure(messages) - measure(result)
    return result, [
        {"type": edit["type"], "cleared_thinking_turns": len(dropped), "cleared_input_tokens": gained}
    ]


def _triggered(trigger: Mapping[str, Any] | None, tokens: int, calls: int) -> bool:
    wanted = trigger or {"type": "input_tokens", "value": DEFAULT_TRIGGER_TOKENS}
    have = calls if wanted["type"] == "tool_uses" else tokens
    return have > int(wanted["value"])


def _calls(messages: list[Message]) -> list[Block]:
    blocks = (block for message in messages for block in blocks_of(message["content"]))
    return [block for block in blocks if block["type"] == "tool_use"]


def _is_cleared(messages: list[Message], call_id: str) -> bool:
    blocks = (block for message in messages for block in blocks_of(message["content"]))
    return any(block.get("tool_use_id") == call_id and block.get("content") == CLEARED for block in blocks)


def _cleared(block: Block, chosen: Mapping[str, str], inputs: bool | list[str]) -> Block:  # noqa: FBT001 - as sent
    if block["type"] == "tool_result" and block["tool_use_id"] in chosen:
        return {**block, "content": CLEARED}
    if block["type"] == "tool_use" and block["id"] in chosen:
        clears = inputs if isinstance(inputs, bool) else block["name"] in inputs
        return {**block, "input": {}} if clears else block
    return block


def _thinks(message: Message) -> bool:
    return any(block["type"] in {"thinking", "redacted_thinking"} for block in blocks_of(message["content"]))


def _without_thinking(message: Message) -> Message:
    kept = [block for block in message["content"] if block["type"] not in {"thinking", "redacted_thinking"}]
    return {**message, "content": kept}


def _map_blocks(messages: list[Message], change: Callable[[Block], Block]) -> list[Message]:
    return [
        {**message, "content": [change(block) for block in message["content"]]}
        if isinstance(message["content"], list)
        else message
        for message in messages
    ]
