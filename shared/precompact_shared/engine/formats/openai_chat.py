"""OpenAI Chat Completions: calls on the assistant message, each result a message of its own."""

from __future__ import annotations

from typing import Any

from precompact_shared.engine.formats.media import readable, shown_call
from precompact_shared.engine.formats.reading import (
    InvalidEntry,
    as_json,
    is_blank,
    read_object,
    read_parts,
    read_text,
)
from precompact_shared.engine.types import Call, Facts, Message, Result, Role

_ROLES = {
    "system": Role.SYSTEM,
    "developer": Role.SYSTEM,
    "user": Role.USER,
    "assistant": Role.ASSISTANT,
    "tool": Role.TOOL,
    "function": Role.TOOL,
}
_TEXT = frozenset({"text", "refusal"})
_LEGACY = "legacy"
"""Kind of `function_call` on the assistant and its `function` message, which the name ties together."""


def facts(message: Any) -> Facts:
    """What one message says, without its neighbours."""
    owner = read_object(message, "")
    role = _ROLES.get(read_text(owner, "role", ""))
    if role is None:
        raise InvalidEntry("unknown_role", "role")
    if role is Role.ASSISTANT:
        return _facts_of_assistant(owner)
    blank = is_blank(read_parts(owner.get("content"), "content"), _TEXT)
    if role is Role.TOOL:
        return Facts(role, results=(_result(owner),), blank=blank)
    return Facts(role, user_turn=role is Role.USER and not blank, blank=blank)


def _facts_of_assistant(owner: dict[str, Any]) -> Facts:
    content = owner.get("content")
    empty = is_blank("" if content is None else read_parts(content, "content"), _TEXT)
    calls = _calls(owner)
    silent = not owner.get("refusal") and not owner.get("audio")
    return Facts(Role.ASSISTANT, calls, blank=empty and silent and not calls)


def _calls(owner: dict[str, Any]) -> tuple[Call, ...]:
    listed = owner.get("tool_calls") or []
    if type(listed) is not list:
        raise InvalidEntry("wrong_type", "tool_calls")
    calls = tuple(_call(value, f"tool_calls[{index}]") for index, value in enumerate(listed))
    legacy = owner.get("function_call")
    if legacy is None:
        return calls
    body = read_object(legacy, "function_call")
    name = read_text(body, "name", "function_call.")
    return (*calls, Call(name, _LEGACY, name, as_json(body.get("arguments", ""))))


def _call(value: Any, where: str) -> Call:
    owner = read_object(value, where)
    call_id = read_text(owner, "id", f"{where}.")
    kind = "custom" if owner.get("type") == "custom" else "function"
    body = read_object(owner.get(kind), f"{where}.{kind}")
    name = read_text(body, "name", f"{where}.{kind}.")
    return Call(call_id, kind, name, as_json(body.get("input" if kind == "custom" else "arguments", "")))


def _result(owner: dict[str, Any]) -> Result:
    if owner["role"] == "function":
        return Result(read_text(owner, "name", ""), _LEGACY, None, is_error=False)
    return Result(read_text(owner, "tool_call_id", ""), "function", None, is_error=False)


def plain_text(message: Message) -> str:
    """Text and calls of one message; reasoning left out."""
    texts = [readable(message.get("content")), readable(message.get("refusal"))]
    texts += [shown_call(call.name, call.arguments) for call in _calls(message)]
    return "\n".join(text for text in texts if text)


def text_of_user(message: Message) -> str:
    """The user's own text: text parts of a user message, media left out."""
    content = message.get("content")
    if message.get("role") != "user" or not isinstance(content, list):
        return content if message.get("role") == "user" and isinstance(content, str) else ""
    return "\n".join(readable(part) for part in content if part.get("type") == "text")


def user_message(text: str) -> Message:
    """A user message that says `text`."""
    return {"role": "user", "content": text}


def synthetic_result(call: Call, text: str) -> Message:
    """A tool message with the result of `call`."""
    if call.kind == _LEGACY:
        return {"role": "function", "name": call.name, "content": text}
    return {"role": "tool", "tool_call_id": call.id, "content": text}


def result_text(message: Message, result: Result) -> str:  # noqa: ARG001 - one signature for all formats
    """The text of the result, which is the whole message."""
    return readable(message.get("content"))


def one_shape(message: dict[str, Any]) -> dict[str, Any]:
    """`message` with string content as one text part."""
    content = message.get("content")
    if not isinstance(content, str):
        return message
    return {**message, "content": [{"type": "text", "text": content}]}
