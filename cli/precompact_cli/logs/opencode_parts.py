"""Parts of OpenCode's messages in the words of Chat Completions; what it shows and does not send is left out."""

from __future__ import annotations

import json
from typing import Any

from precompact_cli.logs.chat_media import image_part
from precompact_cli.logs.lines import listed, record, text_of
from precompact_shared.engine.types import Message

_READ_ALREADY = frozenset({"text/plain", "application/x-directory"})
"""Of such files OpenCode sends what it read from them, which is a text part of its own."""


def is_sent(info: dict[str, Any]) -> bool:
    """Whether a reply goes into the next prompt: one that failed does not, one that the user stopped does."""
    error = record(info.get("error"))
    return not error or error.get("name") == "MessageAbortedError"


def texts_of(parts: list[dict[str, Any]]) -> str:
    """All that is text."""
    return "\n".join(filter(None, map(_text, parts)))


def user_content(parts: list[dict[str, Any]]) -> Any:
    """Text alone, or a list of it and of files."""
    files = [
        _file(part) for part in parts if part.get("type") == "file" and part.get("mime") not in _READ_ALREADY
    ]
    texts = texts_of(parts)
    return [*([{"type": "text", "text": texts}] if texts else []), *files] if files else texts


def call_of(name: str, part: dict[str, Any]) -> Message:
    """A tool part's call."""
    given = record(part.get("state")).get("input")
    function = {
        "name": text_of(part.get("tool")) or "unknown",
        "arguments": json.dumps(given, ensure_ascii=False),
    }
    return {"id": name, "type": "function", "function": function}


def outcome_of(state: dict[str, Any]) -> str:
    """What a call led to; a command that was stopped on the way gave the output it had."""
    stopped = record(state.get("metadata"))
    if stopped.get("interrupted") is True and isinstance(stopped.get("output"), str):
        return str(stopped["output"])
    for key in ("output", "error"):
        if isinstance(state.get(key), str):
            return str(state[key])
    return f"[{state.get('status')}]"


def images_of(state: dict[str, Any]) -> list[Message]:
    """What a call's result showed; of other files the result's text tells."""
    files = (record(one) for one in listed(state.get("attachments")))
    return [_file(one) for one in files if str(one.get("mime")).startswith("image/")]


def _text(part: dict[str, Any]) -> str:
    if part.get("type") == "text" and part.get("ignored") is not True:
        return text_of(part.get("text")) or ""
    if part.get("type") != "subtask":
        return ""
    named = text_of(part.get("command")) or text_of(part.get("agent")) or ""
    return f"[subtask] {named}".rstrip()


def _file(part: dict[str, Any]) -> Message:
    url, kind = text_of(part.get("url")) or "", text_of(part.get("mime")) or ""
    if kind.startswith("image/"):
        return image_part(url)
    return {"type": "text", "text": f"[file {text_of(part.get('filename')) or ''}]"}
