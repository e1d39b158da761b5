"""A recorded conversation in a provider's format, read from a JSON file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from precompact_cli.exits import InputRefused
from precompact_cli.pacing import Pace, read_pace
from precompact_shared.engine.formats import InvalidEntry, facts
from precompact_shared.engine.types import Format, Message, Role

SAMPLE = Path(__file__).with_name("sample") / "session.json"
"""The session that ships: written for this purpose, a recording of nobody."""
_SHAPE = '{"format": "anthropic" | "openai-chat" | "openai-responses", "messages": [...]}'
_MOST_BYTES = 512 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class ModelCall:
    """One call of the model: it saw `messages[:prefix]`, and `messages[:end]` holds its reply."""

    prefix: int
    end: int
    reported: int | None = None
    """The whole prompt in tokens, as the provider counted it."""
    output: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """One conversation and when its model was called."""

    name: str
    format: Format
    model: str | None
    system: Any
    tools: Any
    messages: list[Message]
    calls: tuple[ModelCall, ...]
    pace: Pace
    left_out: int = 0
    """Recorded calls that do not continue the list of messages and are not played."""


def read_recording(path: Path) -> Recording:
    """The recording in a file. Raises InputRefused, which says what is wrong and what to do."""
    body = _object(path)
    wire = _format(body)
    messages = _messages(body, wire)
    calls, left_out = _calls(body.get("usage"), wire, messages)
    model = body.get("model")
    return Recording(
        name=str(body.get("name") or path.stem),
        format=wire,
        model=model if isinstance(model, str) else None,
        system=body.get("system"),
        tools=body.get("tools"),
        messages=messages,
        calls=calls,
        pace=read_pace(_list(body.get("timestamps")), len(messages)),
        left_out=left_out,
    )


def _object(path: Path) -> Mapping[str, Any]:
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise InputRefused("The file is larger than 512 MB; give it in parts.")
        raw = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise InputRefused("The file is no UTF-8 text; a recording is JSON.") from None
    except OSError as error:
        raise InputRefused(f"The file cannot be read ({error.strerror}); check its path.") from None
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError):
        raise InputRefused(_no_json(raw)) from None
    if isinstance(body, list):
        raise InputRefused(f"The file holds a bare list; wrap it and name its format: {_SHAPE}.")
    if not isinstance(body, dict):
        raise InputRefused(f"The file holds no recording; it should look like {_SHAPE}.")
    return body


def _no_json(raw: str) -> str:
    lines = [line for line in raw.splitlines()[:2] if line.strip()]
    if len(lines) == 2 and all(line.lstrip().startswith("{") for line in lines):
        return (
            f"The file holds one JSON object a line, as agents log; this version reads one object: {_SHAPE}."
        )
    return f"The file is not valid JSON; it should look like {_SHAPE}."


def _format(body: Mapping[str, Any]) -> Format:
    try:
        return Format(body.get("format", ""))
    except ValueError:
        raise InputRefused(f"`format` has to be one of: {', '.join(Format)}.") from None


def _messages(body: Mapping[str, Any], wire: Format) -> list[Message]:
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise InputRefused("`messages` has to be a list with at least one message or item in it.")
    for index, message in enumerate(messages):
        try:
            facts(wire, message)
        except InvalidEntry as error:
            raise InputRefused(
                f"messages[{index}] is no message of the format {wire} ({error.code}); correct it or `format`."
            ) from None
    return messages


def _calls(usage: Any, wire: Format, messages: Sequence[Message]) -> tuple[tuple[ModelCall, ...], int]:
    recorded = [entry for entry in _list(usage) if isinstance(entry, dict) and not entry.get("endpoint")]
    if not recorded:
        return tuple(_spoken(wire, messages)), 0
    calls: list[ModelCall] = []
    for entry in recorded:
        call = _recorded(entry, len(messages))
        if call is not None and call.prefix >= (calls[-1].end if calls else 1):
            calls.append(call)
    return tuple(calls), len(recorded) - len(calls)


def _recorded(entry: Mapping[str, Any], count: int) -> ModelCall | None:
    prefix, produced = entry.get("prefix"), _list(entry.get("produced"))
    if type(prefix) is not int or not 0 < prefix <= count:
        return None
    end = max((index + 1 for index in produced if type(index) is int), default=prefix)
    reported, output = entry.get("total_input"), entry.get("output")
    return ModelCall(
        prefix,
        min(max(end, prefix), count),
        reported if type(reported) is int and reported > 0 else None,
        output if type(output) is int else 0,
    )


def _spoken(wire: Format, messages: Sequence[Message]) -> list[ModelCall]:
    """Without recorded calls every run of the assistant's messages is the reply to one."""
    spoke = [facts(wire, message).role is Role.ASSISTANT for message in messages] + [False]
    calls: list[ModelCall] = []
    start: int | None = None
    for index, speaks in enumerate(spoke):
        if speaks and start is None:
            start = index
        elif not speaks and start is not None:
            calls.append(ModelCall(max(start, 1), index))
            start = None
    return [call for call in calls if call.prefix < call.end]


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
