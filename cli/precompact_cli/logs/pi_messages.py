"""pi's messages in the words of the Anthropic format."""

from __future__ import annotations

from typing import Any

from precompact_cli.logs.lines import listed, record, text_of
from precompact_shared.engine.types import Message


def user_of(said: Any) -> Message:
    """A user's message: text, pi's message, or a command the user ran with its output."""
    message = record(said)
    if message.get("role") == "bashExecution":
        return _user(
            f"Ran `{text_of(message.get('command')) or ''}`\n```\n{text_of(message.get('output')) or ''}\n```"
        )
    if "summary" in message:
        return _user(text_of(message.get("summary")) or "")
    content = message.get("content") if message else said
    if isinstance(content, str):
        return _user(content)
    return {"role": "user", "content": [_part(one) for one in listed(content)]}


def reply_of(message: dict[str, Any]) -> Message:
    """An assistant's message; one that was broken off may be empty."""
    content = message.get("content")
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else listed(content)
    return {"role": "assistant", "content": [_part(one) for one in parts]}


def result_of(message: dict[str, Any]) -> Message:
    """A tool's result as a part of a user's message."""
    result = {
        "type": "tool_result",
        "tool_use_id": message.get("toolCallId"),
        "content": [_part(one) for one in listed(message.get("content"))],
    }
    return {**result, "is_error": True} if message.get("isError") is True else result


def _user(text: str) -> Message:
    return {"role": "user", "content": [{"type": "text", "text": text}]}


def _part(part: Any) -> Any:
    known = record(part)
    match known.get("type"):
        case "text":
            return {"type": "text", "text": known.get("text")}
        case "thinking":
            signature = known.get("thinkingSignature")
            signed = {"signature": signature} if signature else {}
            return {"type": "thinking", "thinking": known.get("thinking"), **signed}
        case "toolCall":
            name, given = known.get("name"), known.get("arguments")
            return {"type": "tool_use", "id": known.get("id"), "name": name, "input": given}
        case "image":
            source = {"type": "base64", "media_type": known.get("mimeType"), "data": known.get("data")}
            return {"type": "image", "source": source}
        case _:
            return part
