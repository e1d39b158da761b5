"""Streams whose bytes are kept: what the SDKs parse and write out again is not what came."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from precompact_worker.book import Call
from precompact_worker.providers.failures import Garbled, Told
from precompact_worker.providers.speaking import heard
from precompact_worker.providers.verdicts import Failure

OPENING = frozenset({"message_start", "response.created"})


class Event(msgspec.Struct, frozen=True):
    """A server-sent event as far as it is read here; the parts keep their bytes."""

    type: str = ""
    message: msgspec.Raw = msgspec.Raw(b"null")
    content_block: msgspec.Raw = msgspec.Raw(b"null")
    delta: msgspec.Raw = msgspec.Raw(b"null")
    usage: dict[str, Any] | None = None
    response: msgspec.Raw = msgspec.Raw(b"null")
    code: str | None = None


class _Begun(msgspec.Struct, frozen=True):
    usage: dict[str, Any] | None = None


class _Ending(msgspec.Struct, frozen=True):
    stop_reason: str | None = None


class _Message(msgspec.Struct, frozen=True):
    content: list[msgspec.Raw]
    stop_reason: str | None
    usage: dict[str, Any]


async def tapped(stream: Any, idle_s: float, call: Call) -> list[Event]:
    """All events of an SDK's stream. Raises what the SDK does, `IdleTimeout`, and `Garbled` for what is no JSON.

    With the first that opens a reply `call` is open; whoever finds the end closes it.
    """
    kept: list[bytes] = []
    async with heard(stream, idle_s, kept.append) as events:
        async for event in events:
            call.is_open = call.is_open or getattr(event, "type", "") in OPENING
    try:
        return [msgspec.json.decode(data, type=Event) for data in _data_of(b"".join(kept))]
    except (msgspec.MsgspecError, UnicodeDecodeError):
        raise Garbled from None


def message_of(events: Iterable[Event]) -> bytes:
    """A message of Anthropic's out of its stream, blocks as they began. Raises `Told` where the end is missing."""
    content: list[msgspec.Raw] = []
    usage: dict[str, Any] = {}
    stop, ended = None, False
    for event in events:
        match event.type:
            case "message_start":
                usage |= _told(msgspec.json.decode(event.message, type=_Begun).usage)
            case "content_block_start":
                content.append(event.content_block)
            case "message_delta":
                stop = msgspec.json.decode(event.delta, type=_Ending).stop_reason
                usage |= _told(event.usage)
            case "message_stop":
                ended = True
    if not ended:
        raise Told(CUT_OFF)
    return msgspec.json.encode(_Message(content, stop, usage))


def response_of(events: Iterable[Event]) -> bytes:
    """The bytes of a response in its last state. Raises `Told` where that is missing, and for an error event."""
    for event in events:
        if event.type in {"response.completed", "response.failed", "response.incomplete"}:
            return bytes(event.response)
        if event.type == "error":
            raise Told(Failure(200, code=event.code or ""))
    raise Told(CUT_OFF)


CUT_OFF = Failure(None, cut_off=True)


def _told(usage: dict[str, Any] | None) -> dict[str, Any]:
    return {name: value for name, value in (usage or {}).items() if value is not None}


def _data_of(raw: bytes) -> Iterator[bytes]:
    """Data of the events of a stream; comments and `[DONE]` are none."""
    for block in raw.replace(b"\r\n", b"\n").split(b"\n\n"):
        lines = [line[5:].strip() for line in block.split(b"\n") if line.startswith(b"data:")]
        data = b"\n".join(lines)
        if data and data != b"[DONE]":
            yield data
