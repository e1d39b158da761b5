"""Append throughput against the bare plain route, and appends while a job is held open (I4)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from precompact_shared.policy import Policy, ProviderName, ProviderSpec
from precompact_shared.store import reading
from precompact_shared.store.types import JobState
from tests.bench.figures import Figure, at_least, at_most, median, rounded, spread_ms
from tests.bench.ground import Cpu, Ground, open_session
from tests.bench.load import Load
from tests.bench.turns import turn
from tests.bench.wire import Line, Place, request, settle
from tests.support.waiting import eventually

CONNECTIONS = 16
BLOCKS = 9
EACH = 80
CALLS = CONNECTIONS * EACH
SIZE_BYTES = 2_000
HUGE = 1_000_000_000
PAIRS = 1_500


@dataclass(slots=True)
class _Side:
    """One of the things that are loaded in turns, and what each block brought."""

    place: Place
    paths: tuple[str, ...]
    cpu: Callable[[], Cpu]
    rates: list[float] = field(default_factory=list)
    costs: list[Cpu] = field(default_factory=list)

    def load(self, ground: Ground, block: int) -> None:
        """One block; the first warms up and does not count."""
        before = self.cpu()
        poured = ground.generator.pour(Load(self.place, self.paths, block * EACH, EACH, SIZE_BYTES))
        if block:
            self.rates.append(poured.rate)
            self.costs.append(self.cpu().since(before))

    def cpu_ms(self) -> dict[str, float]:
        """Median CPU time of a call, in the process that answers and in Redis."""
        app, store = ([cost.app_s for cost in self.costs], [cost.redis_s for cost in self.costs])
        return {name: rounded(1000 * median(each) / CALLS) for name, each in (("app", app), ("redis", store))}


def throughput(ground: Ground) -> Figure:
    """Requests a second with 16 connections: the service and both baselines in turns, first and last changing places."""
    _, place = ground.tenant()
    sessions = [f"load-{number}" for number in range(CONNECTIONS)]
    with Line(place) as line:
        for session in sessions:
            open_session(line, session, window=HUGE)
    ours = _Side(place, tuple(f"/v1/sessions/{session}/messages" for session in sessions), ground.cpu)
    bare = _Side(ground.bare, ("/append",) * CONNECTIONS, ground.bare_cpu)
    reading = _Side(ground.bare, ("/read",) * CONNECTIONS, ground.bare_cpu)
    for block in range(BLOCKS + 1):
        sides = (bare, ours, reading)
        for side in sides if block % 2 else reversed(sides):
            side.load(ground, block)
    ratios = _ratios(ours, bare)
    return at_least(
        "append_throughput",
        median(ratios),
        0.60,
        BLOCKS * CALLS,
        append_per_s=rounded(median(ours.rates)),
        bare_per_s=rounded(median(bare.rates)),
        ratios=[rounded(ratio) for ratio in ratios],
        cpu_ms_per_append=ours.cpu_ms(),
        cpu_ms_per_bare_call=bare.cpu_ms(),
        against_a_route_that_reads_the_messages={
            "ratio": rounded(median(_ratios(ours, reading))),
            "per_s": rounded(median(reading.rates)),
            "cpu_ms_per_call": reading.cpu_ms(),
        },
        connections=CONNECTIONS,
        body_bytes=SIZE_BYTES,
        messages_per_append=2,
        note="one API process, no scheduler at work; the bare route reads the body's struct only: no message, no "
        "digest, no size",
    )


def _ratios(ours: _Side, other: _Side) -> list[float]:
    return [mine / theirs for mine, theirs in zip(ours.rates, other.rates, strict=True)]


def while_held(ground: Ground) -> Figure:
    """p99 of appends to a session whose job is held open, against one without: request by request in turns."""
    slow = Policy(providers=(ProviderSpec(name=ProviderName.SCRIPTED, delay_s=600),), fallback=False)
    tenant, place = ground.tenant(slow)
    names = {"held": "with-job", "free": "without-job"}
    took: dict[str, list[float]] = {which: [] for which in names}
    with Line(place) as line:
        for session in names.values():
            open_session(line, session, window=HUGE, turns=100)
        line.call(f"/v1/sessions/{names['held']}/compact", {}).json()
        keys = ground.stack.session(tenant, names["held"])
        _wait_until_running(ground, tenant, names["held"])
        settle()
        for pair in range(PAIRS):
            at = 100 + pair
            for which in ("held", "free") if pair % 2 else ("free", "held"):
                body = {"seen": {"version": 0, "length": 1 + 2 * at}, "messages": turn(at, SIZE_BYTES)}
                answer = line.call(f"/v1/sessions/{names[which]}/messages", body)
                answer.json()
                took[which].append(answer.took_s)
        job = ground.stack.store.run(reading.jobs(keys))[-1]
        assert job.state is JobState.RUNNING, f"the job was to be held open, it is {job.state}"
        line.ask(request(place, f"/v1/sessions/{names['held']}", b"", method="DELETE"))
    held, free = spread_ms(took["held"]), spread_ms(took["free"])
    return at_most(
        "append_while_a_job_is_held",
        held["p99"] / free["p99"],
        1.2,
        2 * PAIRS,
        append_ms_held=held,
        append_ms_free=free,
        p50_ratio=rounded(held["p50"] / free["p50"]),
    )


def _wait_until_running(ground: Ground, tenant: str, session: str) -> None:
    keys = ground.stack.session(tenant, session)

    def running() -> bool:
        return any(job.state is JobState.RUNNING for job in ground.stack.store.run(reading.jobs(keys)))

    eventually(running, 30, "the job runs")
