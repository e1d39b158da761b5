"""Answers before they go out: one body, or a row of stream events."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from precompact_standin.scenario import Fault, FaultKind

_HTML = b"<!DOCTYPE html><html><head><title>Bad gateway</title></head><body><h1>Try again later</h1></body></html>"

_PAGES: Mapping[FaultKind, tuple[int, bytes, str]] = {
    FaultKind.HTML_500: (500, _HTML, "text/html"),
    FaultKind.HTML_502: (502, _HTML, "text/html"),
    FaultKind.HTML_200: (200, _HTML, "text/html"),
    FaultKind.EMPTY_200: (200, b"", "application/json"),
}


@dataclass(frozen=True, slots=True)
class Event:
    """One server-sent event as it goes over the wire, and how many output tokens it carries."""

    data: bytes
    tokens: int = 0


def nothing() -> None:
    """The usual thing to do when an answer begins."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What goes out. `events` make it a stream; `on_begin` runs when the first byte leaves."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    media_type: str = "application/json"
    events: Sequence[Event] | None = None
    error_events: Mapping[str, bytes] = field(default_factory=dict)
    """Events for a fault in mid-stream, by its kind."""
    ping: bytes = b": still there\n\n"
    """A sign of life in a stream."""
    closing_events: int = 1
    """How many events at the end say that it is the end: a cut stream has none of them."""
    tokens: int = 0
    on_begin: Callable[[], None] = nothing

    def with_headers(self, more: Mapping[str, str]) -> Answer:
        """The same answer with further headers."""
        return replace(self, headers={**self.headers, **more})


def as_json(value: Any, **options: Any) -> Answer:
    """An answer of one JSON body."""
    return Answer(msgspec.json.encode(value), **options)


def page_of(fault: Fault) -> Answer | None:
    """What a proxy in between answers; nothing for faults of other kinds."""
    if fault.kind not in _PAGES:
        return None
    status, body, media_type = _PAGES[fault.kind]
    return Answer(body, status, media_type=fault.media_type or media_type)


def named_event(name: str, data: Any) -> bytes:
    """A server-sent event with its name."""
    return b"event: " + name.encode() + b"\ndata: " + msgspec.json.encode(data) + b"\n\n"


def slices(text: str, chars: int = 48) -> list[str]:
    """Cut a text into what single deltas carry."""
    return [text[at : at + chars] for at in range(0, len(text), chars)]
