"""Append throughput against the bare plain route, and appends while a job is held open (I4)."""

from __future__ import annotations

from precompact_shared.policy import Policy, ProviderName, ProviderSpec
from precompact_shared.store import reading
from precompact_shared.store.types import JobState
from tests.bench.figures import Figure, at_least, at_most, median, rounded, spread_ms
from tests.bench.ground import Ground, open_session
from tests.bench.load import Load
from tests.bench.turns import turn
from tests.bench.wire import Line, request, settle
from tests.support.waiting import eventually

CONNECTIONS = 16
BLOCKS = 7
EACH = 120
SIZE_BYTES = 2_000
HUGE = 1_000_000_000
PAIRS = 1_500


def throughput(ground: Ground) -> Figure:
    """Requests a second with 16 connections: A B B A …, median of the ratios of neighbouring blocks."""
    _, place = ground.tenant()
    sessions = [f"load-{number}" for number in range(CONNECTIONS)]
    with Line(place) as line:
        for session in sessions:
            open_session(line, session, window=HUGE)
    ours_at = tuple(f"/v1/sessions/{session}/messages" for session in sessions)
    ours, bare, ratios, costs = [], [], [], []
    for block in range(-1, BLOCKS):  # the first pair warms up and does not count
        first = (block + 1) * EACH
        mine = Load(place, ours_at, first, EACH, SIZE_BYTES)
        other = Load(ground.bare, ("/append",) * CONNECTIONS, first, EACH, SIZE_BYTES)
        before, bare_before = ground.cpu(), ground.bare_cpu()
        if block % 2:
            poured = ground.generator.pour(mine)
            between = ground.cpu(), ground.bare_cpu()
            baseline = ground.generator.pour(other)
            spent, bare_spent = between[0].since(before), ground.bare_cpu().since(between[1])
        else:
            baseline = ground.generator.pour(other)
            between = ground.cpu(), ground.bare_cpu()
            poured = ground.generator.pour(mine)
            spent, bare_spent = ground.cpu().since(between[0]), between[1].since(bare_before)
        if block < 0:
            continue
        ours.append(poured.rate)
        bare.append(baseline.rate)
        ratios.append(poured.rate / baseline.rate)
        costs.append((spent.api_s, spent.redis_s, bare_spent.api_s, bare_spent.redis_s))
    calls = CONNECTIONS * EACH
    api_ms, redis_ms, bare_ms, bare_redis_ms = (
        rounded(1000 * median(column) / calls) for column in zip(*costs, strict=True)
    )
    return at_least(
        "append_throughput",
        median(ratios),
        0.60,
        BLOCKS * calls,
        append_per_s=rounded(median(ours)),
        bare_per_s=rounded(median(bare)),
        ratios=[rounded(ratio) for ratio in ratios],
        connections=CONNECTIONS,
        body_bytes=SIZE_BYTES,
        messages_per_append=2,
        cpu_ms_per_append={"api": api_ms, "redis": redis_ms},
        cpu_ms_per_bare_call={"app": bare_ms, "redis": bare_redis_ms},
        note="one API process, no scheduler at work; the bare route counts no tokens and takes no digests",
    )


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
