"""Keeping a job ours while work on it goes on, and stopping that work when it is not ours any more."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from types import TracebackType
from typing import Self

from redis.exceptions import RedisError

from precompact_shared.store.ops import Announcement
from precompact_shared.store.types import Answer

BACKOFF_FIRST_S = 0.05
BACKOFF_MOST_S = 1.0
Beat = Callable[[Announcement | None], Awaitable[Answer]]


class LeaseLost(Exception):
    """The job is no longer ours: stop, store nothing. `reason` is the store's word for it."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Lease:
    """Beats every third of the lease while the `async with` body runs; cancels the body when the lease is lost.

    A store that does not answer is asked again until the lease must have run out. Leaving raises `LeaseLost` if
    that is why the body ended. `now_s` is a monotonic clock.
    """

    def __init__(self, beat: Beat, *, lease_s: float, now_s: Callable[[], float]) -> None:
        self._beat = beat
        self._lease_s = lease_s
        self._now_s = now_s
        self._good_until_s = now_s() + lease_s
        self._lost: str | None = None
        self._body: asyncio.Task[object] | None = None
        self._beater: asyncio.Task[None] | None = None
        self._cancelling = 0

    @property
    def left_s(self) -> float:
        """Seconds the job is surely still ours."""
        return max(0.0, self._good_until_s - self._now_s())

    async def __aenter__(self) -> Self:
        self._body = asyncio.current_task()
        self._cancelling = self._body.cancelling() if self._body else 0
        self._beater = asyncio.create_task(self._beat_on())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        if self._beater:
            self._beater.cancel()
            with suppress(asyncio.CancelledError):
                await self._beater
        if self._lost is None or self._body is None:
            return
        ours = self._body.uncancel() <= self._cancelling
        if ours and kind is not None and issubclass(kind, asyncio.CancelledError):
            raise LeaseLost(self._lost)

    async def announce(self, announcement: Announcement) -> None:
        """Tells where the job will cut; raises `LeaseLost` if that no longer makes sense."""
        await self._renew(announcement)

    async def beat(self) -> None:
        """A heartbeat out of turn, with whatever news a beat carries; raises `LeaseLost`."""
        await self._renew(None)

    async def _beat_on(self) -> None:
        while self._lost is None:
            await asyncio.sleep(self._lease_s / 3)
            try:
                await self._renew(None)
            except LeaseLost as lost:
                self._lost = lost.reason
                if self._body:
                    self._body.cancel()

    async def _renew(self, announcement: Announcement | None) -> None:
        pause_s = BACKOFF_FIRST_S
        while True:
            asked_s = self._now_s()
            try:
                answer = await self._beat(announcement)
            except (RedisError, OSError):
                if self.left_s <= 0:
                    raise LeaseLost("lease_expired") from None
                await asyncio.sleep(min(pause_s, self.left_s + BACKOFF_FIRST_S))
                pause_s = min(pause_s * 2, BACKOFF_MOST_S)
                continue
            if answer.o != "ok":
                raise LeaseLost(answer.reason or answer.o)
            self._good_until_s = asked_s + self._lease_s
            return
