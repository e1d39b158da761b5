"""From the event that makes a job necessary to the worker that starts it."""

from __future__ import annotations

from precompact_shared.store import reading
from precompact_shared.store.types import JobTag
from tests.bench.figures import Figure, median, quantile, rounded, told
from tests.bench.ground import Ground
from tests.bench.turns import FORMAT, MODEL, OPENING, turn
from tests.bench.wire import Line
from tests.support.waiting import eventually

SESSIONS = 120
WINDOW = 100_000
TURNS = 100
"""About 70,000 tokens: beyond the start point, below the limit, so it is the scheduler who decides."""
SIZE_BYTES = 2_000


def event_to_job(ground: Ground) -> Figure:
    """One session after the other crosses its start point; times are those of Redis."""
    tenant, place = ground.tenant()
    claimed: list[float] = []
    started: list[float] = []
    with Line(place) as line:
        for number in range(SESSIONS):
            session = f"start-{number}"
            about = {"id": session, "format": FORMAT, "model": MODEL, "window": WINDOW, "max_output": 8_000}
            line.call("/v1/sessions", about).json()
            messages = [OPENING, *(message for at in range(TURNS) for message in turn(at, SIZE_BYTES))]
            body = {"seen": {"version": 0, "length": 0}, "messages": messages}
            line.call(f"/v1/sessions/{session}/messages", body).json()
            view = ground.stack.store.run(ground.stack.ops(tenant, session).view()).view
            assert view is not None
            job = _started(ground, tenant, session)
            claimed.append(job.created_ms - view.last_at_ms)
            started.append(job.started_ms - view.last_at_ms)
    return told(
        "event_to_job_start",
        SESSIONS,
        start_ms={"p50": rounded(median(started)), "p99": rounded(quantile(started, 0.99))},
        claim_ms={"p50": rounded(median(claimed)), "p99": rounded(quantile(claimed, 0.99))},
    )


def _started(ground: Ground, tenant: str, session: str) -> JobTag:
    keys = ground.stack.session(tenant, session)

    def job() -> JobTag | None:
        found = ground.stack.store.run(reading.jobs(keys))
        return found[0] if found and found[0].started_ms else None

    found = eventually(job, 60, f"a job of {session} starts")
    assert found is not None
    return found
