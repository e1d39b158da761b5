"""Logs made for a test, and sessions read from bytes."""

from __future__ import annotations

import io
import json
from typing import Any

from precompact_cli.logs.assembling import assemble
from precompact_cli.logs.opening import recognise_log
from precompact_cli.logs.session import Session


def read(raw: bytes) -> Session:
    """The session in these bytes, whoever wrote them."""
    stream = io.BytesIO(raw)
    reader = recognise_log(stream)
    assert reader is not None
    return assemble(reader.read(stream), tool=reader.tool, wire=reader.format)


def lines(*objects: dict[str, Any]) -> bytes:
    """One object a line."""
    return b"".join(json.dumps(one).encode() + b"\n" for one in objects)


def texts(session: Session) -> list[str]:
    """What was said, as `role:text` with calls as `name()` and results as `=id`."""
    return [_told(message) for message in session.messages]


def _told(message: dict[str, Any]) -> str:
    content = message.get("content")
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
    told = " ".join(_part(one) for one in parts)
    told += "".join(f" {call['function']['name']}()" for call in message.get("tool_calls", ()))
    return f"{message.get('role', message.get('type'))}:{told}"


def _part(part: dict[str, Any]) -> str:
    match part["type"]:
        case "tool_use":
            return f"{part['name']}()"
        case "tool_result":
            return f"={part['tool_use_id']}"
        case _:
            return str(part.get("text", part["type"]))
