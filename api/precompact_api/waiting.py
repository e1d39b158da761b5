"""Waiting for something to happen to a session.

One reader of the shards' streams per process, and only while somebody waits. A waiter registers first and looks at
the session afterwards, so that nothing falls in between.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import redis.asyncio
from redis.exceptions import RedisError

from precompact_shared.logging import get_logger
from precompact_shared.store import Layout

BLOCK_MS = 5_000
"""Below the socket timeout."""
SAFETY_S = 2.0
"""A waiter looks again after this long even without an event: streams may be trimmed."""
RETRY_S = 0.2


class _Head(msgspec.Struct):
    tenant: str
    session: str
    t: str = ""


_head = msgspec.json.Decoder(_Head).decode
_OF_NO_INTEREST = frozenset({"size"})


Places = dict[bytes | str | memoryview, int | bytes | str | memoryview]


class Watch:
    """One waiter's bell."""

    def __init__(self) -> None:
        self._rung = asyncio.Event()

    def ring(self) -> None:
        """Something happened to the session."""
        self._rung.set()

    async def next(self, timeout_s: float) -> None:
        """Returns when something happened, or after `timeout_s`, or now and then to look again."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._rung.wait(), min(max(timeout_s, 0.0), SAFETY_S))
        self._rung.clear()


class Waiting:
    """The waiters of this process and their reader."""

    def __init__(self, client: redis.asyncio.Redis, layout: Layout) -> None:
        self._client = client
        self._streams = [shard.events.encode() for shard in layout.all_shards()]
        self._watches: dict[tuple[str, str], set[Watch]] = {}
        self._reader: asyncio.Task[None] | None = None
        self._places: Places = {}
        self._opening = asyncio.Lock()

    @contextlib.asynccontextmanager
    async def watch(self, tenant: str, session: str) -> AsyncIterator[Watch]:
        """A bell for a session; whatever happens after entering rings it."""
        watch = Watch()
        self._watches.setdefault((tenant, session), set()).add(watch)
        try:
            await self._ensure_reader()
            yield watch
        finally:
            self._leave((tenant, session), watch)

    async def close(self) -> None:
        """Ends the reader."""
        if self._reader is not None:
            self._reader.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._reader

    def _leave(self, name: tuple[str, str], watch: Watch) -> None:
        watches = self._watches.get(name, set())
        watches.discard(watch)
        if not watches:
            self._watches.pop(name, None)

    async def _ensure_reader(self) -> None:
        async with self._opening:
            if self._reader is not None and not self._reader.done():
                return
            with contextlib.suppress(RedisError, OSError):
                self._places = await self._ends()
            self._reader = asyncio.create_task(self._read(), name="stream-reader")

    async def _ends(self) -> Places:
        pipe = self._client.pipeline(transaction=False)
        for stream in self._streams:
            pipe.xrevrange(stream, count=1)
        newest = await pipe.execute()
        return {
            stream: found[0][0] if found else b"0"
            for stream, found in zip(self._streams, newest, strict=True)
        }

    async def _read(self) -> None:
        while self._watches:
            try:
                if not self._places:
                    self._places = await self._ends()
                    self._ring_all()
                self._dispatch(await self._client.xread(self._places, count=500, block=BLOCK_MS))
            except (RedisError, OSError) as error:
                get_logger().warning("stream reader lost its connection", error_type=type(error).__name__)
                self._places = {}
                await asyncio.sleep(RETRY_S)

    def _dispatch(self, answer: Any) -> None:
        batches = answer.items() if isinstance(answer, dict) else answer or ()
        for stream, events in batches:
            for place, fields in events:
                self._places[stream] = place
                self._deliver(fields.get(b"e", b""))

    def _deliver(self, event: bytes) -> None:
        try:
            head = _head(event)
        except msgspec.DecodeError:
            return
        if head.t in _OF_NO_INTEREST:
            return
        for watch in self._watches.get((head.tenant, head.session), ()):
            watch.ring()

    def _ring_all(self) -> None:
        for watches in self._watches.values():
            for watch in watches:
                watch.ring()
