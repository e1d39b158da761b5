"""A finished message as one JSON body or as server-sent events."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from precompact_standin.answers import Answer, Event, as_json, named_event, slices

Body = dict[str, Any]


def written(
    message: Body, *, stream: bool, errors: dict[str, bytes], on_begin: Callable[[], None], tokens: int
) -> Answer:
    """The answer that carries `message`."""
    if not stream:
        return as_json(message, tokens=tokens, on_begin=on_begin)
    return Answer(
        events=list(_events(message, tokens)),
        error_events=errors,
        ping=_event("ping").data,
        on_begin=on_begin,
        tokens=tokens,
    )


def _events(message: Body, tokens: int) -> Iterator[Event]:
    usage = message["usage"]
    start_usage = {name: value for name, value in usage.items() if name != "iterations"}
    opening = {**message, "content": [], "stop_reason": None, "stop_sequence": None}
    opening.pop("stop_details", None)
    opening.pop("context_management", None)
    yield _event("message_start", message={**opening, "usage": {**start_usage, "output_tokens": 0}})
    yield _event("ping")
    deltas = [list(_block_events(at, block)) for at, block in enumerate(message["content"])]
    per_event = tokens // max(1, sum(map(len, deltas)))
    for events in deltas:
        yield from (Event(event.data, per_event) for event in events)
    yield _event("message_delta", **_ending(message), usage=_delta_usage(usage))
    yield _event("message_stop")


def _ending(message: Body) -> Body:
    delta = {"stop_reason": message["stop_reason"], "stop_sequence": message["stop_sequence"]}
    if "stop_details" in message:
        delta["stop_details"] = message["stop_details"]
    more = {name: message[name] for name in ("context_management",) if name in message}
    return {"delta": delta, **more}


def _delta_usage(usage: Body) -> Body:
    names = (
        "input_tokens",
        "cache_creation_input_tokens",
        "cache_read_input_tokens",
        "output_tokens",
        "iterations",
    )
    return {name: usage[name] for name in names if name in usage}


def _block_events(at: int, block: Body) -> Iterator[Event]:
    opening, deltas = _taken_apart(block)
    yield _event("content_block_start", index=at, content_block=opening)
    for delta in deltas:
        yield _event("content_block_delta", index=at, delta=delta)
    yield _event("content_block_stop", index=at)


def _taken_apart(block: Body) -> tuple[Body, list[Body]]:
    """The block as it begins, and the deltas that complete it."""
    kind = block["type"]
    if kind == "text":
        return {**block, "text": ""}, [{"type": "text_delta", "text": text} for text in slices(block["text"])]
    if kind == "thinking":
        thoughts = [{"type": "thinking_delta", "thinking": text} for text in slices(block["thinking"])]
        signed = {"type": "signature_delta", "signature": block["signature"]}
        return {**block, "thinking": "", "signature": ""}, [*thoughts, signed]
    if kind == "tool_use":
        text = msgspec.json.encode(block["input"]).decode()
        parts = [{"type": "input_json_delta", "partial_json": part} for part in slices(text)]
        return {**block, "input": {}}, parts
    if kind == "compaction" and "signature" not in block:
        return {"type": "compaction", "content": None}, [
            {"type": "compaction_delta", "content": block["content"]}
        ]
    return block, []


def _event(name: str, **fields: Any) -> Event:
    return Event(named_event(name, {"type": name, **fields}))
