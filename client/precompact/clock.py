"""The client's only source of time."""

from __future__ import annotations

import asyncio
import time


def monotonic_s() -> float:
    """Seconds on a clock that never jumps; only differences mean anything."""
    return time.monotonic()


def pause(seconds: float) -> None:
    """Block this thread for `seconds`."""
    time.sleep(seconds)


async def pause_async(seconds: float) -> None:
    """Let other tasks run for `seconds`."""
    await asyncio.sleep(seconds)
