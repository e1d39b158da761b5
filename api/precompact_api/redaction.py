"""What stands in the place of a redacted entry: role, types and call ids stay, so that pairing stays; nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from precompact_shared.engine.formats import facts as facts_of
from precompact_shared.engine.formats import synthetic_result
from precompact_shared.engine.types import Call, Format, Message

REDACTED = "[redacted]"


def redacted(format: Format, message: Message) -> Message:  # noqa: A002 - the word of the design
    """The placeholder of a message, valid in its format wherever the message was."""
    return _BY_FORMAT[format](message)


def _anthropic(message: Message) -> Message:
    content = message.get("content")
    if not isinstance(content, list):
        return {"role": message.get("role"), "content": REDACTED}
    return {"role": message.get("role"), "content": [_anthropic_part(part) for part in content]}


def _anthropic_part(part: dict[str, Any]) -> dict[str, Any]:
    kind = str(part.get("type"))
    if kind.endswith("tool_use"):
        return {"type": kind, **_only(part, "id", "name", "server_name"), "input": {}}
    if kind == "tool_result":
        return {"type": kind, **_only(part, "tool_use_id", "is_error"), "content": REDACTED}
    if kind.endswith("tool_result"):
        error = {"type": f"{kind}_error", "error_code": "unavailable"}
        return {"type": kind, "tool_use_id": part.get("tool_use_id"), "content": error}
    return {"type": "text", "text": REDACTED}


def _only(owner: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: owner[name] for name in names if name in owner}


def _chat(message: Message) -> Message:
    kept = _only(message, "role", "tool_call_id")
    if message.get("role") == "function":
        kept["name"] = message.get("name")
    calls = message.get("tool_calls")
    if calls:
        kept["tool_calls"] = [_chat_call(call) for call in calls]
    legacy = message.get("function_call")
    if isinstance(legacy, dict):
        kept["function_call"] = {"name": legacy.get("name"), "arguments": "{}"}
    return {**kept, "content": REDACTED}


def _chat_call(call: dict[str, Any]) -> dict[str, Any]:
    if call.get("type") == "custom":
        named = {"name": call["custom"].get("name"), "input": ""}
        return {"id": call.get("id"), "type": "custom", "custom": named}
    named = {"name": call["function"].get("name"), "arguments": "{}"}
    return {"id": call.get("id"), "type": "function", "function": named}


_EMPTY_PAYLOADS: dict[str, Any] = {
    "arguments": "{}",
    "input": "",
    "code": "",
    "action": {},
    "operation": {},
    "queries": [],
    "summary": [],
}
_KEPT = frozenset(
    {"type", "id", "call_id", "name", "status", "server_label", "approval_request_id", "execution"}
)


def _responses(item: Message) -> Message:
    if item.get("type", "message") == "message":
        return {"type": "message", "role": item.get("role"), "content": REDACTED}
    results = facts_of(Format.OPENAI_RESPONSES, item).results
    if results:
        call = Call(results[0].id, results[0].kind, "", "")
        return synthetic_result(Format.OPENAI_RESPONSES, call)
    kept = {name: value for name, value in item.items() if name in _KEPT}
    return kept | {name: empty for name, empty in _EMPTY_PAYLOADS.items() if name in item}


_BY_FORMAT: dict[Format, Callable[[Message], Message]] = {
    Format.ANTHROPIC: _anthropic,
    Format.OPENAI_CHAT: _chat,
    Format.OPENAI_RESPONSES: _responses,
}
