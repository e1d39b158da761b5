"""Anthropic Messages: content blocks, calls and results as blocks of neighbouring messages."""

from __future__ import annotations

from typing import Any

from precompact_shared.engine.formats.media import readable, shown_call
from precompact_shared.engine.formats.reading import (
    InvalidEntry,
    as_json,
    is_blank,
    kind_of,
    read_object,
    read_parts,
    read_text,
)
from precompact_shared.engine.types import Call, Facts, Message, Result, Role

_ROLES = {"user": Role.USER, "assistant": Role.ASSISTANT, "system": Role.SYSTEM}
_TEXT = frozenset({"text"})
_THINKING = frozenset({"thinking", "redacted_thinking"})
_CALLS = {"tool_use": "function", "server_tool_use": "server", "mcp_tool_use": "server"}
SERVER = "server"


def facts(message: Any) -> Facts:
    """What one message says, without its neighbours."""
    owner = read_object(message, "")
    role = _ROLES.get(read_text(owner, "role", ""))
    if role is None:
        raise InvalidEntry("unknown_role", "role")
    content = read_parts(owner.get("content"), "content")
    blank = is_blank(content, _TEXT)
    if isinstance(content, str):
        return Facts(role, user_turn=role is Role.USER and not blank, blank=blank)
    return _facts_of_parts(role, content, blank=blank)


def _facts_of_parts(role: Role, parts: list[dict[str, Any]], *, blank: bool) -> Facts:
    calls: list[Call] = []
    results: list[Result] = []
    thinking: list[int] = []
    for index, part in enumerate(parts):
        kind = part["type"]
        if kind == "text":
            if type(part.get("text")) is not str:
                read_text(part, "text", f"content[{index}].")
        elif kind in _THINKING:
            thinking.append(index)
        elif kind in _CALLS:
            calls.append(_call(part, index))
        elif kind.endswith("tool_result"):
            results.append(_result(part, index))
    only_results = len(results) == len(parts)
    if role is Role.USER and results and only_results:
        role = Role.TOOL
    return Facts(
        role,
        tuple(calls),
        tuple(results),
        user_turn=role is Role.USER and not blank and _has_more_than_results(parts, results),
        thinking=tuple(thinking),
        blank=blank,
    )


def _has_more_than_results(parts: list[dict[str, Any]], results: list[Result]) -> bool:
    places = {result.part for result in results}
    return not is_blank([part for index, part in enumerate(parts) if index not in places], _TEXT)


def _call(part: dict[str, Any], index: int) -> Call:
    where = f"content[{index}]."
    name = read_text(part, "name", where)
    return Call(read_text(part, "id", where), _CALLS[part["type"]], name, as_json(part.get("input")))


def _result(part: dict[str, Any], index: int) -> Result:
    kind = "function" if part["type"] == "tool_result" else SERVER
    call_id = read_text(part, "tool_use_id", f"content[{index}].")
    return Result(call_id, kind, index, part.get("is_error") is True)


def plain_text(message: Message) -> str:
    """Texts, calls and results of one message in order; thinking left out."""
    content = message.get("content")
    if not isinstance(content, list):
        return readable(content)
    return "\n".join(text for text in map(_shown_part, content) if text)


def _shown_part(part: dict[str, Any]) -> str:
    if part.get("type") in _CALLS:
        return shown_call(str(part.get("name")), as_json(part.get("input")))
    return readable(part)


def text_of_user(message: Message) -> str:
    """The user's own text: text blocks of a user message, results and media left out."""
    content = message.get("content")
    if message.get("role") != "user" or not isinstance(content, list):
        return content if message.get("role") == "user" and isinstance(content, str) else ""
    return "\n".join(part["text"] for part in content if part.get("type") == "text")


def user_message(text: str) -> Message:
    """A user message that says `text`."""
    return {"role": "user", "content": [{"type": "text", "text": text}]}


def synthetic_result(call: Call, text: str) -> Message:
    """A user message with the result of `call`, marked as an error."""
    block = {"type": "tool_result", "tool_use_id": call.id, "content": text, "is_error": True}
    return {"role": "user", "content": [block]}


def result_text(message: Message, result: Result) -> str:
    """The text of one result block."""
    return readable(message["content"][result.part]) if result.part is not None else ""


def one_shape(message: dict[str, Any]) -> dict[str, Any]:
    """`message` with string content, its own and that of result blocks, as one text part."""
    shaped = dict(message)
    content = shaped.get("content")
    if isinstance(content, str):
        shaped["content"] = [{"type": "text", "text": content}]
    elif isinstance(content, list):
        shaped["content"] = [_one_shape_of_part(part) for part in content]
    return shaped


def _one_shape_of_part(part: Any) -> Any:
    if not isinstance(part, dict) or not isinstance(part.get("content"), str):
        return part
    if not kind_of(part).endswith("tool_result"):
        return part
    return {**part, "content": [{"type": "text", "text": part["content"]}]}
