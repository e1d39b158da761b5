"""Messages of AWS event streams: lengths, headers and payload, each part under a checksum."""

from __future__ import annotations

import base64
import struct
from typing import Any
from zlib import crc32

import msgspec

MEDIA_TYPE = "application/vnd.amazon.eventstream"
_STRING = 7


def chunk(payload: dict[str, Any]) -> bytes:
    """One event of a model's reply: its JSON, packed once more as base64."""
    packed = base64.b64encode(msgspec.json.encode(payload)).decode()
    headers = {":event-type": "chunk", ":content-type": "application/json", ":message-type": "event"}
    return framed(headers, msgspec.json.encode({"bytes": packed}))


def exception(kind: str, message: str) -> bytes:
    """What a stream breaks off with, such as `throttlingException`."""
    headers = {":exception-type": kind, ":content-type": "application/json", ":message-type": "exception"}
    return framed(headers, msgspec.json.encode({"message": message}))


def framed(headers: dict[str, str], payload: bytes) -> bytes:
    """A message with text headers."""
    packed = b"".join(_header(name, value) for name, value in headers.items())
    prelude = struct.pack("!II", 16 + len(packed) + len(payload), len(packed))
    message = prelude + struct.pack("!I", crc32(prelude)) + packed + payload
    return message + struct.pack("!I", crc32(message))


def _header(name: str, value: str) -> bytes:
    label, text = name.encode(), value.encode()
    return struct.pack("!B", len(label)) + label + struct.pack("!BH", _STRING, len(text)) + text
