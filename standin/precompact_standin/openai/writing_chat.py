"""A finished completion as one JSON body or as chunks that end with `[DONE]`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from precompact_standin.answers import Answer, Event, as_json, slices
from precompact_standin.scenario import Fault, FaultKind

Body = dict[str, Any]
DONE = b"data: [DONE]\n\n"


def written(
    completion: Body,
    *,
    stream: bool,
    counts: bool,
    fault: Fault | None,
    on_begin: Callable[[], None],
    tokens: int,
) -> Answer:
    """The answer that carries `completion`; a stream tells its usage only when `counts`."""
    if not stream:
        return as_json(completion, tokens=tokens, on_begin=on_begin)
    chunks = list(_chunks(completion, counts=counts))
    each = tokens // len(chunks)
    events = [*(Event(_data(chunk), each) for chunk in chunks), Event(DONE)]
    closing = 3 if counts else 2  # finish reason, usage, [DONE]
    return Answer(
        events=events,
        error_events=_errors(fault),
        closing_events=closing,
        on_begin=on_begin,
        tokens=tokens,
    )


def _chunks(completion: Body, *, counts: bool) -> Iterator[Body]:
    base = {name: completion[name] for name in ("id", "created", "model")}
    base |= {"object": "chat.completion.chunk", **({"usage": None} if counts else {})}
    (choice,) = completion["choices"]
    for delta in _deltas(choice["message"]):
        yield {**base, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    yield {**base, "choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]}
    if counts:
        yield {**base, "choices": [], "usage": completion["usage"]}


def _deltas(message: Body) -> Iterator[Body]:
    yield {"role": "assistant", "content": "" if message["content"] is not None else None}
    for text in slices(message["content"] or ""):
        yield {"content": text}
    if message["refusal"]:
        yield {"refusal": message["refusal"]}
    for index, call in enumerate(message.get("tool_calls") or []):
        function = {"name": call["function"]["name"], "arguments": ""}
        yield {"tool_calls": [{"index": index, "id": call["id"], "type": "function", "function": function}]}
        for text in slices(call["function"]["arguments"]):
            yield {"tool_calls": [{"index": index, "function": {"arguments": text}}]}


def _data(value: Any) -> bytes:
    return b"data: " + msgspec.json.encode(value) + b"\n\n"


def _errors(fault: Fault | None) -> dict[str, bytes]:
    """Chat streams break off with an `error` object; the flat shape belongs to Responses and is the same here."""
    code = (fault.code if fault else "") or "server_error"
    message = (fault.message if fault else "") or "The server had an error"
    event = _data({"error": {"type": "server_error", "code": code, "message": message, "param": None}})
    return {FaultKind.ERROR_EVENT: event, FaultKind.FLAT_ERROR_EVENT: event}
