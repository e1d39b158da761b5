"""Asking a store that may be restarting."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from redis.exceptions import ConnectionError, TimeoutError  # noqa: A004 - redis-py's names

from precompact_shared.store.executor import AsyncStore
from precompact_shared.store.op import Op

T = TypeVar("T")
PAUSE_FIRST_S = 0.05
PAUSE_MOST_S = 1.0


async def patiently(store: AsyncStore, op: Op[T], *, for_s: float, now_s: Callable[[], float]) -> T:
    """Runs an op, again and again while Redis does not answer, for so many seconds at most.

    An op may have been done although its answer was lost: use it for those that may be repeated.
    """
    end_s, pause_s = now_s() + for_s, PAUSE_FIRST_S
    while True:
        try:
            return await store.run(op)
        except (ConnectionError, TimeoutError, OSError):
            if now_s() + pause_s >= end_s:
                raise
        await asyncio.sleep(pause_s)
        pause_s = min(pause_s * 2, PAUSE_MOST_S)
