"""Waiting for something to become true, with a deadline; the only way tests wait."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from precompact_shared.clock import monotonic_s, sleep_s

POLL_S = 0.005
T = TypeVar("T")


def eventually(predicate: Callable[[], T], deadline_s: float = 5.0, what: str = "the condition") -> T:
    """Polls until `predicate` is truthy and returns its value. Fails after `deadline_s`, saying what did not happen."""
    end_s = monotonic_s() + deadline_s
    while True:
        value = predicate()
        if value:
            return value
        if monotonic_s() > end_s:
            raise AssertionError(f"{what} did not come true within {deadline_s} s; last seen: {value!r}")
        sleep_s(POLL_S)


async def eventually_async(
    predicate: Callable[[], Awaitable[T]], deadline_s: float = 5.0, what: str = "the condition"
) -> T:
    """The same for a coroutine function."""
    end_s = monotonic_s() + deadline_s
    while True:
        value = await predicate()
        if value:
            return value
        if monotonic_s() > end_s:
            raise AssertionError(f"{what} did not come true within {deadline_s} s; last seen: {value!r}")
        await asyncio.sleep(POLL_S)
