"""One event loop per process, in a thread of its own; Celery's threads hand their jobs to it and wait."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import CancelledError
from typing import Any, TypeVar

from precompact_shared import prices
from precompact_shared.clock import monotonic_s
from precompact_shared.engine.tokens import warm_up
from precompact_shared.errors import Configuration
from precompact_shared.patience import await_layout
from precompact_shared.settings import Settings
from precompact_shared.store import AsyncStore, async_client, sync_client
from precompact_worker.run import Ref, Runner
from precompact_worker.tools import Ended

T = TypeVar("T")
DRAIN_GRACE_S = 1.0
"""What a job that is nearly done gets before it is put back."""
SPARE_CONNECTIONS = 8


class LoopThread:
    """An asyncio loop that runs in a daemon thread until stopped."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=name, daemon=True)
        self._thread.start()

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs a coroutine there and waits for its result in this thread."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def later(self, delay_s: float, act: Any) -> None:
        """Calls `act()` on the loop after a delay; returns at once. Safe from a signal handler."""
        self._loop.call_soon_threadsafe(self._loop.call_later, delay_s, act)

    def stop(self) -> None:
        """Ends the loop and its thread."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=2.0)
        if not self._thread.is_alive():
            self._loop.close()


class Runtime:
    """What a worker process holds: the loop, a Redis client on it, and the runner."""

    def __init__(self, settings: Settings) -> None:
        if settings.state_redis_url is None or settings.broker_url is None:
            raise Configuration("Set PRECOMPACT_STATE_REDIS_URL and PRECOMPACT_BROKER_URL for a worker.")
        with sync_client(settings.state_redis_url) as client:
            layout = await_layout(client, settings.shards)
        warm_up()
        prices.warm_up()
        self.is_draining = False
        self._threads = LoopThread("jobs")
        connections = settings.worker_concurrency + SPARE_CONNECTIONS
        self._client = async_client(settings.state_redis_url, max_connections=connections)
        self._runner = Runner(AsyncStore(self._client), layout, settings, now_s=monotonic_s)

    def run(self, ref: Ref) -> Ended:
        """Works on a job; returns when it has ended."""
        try:
            return self._threads.call(self._runner.run(ref))
        except CancelledError:
            return Ended("cancelled")

    def drain(self) -> None:
        """Begins to put running jobs back; returns at once."""
        self.is_draining = True
        self._threads.later(DRAIN_GRACE_S, self._runner.drain)

    def close(self) -> None:
        """Ends the loop."""
        self._threads.call(self._runner.close())
        self._threads.call(self._client.aclose())
        self._threads.stop()
