"""Events a second of one scheduler against a bare consumer group read by the same client."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from precompact_shared.processes import signal_group
from precompact_shared.store import Create, sync_client
from precompact_shared.store.types import NewEntry, Seen
from tests.bench.figures import Figure, at_least, median, rounded
from tests.bench.ground import Cpu, Ground

SESSIONS = 4_000
"""Many, so that a batch hardly ever holds two events of one session: of those only the newest would count."""
ROUNDS = 6
EVENTS_EACH = 3
"""For each session and round."""
PIPELINE = 500
READ = 500
POLL_S = 0.04
BARE_GROUP = "bench"
SCHEDULER_GROUP = "sched"
SMALL_TOKENS, LARGE_TOKENS = 50, 60_000
CROSSING = 50
"""One session in so many crosses its start point in a round, so that a job is claimed and sent."""


@dataclass(slots=True)
class _Reader:
    """Who reads events: its rates, and the CPU time of an event in its process and in Redis."""

    cpu: Callable[[], Cpu]
    rates: list[float] = field(default_factory=list)
    costs_us: list[tuple[float, float]] = field(default_factory=list)

    def measure(self, read: Callable[[], int]) -> None:
        """One round."""
        before, begun = self.cpu(), time.perf_counter()
        events = read()
        self.note(events, time.perf_counter() - begun, self.cpu().since(before))

    def note(self, events: int, took_s: float, spent: Cpu) -> None:
        """What a round brought."""
        self.rates.append(events / took_s)
        self.costs_us.append((1e6 * spent.app_s / events, 1e6 * spent.redis_s / events))

    def told(self) -> dict[str, float]:
        """Medians without the first round."""
        own, redis = zip(*self.costs_us[1:], strict=True)
        return {
            "per_s": rounded(median(self.rates[1:])),
            "cpu_us_per_event": rounded(median(own)),
            "redis_cpu_us_per_event": rounded(median(redis)),
        }


def events_per_second(ground: Ground) -> Figure:
    """A round: the scheduler stands still, events pile up, it goes on; then the bare group reads the same events."""
    tenant, _ = ground.tenant()
    streams = [shard.events for shard in ground.stack.layout.all_shards()]
    scheduler, bare = _Reader(ground.scheduler_cpu), _Reader(ground.own_cpu)
    for stream in streams:
        ground.stack.client.xgroup_create(stream, BARE_GROUP, id="$", mkstream=True)
    _drained(ground, streams)
    for turn in range(ROUNDS):
        with _standing_still(ground):
            written = _write_events(ground, tenant, turn)
            waiting = _lag(ground, streams)
            if turn % 2:
                bare.measure(lambda: _read_bare(ground, streams))
            before = ground.scheduler_cpu()
            begun = time.perf_counter()
        _drained(ground, streams)
        scheduler.note(waiting, time.perf_counter() - begun, ground.scheduler_cpu().since(before))
        if not turn % 2:
            bare.measure(lambda: _read_bare(ground, streams))
    ratios = [ours / raw for ours, raw in zip(scheduler.rates[1:], bare.rates[1:], strict=True)]
    return at_least(
        "scheduler_events_against_a_bare_group",
        median(ratios),
        0.25,
        written * (ROUNDS - 1),
        scheduler=scheduler.told(),
        bare_group=bare.told(),
        ratios=[rounded(ratio) for ratio in ratios],
        events_a_round=written,
        share_that_claims_a_job=rounded(1 / (CROSSING * EVENTS_EACH)),
        note="first round left out; the bare group reads 500 at a time, as the scheduler does, and acknowledges, and does nothing else",
    )


@contextmanager
def _standing_still(ground: Ground) -> Iterator[None]:
    process = ground.stack.child("scheduler").process
    signal_group(process, signal.SIGSTOP)
    try:
        yield
    finally:
        signal_group(process, signal.SIGCONT)


def _write_events(ground: Ground, tenant: str, turn: int) -> int:
    """Appends one small entry at a time; `ROUNDS` x `EVENTS_EACH` for each session over the run."""
    ops = []
    for step in range(EVENTS_EACH):
        for number in range(SESSIONS):
            at = turn * EVENTS_EACH + step
            crosses = step == 0 and number % CROSSING == turn
            tokens = LARGE_TOKENS if crosses else SMALL_TOKENS
            entry = NewEntry(digest=f"{at:064x}", tokens=tokens, body=b'r{"role":"user","content":"x"}')
            made = Create("anthropic", None, 100_000, 8_000)
            ops.append(ground.stack.ops(tenant, f"e{number}").append([entry], seen=Seen(0, at), create=made))
    for at in range(0, len(ops), PIPELINE):
        ground.stack.store.run_all(ops[at : at + PIPELINE])
    return len(ops)


def _lag(ground: Ground, streams: list[str]) -> int:
    """Events the scheduler's group has not acknowledged."""
    pipe = ground.stack.client.pipeline(transaction=False)
    for stream in streams:
        pipe.xinfo_groups(stream)
    groups: list[Any] = [group for told in pipe.execute() for group in told]
    ours = [group for group in groups if group["name"] == SCHEDULER_GROUP.encode()]
    return sum(int(group["pending"]) + int(group["lag"] or 0) for group in ours)


def _drained(ground: Ground, streams: list[str]) -> None:
    """Asks seldom: each question takes time from what is measured."""
    deadline = time.perf_counter() + 120
    while _lag(ground, streams):
        assert time.perf_counter() < deadline, "the scheduler does not come to an end"
        time.sleep(POLL_S)


def _read_bare(ground: Ground, streams: list[str]) -> int:
    """Reads and acknowledges whatever there is, `READ` at a time; how many events that were."""
    places: Any = dict.fromkeys(streams, ">")
    read = 0
    with sync_client(ground.stack.state.url) as client:
        while batches := client.xreadgroup(BARE_GROUP, "one", places, count=READ):
            for stream, events in batches:
                client.xack(stream, BARE_GROUP, *[place for place, _ in events])
                read += len(events)
        return read
