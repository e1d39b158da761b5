"""A load generator in a process of its own: so many kept connections, each sends its next request on the last answer."""

from __future__ import annotations

import asyncio
import multiprocessing
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Self, cast

import msgspec
import uvloop

from tests.bench.turns import turn
from tests.bench.wire import Place, body_end, request, settle

STRIDE = 1_000_000
"""Turn numbers of one connection start this far from those of the next."""


@dataclass(frozen=True, slots=True)
class Load:
    """One block: connection `k` appends turns `[first, first + each)` to the path of its own."""

    place: Place
    paths: Sequence[str]
    first: int
    each: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Poured:
    """What came of it: requests a second, and how long each took."""

    rate: float
    took_s: list[float]


class Generator:
    """The process; a context manager."""

    def __init__(self) -> None:
        self._pool = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown()

    def pour(self, load: Load) -> Poured:
        """Runs one block and waits for it."""
        return self._pool.submit(pour, load).result()


def pour(load: Load) -> Poured:
    """The same in this process. Raises AssertionError when a single answer is no success."""
    prepared = [_requests(load, number) for number in range(len(load.paths))]
    settle()
    return uvloop.run(_pour(load.place, prepared))


def _requests(load: Load, number: int) -> list[bytes]:
    return [
        request(load.place, load.paths[number], _append_body(number, at, load.size_bytes))
        for at in range(load.first, load.first + load.each)
    ]


def _append_body(number: int, at: int, size_bytes: int) -> bytes:
    seen = {"version": 0, "length": 1 + 2 * at}
    return msgspec.json.encode({"seen": seen, "messages": turn(number * STRIDE + at, size_bytes)})


async def _pour(place: Place, prepared: list[list[bytes]]) -> Poured:
    loop = asyncio.get_running_loop()
    lines = [_Connection(requests, loop) for requests in prepared]
    for line in lines:
        await loop.create_connection(lambda line=line: line, place.host, place.port)  # type: ignore[misc]
    begun = time.perf_counter()
    for line in lines:
        line.send()
    await asyncio.gather(*(line.done for line in lines))
    spent_s = time.perf_counter() - begun
    took_s = [each for line in lines for each in line.took_s]
    return Poured(len(took_s) / spent_s, took_s)


class _Connection(asyncio.Protocol):
    def __init__(self, requests: list[bytes], loop: asyncio.AbstractEventLoop) -> None:
        self.took_s: list[float] = []
        self.done: asyncio.Future[None] = loop.create_future()
        self._requests = iter(requests)
        self._received = bytearray()
        self._sent_at = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is none by class

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.done.done():
            self.done.set_exception(AssertionError("the server closed a connection under load"))

    def send(self) -> None:
        following = next(self._requests, None)
        if following is None:
            self.done.set_result(None)
            self._transport.close()
            return
        self._sent_at = time.perf_counter()
        self._transport.write(following)

    def data_received(self, data: bytes) -> None:
        self._received += data
        if body_end(self._received) < 0:
            return
        self.took_s.append(time.perf_counter() - self._sent_at)
        if not self._received.startswith(b"HTTP/1.1 20"):
            self.done.set_exception(AssertionError(bytes(self._received[:400])))
            return
        self._received.clear()
        self.send()
