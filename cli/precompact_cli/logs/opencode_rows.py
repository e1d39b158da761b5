"""Messages of OpenCode 2, one row each with a type of its own, in the shape that OpenCode 1 gave them."""

from __future__ import annotations

import base64
from typing import Any

from precompact_cli.logs.lines import listed, record, text_of

Item = dict[str, Any]
"""A message: `info` and `parts`."""
_GIVEN = frozenset({"synthetic", "skill"})
"""Texts that OpenCode puts into the conversation as if the user had said them."""


def item_of(kind: str, name: str, data: dict[str, Any]) -> Item | None:
    """The message of a row; None where it is nothing that a model sees."""
    match kind:
        case "user":
            texts = [_text(data.get("text"))]
            return _item(
                "user", name, data, [*texts, *(_file(record(one)) for one in listed(data.get("files")))]
            )
        case "assistant":
            return _reply(name, data)
        case "system":
            return _item("system", name, data, [_text(data.get("text"))])
        case "shell":
            output = text_of(record(data.get("output")).get("output")) or ""
            return _item("user", name, data, [_text(f"$ {text_of(data.get('command')) or ''}\n{output}")])
        case "compaction" if data.get("status") == "completed":
            parts = [_text(data.get("summary")), _text(data.get("recent"))]
            return _item("checkpoint", name, data, parts, reason=data.get("reason"))
        case "idle" if data.get("outcome") == "interrupted":
            return _item("stopped", name, data, [])
        case _ if kind in _GIVEN:
            return _item("user", name, data, [_text(data.get("text"))])
        case _:
            return None


def _item(role: str, name: str, data: dict[str, Any], parts: list[Any], **more: Any) -> Item:
    info = {"id": name, "role": role, "time": data.get("time"), "tokens": data.get("tokens"), **more}
    return {"info": info, "parts": parts}


def _reply(name: str, data: dict[str, Any]) -> Item:
    parts = [_part(record(one)) for one in listed(data.get("content"))]
    failed = text_of(record(data.get("error")).get("type"))
    error = {"name": "MessageAbortedError" if failed == "aborted" else failed} if failed else None
    model = record(data.get("model")).get("id")
    return _item("assistant", name, data, parts, modelID=model, error=error)


def _text(text: Any) -> Item:
    return {"type": "text", "text": text}


def _part(part: dict[str, Any]) -> Item:
    if part.get("type") != "tool":
        return part
    state = record(part.get("state"))
    given = [record(one) for one in listed(state.get("content"))]
    texts = [text_of(one.get("text")) for one in given]
    outcome = "\n".join(filter(None, [text_of(record(state.get("error")).get("message")), *texts]))
    told: dict[str, Any] = {key: state[key] for key in ("status", "input") if key in state}
    if state.get("status") in {"completed", "error"}:
        told["output"] = outcome
    told["attachments"] = [_file(one) for one in given if one.get("type") == "file"]
    pruned = record(part.get("time")).get("pruned")
    return {
        "type": "tool",
        "tool": part.get("name"),
        "callID": part.get("callID") or part.get("id"),
        "state": {**told, "time": {"compacted": pruned}},
    }


def _file(file: dict[str, Any]) -> Item:
    kind, data = text_of(file.get("mime")) or "", text_of(file.get("data")) or ""
    if kind in {"text/plain", "application/x-directory"}:
        return _text(f"[file {text_of(file.get('name')) or ''}]\n{_decoded(data)}")
    url = text_of(file.get("uri")) or f"data:{kind};base64,{data}"
    return {"type": "file", "mime": kind, "filename": file.get("name"), "url": url}


def _decoded(data: str) -> str:
    try:
        return base64.b64decode(data).decode(errors="replace")
    except ValueError:
        return ""
