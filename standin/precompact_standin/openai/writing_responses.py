"""A finished response as one JSON body or as server-sent events with rising sequence numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

from precompact_standin.answers import Answer, Event, as_json, named_event, slices
from precompact_standin.scenario import Fault, FaultKind

Body = dict[str, Any]
_TERMINAL = {
    "completed": "response.completed",
    "failed": "response.failed",
    "incomplete": "response.incomplete",
}


def written(
    body: Body, *, stream: bool, fault: Fault | None, on_begin: Callable[[], None], tokens: int
) -> Answer:
    """The answer that carries `body`."""
    if not stream:
        return as_json(body, tokens=tokens, on_begin=on_begin)
    drafts = list(_drafts(body))
    deltas = sum(draft["type"].endswith(".delta") for draft in drafts)
    events = [
        Event(
            named_event(draft["type"], {**draft, "sequence_number": number}), _tokens(draft, tokens, deltas)
        )
        for number, draft in enumerate(drafts)
    ]
    return Answer(events=events, error_events=_errors(fault, len(drafts)), on_begin=on_begin, tokens=tokens)


def _tokens(draft: Body, tokens: int, deltas: int) -> int:
    return tokens // deltas if deltas and draft["type"].endswith(".delta") else 0


def _drafts(body: Body) -> Iterator[Body]:
    opening = {
        **body,
        "status": "in_progress",
        "output": [],
        "usage": None,
        "error": None,
        "incomplete_details": None,
    }
    yield {"type": "response.created", "response": opening}
    yield {"type": "response.in_progress", "response": opening}
    for index, item in zip(count(), body["output"], strict=False):
        yield from _item(index, item)
    yield {"type": _TERMINAL[body["status"]], "response": body}


def _item(index: int, item: Body) -> Iterator[Body]:
    place = {"output_index": index}
    kind = item["type"]
    opening = {**item, "status": "in_progress"} if "status" in item else dict(item)
    if kind == "message":
        opening["content"] = []
    if kind == "function_call":
        opening["arguments"] = ""
    if kind == "compaction":
        yield {"type": "response.compaction.compacting", **place, "item_id": item["id"]}
    yield {"type": "response.output_item.added", **place, "item": opening}
    if kind == "message":
        for at, part in enumerate(item["content"]):
            yield from _part({**place, "item_id": item["id"], "content_index": at}, part)
    elif kind == "function_call":
        where = {**place, "item_id": item["id"]}
        for text in slices(item["arguments"]):
            yield {"type": "response.function_call_arguments.delta", **where, "delta": text}
        done = {"arguments": item["arguments"], "name": item["name"]}
        yield {"type": "response.function_call_arguments.done", **where, **done}
    yield {"type": "response.output_item.done", **place, "item": item}


def _part(where: Body, part: Body) -> Iterator[Body]:
    text_field = "refusal" if part["type"] == "refusal" else "text"
    start = f"response.{part['type']}"
    more: Body = {"logprobs": []} if text_field == "text" else {}
    yield {"type": "response.content_part.added", **where, "part": {**part, text_field: ""}}
    for text in slices(part[text_field]):
        yield {"type": f"{start}.delta", **where, "delta": text, **more}
    yield {"type": f"{start}.done", **where, text_field: part[text_field], **more}
    yield {"type": "response.content_part.done", **where, "part": part}


def _errors(fault: Fault | None, number: int) -> dict[str, bytes]:
    """The two shapes of an error in mid-stream: flat, and nesting an `error` object."""
    code = (fault.code if fault else "") or "server_error"
    message = (fault.message if fault else "") or "The server had an error"
    detail = {"code": code, "message": message, "param": None}
    flat = {"type": "error", **detail, "sequence_number": number}
    nested = {"type": "error", "error": {"type": "server_error", **detail}, "sequence_number": number}
    return {
        FaultKind.FLAT_ERROR_EVENT: named_event("error", flat),
        FaultKind.ERROR_EVENT: named_event("error", nested),
    }
