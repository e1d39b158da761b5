"""The scheduler on a real Redis and broker: from an append to a message, whatever is lost on the way."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from precompact_scheduler.__main__ import build
from precompact_scheduler.loop import Scheduler
from precompact_scheduler.streams import GROUP
from precompact_shared.clock import monotonic_s
from precompact_shared.policy import Policy
from precompact_shared.redis_server import EmbeddedRedis
from precompact_shared.settings import Settings
from precompact_shared.store import Announcement, Changes, Layout, SyncStore, fix_layout, reading, sync_client
from precompact_shared.store.spending import day_of, tenant_spent
from precompact_shared.store.tenants import save_policy
from precompact_shared.store.types import CandidateTag, JobKind, JobState, JobTag
from tests.support.filling import Filled, new_entry
from tests.support.talk import turns
from tests.support.waiting import eventually

SHARDS = 4
DAY_MS = 86_400_000
WINDOW = 40_000
STARTED, LIMIT, HARD = 28_000, 32_000, 35_500
"""Sizes past the latest start (26,928), past the limit (31,680) and past `hard` (35,200) of that window."""


class World:
    """A Redis of its own with schedulers on it, and the messages they send."""

    def __init__(self, server: EmbeddedRedis, closing: ExitStack, **settings: Any) -> None:
        self.server = server
        self.settings = Settings(
            state_redis_url=server.url,
            broker_url=server.url_of(1),
            shards=SHARDS,
            **{"sweep_s": 0.05, "lag_s": 0.05, "resend_s": 0.3, "lease_s": 0.3, **settings},
        )
        self.state = closing.enter_context(sync_client(server.url))
        self.broker = closing.enter_context(sync_client(server.url_of(1)))
        self.store = SyncStore(self.state)
        self.layout: Layout = fix_layout(self.state, SHARDS)

    def scheduler(self) -> Scheduler:
        """A scheduler that is stepped by hand."""
        return build(self.settings)

    def session(self, name: str = "s1", tenant: str = "acme") -> Filled:
        """A session nobody has appended to."""
        return Filled(self.store, self.layout, tenant, name, window=WINDOW)

    def messages(self) -> list[tuple[str, dict[str, Any]]]:
        """Queue and headers of every message in the broker."""
        found: list[tuple[str, dict[str, Any]]] = []
        for queue in ("compact.urgent", "compact.normal", "compact.speculative"):
            found += [(queue, json.loads(raw)["headers"]) for raw in self.broker.lrange(queue, 0, -1)]
        return found

    def jobs(self, filled: Filled) -> list[JobTag]:
        """The session's ledger."""
        return self.store.run(reading.jobs(filled.keys))

    def decisions(self, filled: Filled) -> list[Any]:
        """What `why` would read."""
        return [one for one in self.store.run(reading.decisions(filled.keys)) if one["kind"] == "decided"]

    def unhandled(self) -> int:
        """Sessions nobody has decided on."""
        return sum(self.state.zcard(shard.unhandled) for shard in self.layout.all_shards())

    def owed(self) -> int:
        """Events that were read and not acknowledged."""
        return sum(
            group["pending"]
            for shard in self.layout.all_shards()
            for group in self.state.xinfo_groups(shard.events)
        )


@pytest.fixture
def new_world(tmp_path: Path) -> Iterator[Callable[..., World]]:
    """Makes worlds; keyword arguments are settings."""
    with ExitStack() as closing:
        server = closing.enter_context(EmbeddedRedis(tmp_path, appendonly=True))
        yield lambda **settings: World(server, closing, **settings)


@pytest.fixture
def world(new_world: Callable[..., World]) -> World:
    """A world in which the sweeper looks seldom: what happens, happens by events."""
    return new_world(sweep_s=1000, lease_s=1000)


@pytest.fixture
def swept(new_world: Callable[..., World]) -> World:
    """A world in which the sweeper looks at every step."""
    return new_world(sweep_s=0.001)


def grow(filled: Filled, tokens: int) -> None:
    """Appends turns, in one call, until the session has at least this size."""
    missing = tokens - (filled.view().tokens if filled.seen.length else 0)
    messages: list[Any] = []
    while missing > 0:
        messages += turns(1, start=(filled.seen.length + len(messages)) // 2, words=4)
        missing -= sum(new_entry(filled.format, message).tokens for message in messages[-2:])
    filled.append(messages)


@contextmanager
def running(*schedulers: Scheduler) -> Iterator[None]:
    """The schedulers run in threads of their own."""
    threads = [threading.Thread(target=scheduler.run, daemon=True) for scheduler in schedulers]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        for scheduler in schedulers:
            scheduler.stop()
        for thread in threads:
            thread.join(10)
    assert not any(thread.is_alive() for thread in threads)


def settle(scheduler: Scheduler, rounds: int = 4) -> None:
    """Steps until what one round has written is read by the next."""
    for _ in range(rounds):
        scheduler.step(block_ms=1)


def test_a_small_session_gets_a_decision_and_no_job(world: World) -> None:
    """With the reason, the numbers, and no mark left."""
    filled = world.session()
    filled.append(turns(2))
    settle(world.scheduler())
    assert world.jobs(filled) == []
    [decision] = world.decisions(filled)
    assert (decision["action"], decision["reason"]) == ("none", "below_start_point")
    assert decision["tokens"] < decision["start"] < decision["limit"] < decision["hard"]
    assert (world.unhandled(), world.owed()) == (0, 0)


def test_past_the_start_a_speculative_job_is_claimed_and_sent(world: World) -> None:
    """On the queue of those that can wait, with a task id that tells whose it is."""
    filled = world.session()
    grow(filled, STARTED)
    settle(world.scheduler())
    [job] = world.jobs(filled)
    assert (job.kind, job.state) == (JobKind.SPECULATIVE, JobState.QUEUED)
    [(queue, headers)] = world.messages()
    assert queue == "compact.speculative"
    assert headers["id"].startswith(f"{job.jid}:")
    assert job.jid.startswith("acme:s1:0:speculative:")
    assert headers["kwargsrepr"] == repr({"tenant": "acme", "session": "s1", "jid": job.jid})
    assert world.owed() == 0


def test_at_the_limit_a_job_is_due_on_the_urgent_queue(world: World) -> None:
    """Urgency 0."""
    filled = world.session()
    grow(filled, LIMIT)
    settle(world.scheduler())
    [job] = world.jobs(filled)
    assert (job.kind, job.urgency) == (JobKind.DUE, 0)
    assert [queue for queue, _ in world.messages()] == ["compact.urgent"]


def test_many_appends_make_one_job(world: World) -> None:
    """Single flight, also when every event comes in a batch of its own."""
    filled, scheduler = world.session(), world.scheduler()
    grow(filled, STARTED)
    for number in range(8):
        filled.append(turns(1, start=number))
        scheduler.step(block_ms=1)
    settle(scheduler)
    assert len(world.jobs(filled)) == len(world.messages()) == 1


def test_a_waiting_job_is_sent_once_more_in_front_when_the_limit_is_reached(world: World) -> None:
    """Hurried once, not with every append."""
    filled, scheduler = world.session(), world.scheduler()
    grow(filled, STARTED)
    settle(scheduler)
    for number in range(4):
        grow(filled, LIMIT + 300 * number)
        settle(scheduler)
    [job] = world.jobs(filled)
    assert (job.kind, job.urgency) == (JobKind.DUE, 0)
    assert [queue for queue, _ in world.messages()] == ["compact.urgent", "compact.speculative"]


def test_a_retry_that_waits_for_its_time_runs_when_the_limit_is_reached(world: World) -> None:
    """A provider asked for five minutes; the limit does not wait for them, and nothing is paid twice."""
    filled, scheduler = world.session(), world.scheduler()
    grow(filled, STARTED)
    settle(scheduler)
    [job] = world.jobs(filled)
    started = world.store.run(filled.ops.start(job.jid, lease_ms=30_000, max_attempts=4)).job
    assert started is not None
    failed = filled.ops.finish(
        job.jid, started.fence, "retry", reason="provider_failed", delay_ms=300_000, max_attempts=4
    )
    assert world.store.run(failed).o == "ok"
    world.broker.flushdb()
    grow(filled, STARTED + 1_000)
    settle(scheduler)
    assert world.messages() == []
    grow(filled, LIMIT)
    settle(scheduler)
    [again] = world.jobs(filled)
    assert (again.jid, again.kind, again.attempt) == (job.jid, JobKind.DUE, 1)
    assert [queue for queue, _ in world.messages()] == ["compact.urgent"]
    assert world.store.run(filled.ops.start(job.jid, lease_ms=30_000, max_attempts=4)).o == "started"


def test_after_a_background_job_died_of_its_providers_the_limit_still_gets_one(world: World) -> None:
    """That one asks the whole chain; below the limit the dead one counts as a try."""
    filled, scheduler = world.session(), world.scheduler()
    grow(filled, STARTED)
    settle(scheduler)
    [job] = world.jobs(filled)
    started = world.store.run(filled.ops.start(job.jid, lease_ms=30_000, max_attempts=1)).job
    assert started is not None
    failed = filled.ops.finish(job.jid, started.fence, "retry", reason="provider_failed", max_attempts=1)
    assert world.store.run(failed).kind == "dead"
    filled.append(turns(1))
    settle(scheduler)
    assert world.decisions(filled)[0]["reason"] == "nothing_new_since_the_last_try"
    grow(filled, LIMIT)
    settle(scheduler)
    assert [one.kind for one in world.jobs(filled)] == [JobKind.SPECULATIVE, JobKind.DUE]


def test_an_unknown_window_is_told_in_the_decision(world: World) -> None:
    """And nothing is claimed on a guess."""
    filled = world.session()
    filled.window = None
    grow(filled, LIMIT)
    settle(world.scheduler())
    [decision] = world.decisions(filled)
    assert decision["reason"].startswith("window_unknown: send `window`")
    assert world.jobs(filled) == []


def test_a_paused_tenant_gets_nothing_below_hard_and_something_without_cost_above(world: World) -> None:
    """The brake is told to the worker."""
    world.store.run(save_policy("acme", Policy(paused=True)))
    filled, scheduler = world.session(), world.scheduler()
    grow(filled, LIMIT)
    settle(scheduler)
    assert world.jobs(filled) == []
    assert world.decisions(filled)[0]["reason"] == "paused"
    grow(filled, HARD)
    settle(scheduler)
    [job] = world.jobs(filled)
    assert (job.kind, job.extra) == (JobKind.DUE, {"extractive_only": True})


def test_a_refused_refresh_is_decided_again_at_once(world: World) -> None:
    """The base went between event and claim: the session is not left alone."""
    filled, scheduler = world.session(), world.scheduler()
    grow(filled, STARTED)
    candidate = put_candidate(world, filled, upto=4, tokens_after=400)
    grow(filled, LIMIT)
    assert world.store.run(filled.ops.close(candidate.cid, "declined")).o == "closed"
    settle(scheduler)
    [_, job] = world.jobs(filled)
    assert job.kind == JobKind.DUE


def test_a_candidate_that_no_longer_fits_is_refreshed(world: World) -> None:
    """On top of its own text, on the queue of what is urgent."""
    filled, scheduler = world.session(), world.scheduler()
    grow(filled, STARTED)
    candidate = put_candidate(world, filled, upto=4, tokens_after=400)
    grow(filled, LIMIT)
    settle(scheduler)
    [_, job] = world.jobs(filled)
    assert (job.kind, job.base, job.urgency) == (JobKind.REFRESH, candidate.cid, 0)
    assert [queue for queue, _ in world.messages()] == ["compact.urgent"]


def test_a_candidate_that_fits_is_left_for_the_next_request(world: World) -> None:
    """Adoption is not the scheduler's business."""
    filled, scheduler = world.session(), world.scheduler()
    grow(filled, STARTED)
    put_candidate(world, filled, upto=100, tokens_after=700)
    grow(filled, LIMIT)
    settle(scheduler)
    assert len(world.jobs(filled)) == 1
    assert world.decisions(filled)[0]["reason"] == "candidate_ready"


def test_a_size_the_provider_refused_is_a_limit_from_then_on(world: World) -> None:
    """The event says so: below the believed limit, above the real one."""
    filled, scheduler = world.session(), world.scheduler()
    grow(filled, 18_000)
    settle(scheduler)
    assert world.jobs(filled) == []
    refused = filled.ops.append([], seen=filled.seen, changes=Changes(overflow=True))
    assert world.store.run(refused).o == "ok"
    settle(scheduler)
    [job] = world.jobs(filled)
    assert job.kind == JobKind.DUE
    assert world.decisions(filled)[0]["hard"] <= filled.view().tokens


def put_candidate(world: World, filled: Filled, *, upto: int, tokens_after: int) -> CandidateTag:
    """A candidate as a worker would store it, small enough to count."""
    job = filled.claim()
    fence = world.store.run(filled.ops.start(job.jid, lease_ms=30_000, max_attempts=4)).job
    assert fence is not None
    [meta] = world.store.run(reading.metas(filled.keys, [upto - 1]))
    assert meta is not None
    announce = Announcement(upto=upto, prefix=meta.chain)
    world.store.run(filled.ops.beat(job.jid, fence.fence, lease_ms=30_000, announce=announce))
    view = filled.view()
    tag = CandidateTag(
        cid="c1",
        version=view.version,
        upto=upto,
        prefix=meta.chain,
        slot="speculative",  # type: ignore[arg-type]  # a word is enough here
        preset="precompact",
        preset_version="1",
        tokens_before=meta.cum,
        tokens_after=tokens_after,
        length_at_snapshot=view.length,
        tokens_at_snapshot=view.tokens,
        provider="extractive",
    )
    assert world.store.run(filled.ops.put(job.jid, fence.fence, tag, b"r{}")).o == "stored"
    return tag


def test_a_job_that_found_nothing_is_not_claimed_again_by_the_next_append(world: World) -> None:
    """The session has to grow first."""
    filled, scheduler = world.session(), world.scheduler()
    grow(filled, STARTED)
    settle(scheduler)
    [job] = world.jobs(filled)
    started = world.store.run(filled.ops.start(job.jid, lease_ms=30_000, max_attempts=4)).job
    assert started is not None
    world.store.run(filled.ops.finish(job.jid, started.fence, "skip", reason="no_safe_cut", max_attempts=4))
    filled.append(turns(1))
    settle(scheduler)
    assert len(world.jobs(filled)) == 1
    assert world.decisions(filled)[0]["reason"] == "nothing_new_since_the_last_try"
    grow(filled, LIMIT + 1_000)
    settle(scheduler)
    assert len(world.jobs(filled)) == 2


def test_garbage_in_a_stream_is_acknowledged_and_does_not_stop_the_rest(world: World) -> None:
    """Whoever wrote it."""
    filled, scheduler = world.session(), world.scheduler()
    shard = filled.keys.shard
    for junk in ({"e": "no json"}, {"e": '{"t": 5}'}, {"other": "x"}, {"e": b"\xff"}, {"e": "[]"}):
        world.state.xadd(shard.events, junk)
    grow(filled, LIMIT)
    settle(scheduler)
    assert len(world.messages()) == 1
    assert world.owed() == 0


def test_one_session_that_is_poison_does_not_stop_the_others(world: World) -> None:
    """A tenant that cannot be, a policy that cannot be read: the rest is decided, nothing is owed."""
    good, broken = world.session(), world.session("s2", "broken")
    world.state.hset("pc1:{t:broken}", "policy", '{"preset": 7}')
    poison = {"t": "size", "tenant": "no/tenant", "session": "s", "version": 0, "length": 1, "window": 9_999}
    world.state.xadd(good.keys.shard.events, {"e": json.dumps(poison)})
    grow(good, LIMIT)
    grow(broken, LIMIT)
    settle(world.scheduler())
    assert len(world.jobs(good)) == 1
    assert len(world.jobs(broken)) == 1
    assert world.owed() == 0


def test_a_session_that_cannot_be_read_does_not_stop_the_sweeper(swept: World) -> None:
    """It is logged; the next in line is decided on."""
    bad, good = swept.session("bad"), swept.session("good")
    grow(bad, STARTED)
    grow(good, LIMIT)
    for filled in (bad, good):
        swept.state.delete(filled.keys.shard.events)
    swept.state.hset(bad.keys.key("h"), "v", "1.5")
    scheduler = swept.scheduler()
    eventually(lambda: stepped(scheduler) and swept.jobs(good), 10, "a job of the good one")


def test_an_event_for_a_session_that_is_gone_does_no_harm(world: World) -> None:
    """Deleted between append and decision."""
    filled, scheduler = world.session(), world.scheduler()
    grow(filled, LIMIT)
    world.store.run(filled.ops.delete())
    settle(scheduler)
    assert world.messages() == []
    assert (world.unhandled(), world.owed()) == (0, 0)


def test_a_lost_stream_loses_no_decision(swept: World) -> None:
    """The sweeper decides from the session itself."""
    filled = swept.session()
    grow(filled, LIMIT)
    swept.state.delete(filled.keys.shard.events)
    scheduler = swept.scheduler()
    eventually(lambda: stepped(scheduler) and swept.messages(), 5, "a message")
    assert swept.unhandled() == 0


def stepped(scheduler: Scheduler) -> bool:
    """One round."""
    scheduler.step(block_ms=1)
    return True


def test_a_session_deleted_with_its_mark_left_is_forgotten(swept: World) -> None:
    """A mark or an open job without a session is swept away."""
    shard = swept.session("nobody").keys.shard
    swept.state.zadd(shard.unhandled, {"acme/nobody": 1})
    swept.state.zadd(shard.open_jobs, {"acme/nobody\nj1": 1})
    scheduler = swept.scheduler()
    eventually(lambda: stepped(scheduler) and swept.unhandled() == 0, 5)
    assert swept.state.zcard(shard.open_jobs) == 0


def test_a_message_lost_by_the_broker_is_sent_again(swept: World) -> None:
    """No attempt is spent by it."""
    filled, scheduler = swept.session(), swept.scheduler()
    grow(filled, LIMIT)
    eventually(lambda: stepped(scheduler) and swept.messages(), 5)
    swept.broker.flushdb()
    eventually(lambda: stepped(scheduler) and swept.messages(), 5, "a second message")
    [job] = swept.jobs(filled)
    assert job.attempt == 0


def test_a_job_whose_worker_died_is_sent_again_after_its_lease(swept: World) -> None:
    """Found by the sweeper, started under the next fence."""
    filled, scheduler = swept.session(), swept.scheduler()
    grow(filled, LIMIT)
    eventually(lambda: stepped(scheduler) and swept.messages(), 5)
    [job] = swept.jobs(filled)
    swept.store.run(filled.ops.start(job.jid, lease_ms=100, max_attempts=4))
    swept.broker.flushdb()
    eventually(lambda: stepped(scheduler) and swept.messages(), 5, "a message for the next worker")
    again = swept.store.run(filled.ops.start(job.jid, lease_ms=100, max_attempts=4)).job
    assert again is not None
    assert again.fence == 2


def spent(world: World, tenant: str = "acme") -> list[tuple[int, int, float, int]]:
    """Calls, plain input, dollars and estimated tokens of a tenant's days, by kind of call: midnight may pass meanwhile."""
    now_ms = int(world.state.time()[0]) * 1000
    days = [day_of(now_ms - DAY_MS), day_of(now_ms)]
    rows = [row for day in days for row in world.store.run(tenant_spent(tenant, day))]
    return [(row.calls, row.input_tokens, row.cost_usd, row.estimated_tokens) for row in rows]


def begun(filled: Filled, jid: str, *, lease_ms: int, number: int = 1, **more: object) -> int:
    """A worker takes the job and notes a call before it is made; the fence."""
    job = filled.store.run(filled.ops.start(jid, lease_ms=lease_ms, max_attempts=4)).job
    assert job is not None
    call: dict[str, object] = {
        "id": f"c:{number}",
        "provider": "anthropic",
        "model": "m",
        "mode": "transcript",
    }
    call |= {"outcome": "begun", "input_tokens": 900, "cost_usd": 0.5, "estimated": True, **more}
    filled.store.run(filled.ops.beat(jid, job.fence, lease_ms=lease_ms, calls=[call]))
    return job.fence


def claimed(world: World) -> tuple[Filled, Scheduler, JobTag]:
    """A session at its limit, and the job that its scheduler claimed."""
    filled, scheduler = world.session(), world.scheduler()
    grow(filled, LIMIT)
    settle(scheduler)
    [job] = world.jobs(filled)
    return filled, scheduler, job


def test_what_a_job_used_whose_last_worker_died_counts_for_the_tenant(swept: World) -> None:
    """No worker is left to say so; once, whoever looks."""
    swept.store.run(save_policy("acme", Policy(attempts=1)))
    filled, scheduler, job = claimed(swept)
    begun(filled, job.jid, lease_ms=1)
    eventually(lambda: stepped(scheduler) and swept.jobs(filled)[0].state == JobState.DEAD)
    eventually(lambda: stepped(scheduler) and bool(spent(swept)))
    settle(scheduler)
    assert spent(swept) == [(1, 900, 0.5, 900)]


def test_what_a_job_used_that_was_cancelled_behind_a_dead_worker_counts_for_the_tenant(swept: World) -> None:
    """Once, and not before its lease has run out: until then its worker may still tell what it really used."""
    filled, scheduler, job = claimed(swept)
    begun(filled, job.jid, lease_ms=400)
    assert swept.store.run(filled.ops.cancel(job.jid, "superseded")).o == "cancelled"
    eventually(lambda: stepped(scheduler) and bool(spent(swept)), 5, "the call in the tenant's sums")
    seconds, micros = swept.state.time()
    assert int(seconds) * 1000 + int(micros) // 1000 >= swept.jobs(filled)[0].lease_until_ms
    settle(scheduler)
    assert spent(swept) == [(1, 900, 0.5, 900)]
    assert swept.state.zcard(filled.keys.shard.open_jobs) == 0


def test_what_a_waiting_job_used_before_it_was_cancelled_counts_for_the_tenant(swept: World) -> None:
    """Its first worker died, and the conversation was rewritten before there was a second one."""
    filled, scheduler, job = claimed(swept)
    begun(filled, job.jid, lease_ms=1)
    eventually(lambda: stepped(scheduler) and swept.jobs(filled)[0].reason == "lease_lost")
    filled.rewind(1)
    eventually(lambda: stepped(scheduler) and bool(spent(swept)), 5, "the call in the tenant's sums")
    assert swept.jobs(filled)[0].state == JobState.CANCELLED
    assert spent(swept) == [(1, 900, 0.5, 900)]


def test_what_a_job_used_counts_where_its_worker_died_right_after_its_end(swept: World) -> None:
    """Between the ledger and the sums; what its worker did count, nobody counts again."""
    filled, scheduler, job = claimed(swept)
    fence = begun(filled, job.jid, lease_ms=50)
    told: dict[str, object] = {"id": "c:1", "provider": "anthropic", "model": "m", "mode": "transcript"}
    told |= {"outcome": "refused", "input_tokens": 700, "output_tokens": 9, "cost_usd": 0.25}
    end = filled.ops.finish(job.jid, fence, "skip", reason="refused", max_attempts=4, calls=[told])
    assert swept.store.run(end).o == "ok"
    eventually(lambda: stepped(scheduler) and not swept.state.zcard(filled.keys.shard.open_jobs), 5)
    assert spent(swept) == [(1, 700, 0.25, 0)]


def test_what_a_job_used_counts_where_its_session_was_deleted_behind_a_dead_worker(swept: World) -> None:
    """Nothing else of the session is left; the bill is."""
    filled, scheduler, job = claimed(swept)
    begun(filled, job.jid, lease_ms=100)
    assert swept.store.run(filled.ops.delete()).o == "deleted"
    eventually(lambda: stepped(scheduler) and not swept.state.zcard(filled.keys.shard.open_jobs), 5)
    assert spent(swept) == [(1, 900, 0.5, 900)]


def test_a_job_whose_attempts_are_spent_is_dead_and_not_sent(swept: World) -> None:
    """An operator looks at it."""
    swept.store.run(save_policy("acme", Policy(attempts=1)))
    filled, scheduler = swept.session(), swept.scheduler()
    grow(filled, LIMIT)
    eventually(lambda: stepped(scheduler) and swept.messages(), 5)
    [job] = swept.jobs(filled)
    swept.store.run(filled.ops.start(job.jid, lease_ms=50, max_attempts=1))
    swept.broker.flushdb()
    eventually(lambda: stepped(scheduler) and swept.jobs(filled)[0].state == JobState.DEAD, 5)
    assert swept.messages() == []


def test_events_of_a_scheduler_that_died_are_taken_over(
    swept: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Read, never acknowledged: somebody else decides."""
    monkeypatch.setattr("precompact_scheduler.streams.TAKE_OVER_IDLE_MS", 1)
    filled, dead, heir = swept.session(), swept.scheduler(), swept.scheduler()
    settle(dead, 1)
    grow(filled, LIMIT)
    dead._streams.read(count=10, block_ms=1)
    assert swept.owed() == 1
    eventually(lambda: stepped(heir) and swept.messages(), 5)
    assert swept.owed() == 0


def test_consumers_long_gone_are_removed_and_a_stop_signs_off(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The group does not grow with every restart."""
    monkeypatch.setattr("precompact_scheduler.streams.DEAD_IDLE_MS", -1)
    first, second = world.scheduler(), world.scheduler()
    settle(first, 1)
    settle(second, 1)
    stream = world.layout.all_shards()[0].events
    names = [one["name"].decode() for one in world.state.xinfo_consumers(stream, GROUP)]
    assert names == [second._streams.consumer]
    second.stop()
    second.run()
    assert world.state.xinfo_consumers(stream, GROUP) == []


def test_several_schedulers_share_the_work_without_doubling_it(new_world: Callable[..., World]) -> None:
    """Three threads, sixty sessions, one job each."""
    world = new_world()
    sessions = [world.session(f"s{number}") for number in range(60)]
    with running(*(world.scheduler() for _ in range(3))):
        for filled in sessions:
            grow(filled, LIMIT)
        eventually(lambda: len({headers["kwargsrepr"] for _, headers in world.messages()}) == 60, 15)
    assert [len(world.jobs(filled)) for filled in sessions] == [1] * 60


def test_a_scheduler_outlives_a_restart_of_redis(new_world: Callable[..., World]) -> None:
    """It backs off, comes back and decides what came meanwhile."""
    world = new_world()
    with running(world.scheduler()):
        world.session("before").append(turns(1))
        world.server.kill()
        world.server.start()
        filled = world.session("after")
        eventually(lambda: appended(filled), 10, "an append after the restart")
        eventually(lambda: world.jobs(filled) and world.messages(), 15, "a job after the restart")


def appended(filled: Filled) -> bool:
    """Whether the session now stands past its limit."""
    grow(filled, LIMIT)
    return True


def test_a_broker_that_is_down_costs_time_and_no_job(swept: World, tmp_path: Path) -> None:
    """The job stands in the ledger and goes out when the broker is back."""
    with EmbeddedRedis(tmp_path / "broker", appendonly=False) as broker:
        settings = swept.settings.model_copy(update={"broker_url": broker.url})
        scheduler = build(settings)
        broker.kill()
        filled = swept.session()
        grow(filled, LIMIT)
        eventually(lambda: stepped(scheduler) and swept.jobs(filled), 10)
        settle(scheduler, 2)
        assert swept.jobs(filled)[0].state == JobState.READY
        assert swept.owed() == 0
        broker.start()
        with Redis.from_url(broker.url) as client:
            eventually(lambda: stepped(scheduler) and client.llen("compact.urgent"), 10, "the message")
        assert swept.jobs(filled)[0].state == JobState.QUEUED


def test_a_stop_takes_less_than_a_second(world: World) -> None:
    """Also while it waits for events."""
    with running(world.scheduler()):
        stream = world.layout.all_shards()[0].events
        eventually(lambda: world.state.exists(stream), 5)
        begun_s = monotonic_s()
    assert monotonic_s() - begun_s < 1


def test_the_hundred_decisions_kept_do_not_all_say_the_same(world: World) -> None:
    """A long quiet session keeps room for what matters."""
    filled, scheduler = world.session(), world.scheduler()
    for number in range(30):
        filled.append(turns(1, start=number))
        scheduler.step(block_ms=1)
    kept = world.decisions(filled)
    assert 1 < len(kept) < 30
    sizes = [one["tokens"] for one in kept]
    assert sizes == sorted(sizes, reverse=True)
