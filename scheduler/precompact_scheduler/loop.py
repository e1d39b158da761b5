"""The loop of a scheduler: read, decide, send, acknowledge; sweep in between; go on whatever fails."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from redis.exceptions import RedisError, ResponseError

from precompact_scheduler import counters
from precompact_scheduler.deciding import Decider
from precompact_scheduler.outbox import Outbox
from precompact_scheduler.streams import Delivered, Streams
from precompact_scheduler.sweeper import Sweeper
from precompact_shared.courier import Message
from precompact_shared.events import Event, Garbage, decode_event
from precompact_shared.logging import describe_exception, get_logger

log = get_logger()
T = TypeVar("T")

BLOCK_MS = 400
"""How long a read waits; also how long a stop may take."""
READ_COUNT = 500
"""Entries of each stream in one read. Larger batches cost less for each event: of a session only the newest is decided on."""
TIDY_S = 60.0
BACKOFF_FIRST_S = 0.1
BACKOFF_MOST_S = 3.0


@dataclass(slots=True)
class Clockwork:
    """When something is to be done again; seconds of a monotonic clock."""

    every_s: float
    due_s: float = 0.0

    def is_due(self, now_s: float) -> bool:
        """True once per interval."""
        if now_s < self.due_s:
            return False
        self.due_s = now_s + self.every_s
        return True


class Scheduler:
    """One scheduler; any number may run beside it. `now_s` is a monotonic clock."""

    def __init__(
        self,
        streams: Streams,
        decider: Decider,
        outbox: Outbox,
        sweeper: Sweeper,
        *,
        sweep_s: float,
        now_s: Callable[[], float],
    ) -> None:
        self._streams = streams
        self._decider = decider
        self._outbox = outbox
        self._sweeper = sweeper
        self._now_s = now_s
        self._sweeps = Clockwork(sweep_s)
        self._tidies = Clockwork(TIDY_S)
        self._stopping = threading.Event()
        self._backoff_s = BACKOFF_FIRST_S
        self._has_groups = False

    def stop(self) -> None:
        """Ends `run` within half a second; may be called from a signal handler."""
        self._stopping.set()

    def run(self) -> None:
        """Works until stopped. Whatever fails is logged and tried again; nothing is lost by it."""
        while not self._stopping.is_set():
            try:
                self.step(block_ms=BLOCK_MS)
                self._backoff_s = BACKOFF_FIRST_S
            except Exception as error:  # noqa: BLE001 - a scheduler that ends helps nobody
                self._recover(error)
        self._leave()

    def step(self, *, block_ms: int) -> int:
        """One round; returns how many events it dealt with. Raises what Redis raises."""
        if not self._has_groups:
            self._streams.make_groups()
            self._has_groups = True
        now_s = self._now_s()
        if self._sweeps.is_due(now_s):
            self._sweep()
        if self._tidies.is_due(now_s):
            self._streams.remove_dead()
        return self._take(self._streams.read(count=READ_COUNT, block_ms=block_ms))

    def _sweep(self) -> None:
        self._take(self._streams.take_over(count=READ_COUNT))
        found = self._sweeper.look()
        self._outbox.send(found.messages + one_by_one(found.statements, self._decider.settle))
        if found.is_full:
            self._sweeps.due_s = 0.0

    def _take(self, delivered: Sequence[Delivered]) -> int:
        if not delivered:
            return 0
        self._outbox.send(one_by_one(_decoded(delivered), self._decider.take))
        self._streams.acknowledge(delivered)
        return len(delivered)

    def _recover(self, error: Exception) -> None:
        counters.FAILURES.labels("state").inc()
        facts = describe_exception(None, "", {"exc_info": error})
        log.warning("round failed, going on", pause_s=self._backoff_s, **facts)
        # A restarted Redis may have lost the groups.
        if isinstance(error, ResponseError):
            self._has_groups = False
        self._stopping.wait(self._backoff_s)
        self._backoff_s = min(self._backoff_s * 2, BACKOFF_MOST_S)

    def _leave(self) -> None:
        try:
            self._streams.leave()
        except (RedisError, OSError) as error:
            log.info("could not sign off, others will", error_type=type(error).__name__)


def one_by_one(items: Sequence[T], act: Callable[[Sequence[T]], list[Message]]) -> list[Message]:
    """`act` on all at once; if one of them is poison, on each alone, leaving that one out.

    What is left out keeps its mark and is looked at again by the sweeper. Raises what Redis raises.
    """
    try:
        return act(items)
    except (RedisError, OSError):
        raise
    except Exception as error:  # noqa: BLE001 - one session must not stop the others
        if len(items) != 1:
            return [message for item in items for message in one_by_one([item], act)]
        counters.FAILURES.labels("poison").inc()
        told: Any = items[0]
        facts = describe_exception(None, "", {"exc_info": error})
        log.error("session left out", tenant=told.tenant, session=told.session, **facts)  # noqa: TRY400
        return []


def _decoded(delivered: Sequence[Delivered]) -> list[Event]:
    events: list[Event] = []
    for entry in delivered:
        try:
            event = decode_event(entry.fields)
        except Garbage:
            log.warning(
                "no event of ours, skipped", stream=entry.stream, id=entry.id.decode(errors="replace")
            )
            continue
        events.append(event)
    counters.count_events(event.t for event in events)
    return events
