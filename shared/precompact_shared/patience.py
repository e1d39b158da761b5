"""Starting before Redis does: a process waits for it and says so, instead of ending."""

from __future__ import annotations

from collections.abc import Callable

import redis
from redis.exceptions import BusyLoadingError, ConnectionError, TimeoutError  # noqa: A004 - redis-py's names

from precompact_shared.clock import monotonic_s, sleep_s
from precompact_shared.errors import Unavailable
from precompact_shared.logging import get_logger
from precompact_shared.store.connection import Layout, fix_layout

log = get_logger()
POLL_S = 0.2
SAY_AGAIN_S = 10.0


def await_layout(
    client: redis.Redis, shards: int, *, keep_waiting: Callable[[], bool] = lambda: True
) -> Layout:
    """The layout, as soon as the state Redis answers. Raises `Unavailable` when told to wait no longer."""
    say_at_s = 0.0
    while keep_waiting():
        try:
            return fix_layout(client, shards)
        except (ConnectionError, TimeoutError, BusyLoadingError, OSError):
            if monotonic_s() >= say_at_s:
                log.warning("waiting for the state Redis")
                say_at_s = monotonic_s() + SAY_AGAIN_S
            sleep_s(POLL_S)
    raise Unavailable("Stopped before the state Redis answered.")
