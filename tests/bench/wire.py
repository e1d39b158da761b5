"""HTTP/1.1 over one kept connection, as thin as it gets, so that the client's own time stays out of what is measured."""

from __future__ import annotations

import gc
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import msgspec

END = b"\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Place:
    """Where requests go, and as whom."""

    host: str
    port: int
    key: str = ""

    @classmethod
    def of(cls, base_url: str, key: str = "") -> Place:
        """The place of a base URL."""
        host, _, port = base_url.removeprefix("http://").partition(":")
        return cls(host, int(port), key)


@dataclass(frozen=True, slots=True)
class Answer:
    """A response, how long it took from the first byte sent to the last one read, and how many bytes went by."""

    status: int
    body: bytes
    took_s: float
    sent_bytes: int
    read_bytes: int

    def json(self) -> dict[str, Any]:
        """The body. Raises AssertionError unless the call went well: a refusal must not be measured."""
        assert 200 <= self.status < 300, f"HTTP {self.status}: {self.body[:300]!r}"
        told: dict[str, Any] = msgspec.json.decode(self.body)
        return told


def request(
    place: Place, path: str, body: bytes, *, method: str = "POST", headers: Mapping[str, str] | None = None
) -> bytes:
    """The bytes of a request."""
    more = "".join(f"{name}: {value}\r\n" for name, value in (headers or {}).items())
    return (
        f"{method} {path} HTTP/1.1\r\nHost: {place.host}:{place.port}\r\nAuthorization: Bearer {place.key}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n{more}\r\n"
    ).encode() + body


def body_end(received: bytes | bytearray) -> int:
    """Where the first response in `received` ends; -1 while it is not complete."""
    head_end = received.find(END)
    if head_end < 0:
        return -1
    head = bytes(received[:head_end]).lower()
    at = head.find(b"content-length:")
    length = int(head[at + 15 :].split(b"\r\n", 1)[0]) if at >= 0 else 0
    end = head_end + len(END) + length
    return end if len(received) >= end else -1


class Line:
    """One kept connection; a context manager."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self._socket = socket.create_connection((place.host, place.port), timeout=120)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()

    def ask(self, sent: bytes) -> Answer:
        """Sends the bytes of one request and reads its response."""
        received = bytearray()
        begun = time.perf_counter()
        self._socket.sendall(sent)
        while (end := body_end(received)) < 0:
            part = self._socket.recv(262_144)
            assert part, "the server closed the connection"
            received += part
        took_s = time.perf_counter() - begun
        head_end = received.find(END)
        return Answer(int(received[9:12]), bytes(received[head_end + 4 : end]), took_s, len(sent), end)

    def call(
        self, path: str, value: Any, *, method: str = "POST", headers: Mapping[str, str] | None = None
    ) -> Answer:
        """The same with a JSON value as body."""
        return self.ask(request(self.place, path, msgspec.json.encode(value), method=method, headers=headers))


def settle() -> None:
    """Takes the garbage out before a measurement, so that none is collected within."""
    gc.collect()
    gc.freeze()
