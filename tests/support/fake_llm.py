"""A server that answers each request with the next thing it was told to: well-formed, broken, late or never.

It checks nothing. What a provider does with a request is the stand-in's business; here it is what a client does with answers.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

Answer = Callable[["Connection"], Any]


@dataclass(slots=True)
class Connection:
    """One request: its path, headers and body; and the way to answer it."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]
    writer: asyncio.StreamWriter

    async def send(self, status: int, body: bytes, kind: str = "application/json", **headers: str) -> None:
        """A whole response."""
        await self.begin(status, kind, **{"content-length": str(len(body)), **headers})
        await self.write(body)

    async def begin(self, status: int, kind: str, **headers: str) -> None:
        """The head alone; without a length the body ends with the connection."""
        told = {"content-type": kind, "connection": "close", **headers}
        lines = [
            f"HTTP/1.1 {status} X",
            *(f"{name.replace('_', '-')}: {value}" for name, value in told.items()),
        ]
        await self.write(("\r\n".join(lines) + "\r\n\r\n").encode())

    async def write(self, raw: bytes) -> None:
        """Some bytes, at once."""
        self.writer.write(raw)
        await self.writer.drain()

    def chunked(self, raw: bytes) -> bytes:
        """A chunk of a chunked body."""
        return f"{len(raw):x}\r\n".encode() + raw + b"\r\n"


@dataclass(slots=True)
class FakeLLM:
    """An async context manager; `url` is where it listens. The last answer is given again and again."""

    answers: list[Answer]
    requests: list[Connection] = field(default_factory=list)
    url: str = ""
    _server: asyncio.Server | None = None
    _open: set[asyncio.Task[None]] = field(default_factory=set)

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._open:
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            headers = {
                name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:]) if name
            }
            raw = await reader.readexactly(int(headers.get("content-length", "0")))
            connection = Connection(head[0].split(" ")[1], headers, json.loads(raw or b"{}"), writer)
            self.requests.append(connection)
            answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
            await answer(connection)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()
            self._open.discard(task)


def events(named: list[tuple[str, dict[str, Any]]]) -> bytes:
    """Server-sent events with names."""
    return b"".join(f"event: {name}\ndata: {json.dumps(data)}\n\n".encode() for name, data in named)


def failing(status: int, body: Any, **headers: str) -> Answer:
    """An error: a JSON body, or bytes of HTML."""

    async def answer(to: Connection) -> None:
        if isinstance(body, bytes):
            await to.send(status, body, "text/html", **headers)
        else:
            await to.send(status, json.dumps(body).encode(), **headers)

    return answer


def streaming(raw: bytes, *, ends: str = "well", **headers: str) -> Answer:
    """A stream of these bytes; `ends`: well, early (the connection breaks inside the body), or never."""

    async def answer(to: Connection) -> None:
        await to.begin(200, "text/event-stream", transfer_encoding="chunked", **headers)
        await to.write(to.chunked(raw))
        if ends == "never":
            await asyncio.Event().wait()
        if ends == "well":
            await to.write(b"0\r\n\r\n")

    return answer


async def silent(_to: Connection) -> None:
    """No answer at all, while the connection stays open."""
    await asyncio.Event().wait()


async def hanging_up(_to: Connection) -> None:
    """The connection ends without an answer."""
