"""A job from its claim to its candidate, on a real Redis, and everything that may happen to it on the way."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from precompact_shared.clock import monotonic_s
from precompact_shared.engine.catalogue import ToolKind
from precompact_shared.engine.edits import apply_context
from precompact_shared.engine.projection import context_edits
from precompact_shared.engine.types import Entry, Format
from precompact_shared.engine.validate import validate
from precompact_shared.policy import Fault, Policy, ProviderName, ProviderSpec, ToolSpec
from precompact_shared.redis_server import EmbeddedRedis
from precompact_shared.settings import Settings
from precompact_shared.store import (
    AsyncStore,
    Layout,
    SyncStore,
    async_client,
    fix_layout,
    reading,
    sync_client,
)
from precompact_shared.store.spending import session_spent
from precompact_shared.store.tenants import save_policy
from precompact_shared.store.types import CandidateTag, CheckpointTag, JobKind, JobState, JobTag
from precompact_worker.run import Ref, Runner
from precompact_worker.tools import Ended
from tests.support.filling import Filled
from tests.support.talk import call, result, turns, user
from tests.support.waiting import eventually_async

EXTRACTIVE = ProviderSpec(name=ProviderName.EXTRACTIVE)
LONG = 12
"""Words of a turn: about 400 tokens with its answer."""


def scripted(**how: Any) -> ProviderSpec:
    """A scripted provider."""
    return ProviderSpec(name=ProviderName.SCRIPTED, **how)


class Bench:
    """A worker without Celery, and one session to work on."""

    def __init__(self, url: str, tenant: str, layout: Layout, store: SyncStore, lease_s: float) -> None:
        self.settings = Settings(
            state_redis_url=url,
            broker_url=url + "9",
            lease_s=lease_s,
            sweep_s=min(lease_s, 0.2),
            job_attempts=3,
        )
        self.store = store
        self.filled = Filled(store, layout, tenant, "s1")
        self.client = async_client(url)
        self.runner = Runner(AsyncStore(self.client), layout, self.settings, now_s=monotonic_s)

    def policy(self, *providers: ProviderSpec, **fields: Any) -> None:
        """The tenant's policy."""
        self.store.run(save_policy(self.filled.tenant, Policy(providers=providers, **fields)))

    async def work(self, job: JobTag) -> Ended:
        """One message of Celery."""
        return await self.runner.run(Ref(self.filled.tenant, self.filled.session, job.jid))

    def job(self, job: JobTag) -> JobTag:
        """The job as the ledger has it."""
        found = self.store.run(reading.job(self.filled.keys, job.jid))
        assert found is not None
        return found

    def candidates(self) -> list[CandidateTag]:
        """The open candidates."""
        return self.filled.view().candidates

    def body(self, cid: str) -> dict[str, Any]:
        """A candidate's body."""
        raw = self.store.run(reading.candidate_body(self.filled.keys, cid))
        assert raw is not None
        body: dict[str, Any] = json.loads(raw)
        return body

    def adopt(self, tag: CandidateTag) -> None:
        """Adopts a candidate as `prepare` would."""
        view = self.filled.view()
        body = self.body(tag.cid)
        record = CheckpointTag(
            cid=tag.cid,
            n=view.checkpoint_n + 1,
            upto=tag.upto,
            adopted_version=view.version + 1,
            tokens_before=tag.tokens_before,
            tokens_after=tag.tokens_after,
            insert_tokens=tag.tokens_after,
        )
        frozen = json.dumps({"insert": body["insert"], "keep_from": tag.upto, "edits": []}).encode()
        answer = self.store.run(
            self.filled.ops.adopt(
                tag.cid, version=view.version, length=view.length, record=record, body=b"r" + frozen
            )
        )
        assert answer.o == "adopted", (answer.o, answer.reason)
        self.filled.view()

    def claimed(self, kind: JobKind = JobKind.SPECULATIVE, *, count: int = 40, **spec: Any) -> JobTag:
        """A job on a session of 40 turns."""
        self.filled.append(turns(count, words=LONG))
        return self.filled.claim(kind, **spec)


@pytest.fixture
async def new_bench() -> AsyncIterator[Callable[[str, str, float], Bench]]:
    """Makes benches: URL of Redis, tenant, lease in seconds."""
    async with AsyncExitStack() as closing:

        def make(url: str, tenant: str, lease_s: float) -> Bench:
            client = sync_client(url)
            closing.callback(client.close)
            made = Bench(url, tenant, fix_layout(client, 16), SyncStore(client), lease_s)
            closing.push_async_callback(made.client.aclose)
            return made

        yield make


@pytest.fixture
def bench(new_bench: Callable[[str, str, float], Bench], redis_url: str, tenant: str) -> Bench:
    """The bench on the run's Redis; a lease of 30 seconds."""
    return new_bench(redis_url, tenant, 30)


@pytest.fixture
def quick(new_bench: Callable[[str, str, float], Bench], redis_url: str, tenant: str) -> Bench:
    """The same with a lease of 0.3 seconds: a heartbeat every tenth of a second."""
    return new_bench(redis_url, tenant, 0.3)


async def test_a_job_ends_with_a_candidate_that_covers_a_prefix_and_is_smaller(bench: Bench) -> None:
    """The main path, without a model."""
    job = bench.claimed()
    assert await bench.work(job) == Ended("stored")
    [tag] = bench.candidates()
    assert 0 < tag.upto < bench.filled.seen.length
    assert tag.tokens_after < tag.tokens_before
    assert (tag.slot, tag.provider, tag.preset, tag.coverage) == (
        "speculative",
        "extractive",
        "precompact",
        1.0,
    )
    assert bench.job(job).state == JobState.DONE


async def test_the_candidates_context_is_valid_and_tells_what_was_asked(bench: Bench) -> None:
    """Insert and tail make a list that the provider takes."""
    messages = [user("Never touch main.py."), *turns(30, words=LONG)]
    bench.filled.append(messages)
    await bench.work(bench.filled.claim())
    [tag] = bench.candidates()
    body = bench.body(tag.cid)
    tail = [Entry(seq, message, 0) for seq, message in enumerate(messages) if seq >= tag.upto]
    context = apply_context(messages, body["insert"], tag.upto, context_edits(Format.ANTHROPIC, tail))
    assert validate(Format.ANTHROPIC, context) == ()
    assert f"request {tag.upto // 2 - 1}:" in body["summary"]
    assert "Never touch main.py" in body["summary"]


async def test_a_tool_of_the_tenants_own_is_understood(bench: Bench) -> None:
    """What the policy's catalogue says of it counts for the facts of a summary too, not for clearing alone."""
    bench.policy(EXTRACTIVE, tools={"patch_it": ToolSpec(kind=ToolKind.WRITE, path_arg="target")})
    made = {"type": "tool_use", "id": "t1", "name": "patch_it", "input": {"target": "src/own.py"}}
    talk = [user("Patch it."), {"role": "assistant", "content": [made]}, result("t1"), *turns(30, words=LONG)]
    bench.filled.append(talk)
    await bench.work(bench.filled.claim())
    [tag] = bench.candidates()
    files = bench.body(tag.cid)["carried"]["files"]
    assert [(one["path"], one["touch"]) for one in files] == [("src/own.py", "modified")]


async def test_usage_is_recorded_once_per_call(bench: Bench) -> None:
    """The extractive provider costs nothing, and says so."""
    job = bench.claimed()
    await bench.work(job)
    [told] = bench.job(job).calls
    assert told["provider"] == "extractive"
    assert told["cost_usd"] == 0
    assert told["input_tokens"] > told["output_tokens"] > 0
    assert told["outcome"] == "ok"


@pytest.mark.parametrize(
    ("told", "kept"),
    [
        (("begun", "ok"), "ok"),
        (("ok", "begun"), "ok"),
        (("begun", "ok", "section_missing"), "section_missing"),
        (("ok", "section_missing", "ok"), "section_missing"),
        (("begun", "unreachable", "ok"), "unreachable"),
    ],
)
async def test_a_call_on_record_becomes_what_was_found_out_of_it_and_never_less(
    bench: Bench, told: tuple[str, ...], kept: str
) -> None:
    """Heartbeats carry what is known at their time, and may overtake each other; sums count the call once."""
    job = bench.claimed()
    filled = bench.filled
    started = bench.store.run(filled.ops.start(job.jid, lease_ms=30_000, max_attempts=4)).job
    assert started is not None
    for outcome in told:
        call = {"id": "c:1", "outcome": outcome, "input_tokens": 7, "output_tokens": 2, "cost_usd": 0.5}
        beat = filled.ops.beat(job.jid, started.fence, lease_ms=30_000, calls=[call])
        assert bench.store.run(beat).o == "ok"
    assert [one["outcome"] for one in bench.job(job).calls] == [kept]
    spent = bench.store.run(session_spent(filled.keys))
    assert (spent.calls, spent.input_tokens, spent.cost_usd) == (1, 7, 0.5)


async def test_the_second_generation_builds_on_the_first(bench: Bench) -> None:
    """It reads only what is new, and forgets nothing that was said."""
    bench.filled.append([user("Always write tests first."), *turns(30, words=LONG)])
    await bench.work(bench.filled.claim())
    [first] = bench.candidates()
    bench.adopt(first)
    bench.filled.append(turns(40, start=30, words=LONG))
    assert await bench.work(bench.filled.claim(JobKind.DUE)) == Ended("stored")
    [second] = bench.candidates()
    assert second.upto > first.upto
    assert "Always write tests first" in bench.body(second.cid)["summary"]
    carried = bench.body(second.cid)["carried"]
    assert (carried["start"], carried["stop"]) == (0, second.upto)
    job = bench.store.run(reading.job(bench.filled.keys, second.job or ""))
    assert job is not None
    assert job.calls[0]["input_tokens"] < second.tokens_before


async def test_a_refresh_builds_on_its_candidate_and_takes_its_place(bench: Bench) -> None:
    """The base stays until the refresh is stored."""
    await bench.work(bench.claimed())
    [first] = bench.candidates()
    bench.filled.append(turns(30, start=40, words=LONG))
    job = bench.filled.claim(JobKind.REFRESH, base=first.cid)
    assert await bench.work(job) == Ended("stored")
    [second] = bench.candidates()
    assert (second.base, second.slot) == (first.cid, "speculative")
    assert second.upto > first.upto
    assert "request 0" in bench.body(second.cid)["summary"]


async def test_a_refresh_whose_base_was_adopted_meanwhile_stands_on_the_checkpoint(bench: Bench) -> None:
    """Adoption of the base re-stamps the announced job; one that is not announced is closed."""
    await bench.work(bench.claimed())
    [first] = bench.candidates()
    bench.filled.append(turns(30, start=40, words=LONG))
    bench.policy(scripted(delay_s=0.5))
    job = bench.filled.claim(JobKind.REFRESH, base=first.cid)
    working = asyncio.create_task(bench.work(job))
    await eventually_async(lambda: announced(bench, job))
    bench.adopt(first)
    assert await working == Ended("stored")
    full = [tag for tag in bench.candidates() if tag.slot == "speculative"]
    assert full[0].upto > first.upto


async def announced(bench: Bench, job: JobTag) -> bool:
    """Whether the job has told where it cuts."""
    return bench.job(job).upto is not None


async def floored(bench: Bench) -> bool:
    """Whether the job has stored its floor, and nothing else."""
    return [tag.slot for tag in bench.candidates()] == ["floor"]


async def test_pinned_and_system_entries_travel_in_the_insert(bench: Bench) -> None:
    """They are never covered, over generations."""
    bench.filled.format = Format.OPENAI_CHAT
    bench.filled.append([{"role": "system", "content": "Be brief."}, *turns(40, words=LONG)])
    await bench.work(bench.filled.claim())
    [first] = bench.candidates()
    assert bench.body(first.cid)["insert"][0] == {"role": "system", "content": "Be brief."}
    bench.adopt(first)
    bench.filled.append(turns(40, start=40, words=LONG))
    await bench.work(bench.filled.claim())
    [second] = bench.candidates()
    inserted = bench.body(second.cid)["insert"]
    assert inserted[0] == {"role": "system", "content": "Be brief."}
    assert bench.body(second.cid)["pinned"] == [0]
    assert len(inserted) == 2


async def test_nothing_to_cut_is_a_skip_with_its_reason(bench: Bench) -> None:
    """Not an error, and not tried again."""
    job = bench.claimed(count=2)
    assert await bench.work(job) == Ended("skip", "all_fits")
    assert (bench.job(job).state, bench.job(job).reason) == (JobState.DONE, "all_fits")
    assert bench.candidates() == []


async def test_the_floor_is_stored_before_the_provider_answers(bench: Bench) -> None:
    """Rule 13: it neither ends the job nor stays beside the full candidate."""
    bench.policy(scripted(delay_s=0.4))
    job = bench.claimed(JobKind.DUE)
    working = asyncio.create_task(bench.work(job))
    await eventually_async(lambda: floored(bench))
    assert bench.job(job).state == JobState.RUNNING
    assert await working == Ended("stored")
    assert [tag.slot for tag in bench.candidates()] == ["speculative"]


@pytest.mark.parametrize(
    ("fault", "outcome"),
    [
        (Fault.ERROR, "provider_failed"),
        (Fault.REFUSED, "provider_refused"),
        (Fault.EMPTY, "blank"),
        (Fault.CUT_OFF, "cut_off"),
        (Fault.TOOL_CALL, "tool_call"),
        (Fault.NOT_SMALLER, "too_long"),
        (Fault.HANG, "provider_timeout"),
    ],
)
async def test_whatever_a_provider_does_the_next_in_the_chain_is_asked(
    bench: Bench, fault: Fault, outcome: str
) -> None:
    """The last is the one that needs no network; both calls are on record."""
    bench.policy(scripted(fault=fault), job_deadline_s=1.0 if fault is Fault.HANG else None)
    job = bench.claimed(JobKind.DUE)
    assert await bench.work(job) == Ended("stored")
    [tag] = bench.candidates()
    assert tag.provider == "extractive"
    calls = bench.job(job).calls
    assert [told["outcome"] for told in calls] == [outcome, "ok"]
    assert len({told["id"] for told in calls}) == 2


async def test_a_passing_failure_of_a_whole_chain_is_tried_again_until_dead(bench: Bench) -> None:
    """Attempts are counted by the ledger; the calls of all of them are kept."""
    bench.policy(scripted(fault=Fault.ERROR), fallback=False, attempts=2)
    job = bench.claimed(JobKind.DUE)
    assert await bench.work(job) == Ended("retry", "provider_failed")
    waiting = bench.job(job)
    assert (waiting.state, waiting.attempt) == (JobState.READY, 1)
    assert await bench.work(job) == Ended("skipped", "not_due")
    await eventually_async(lambda: due(bench, job))
    assert await bench.work(job) == Ended("retry", "provider_failed")
    assert (bench.job(job).state, len(bench.job(job).calls)) == (JobState.DEAD, 2)


async def due(bench: Bench, job: JobTag) -> bool:
    """Whether the job may be tried again."""
    return bench.filled.view().now_ms >= bench.job(job).not_before_ms


async def test_a_failure_for_good_of_a_whole_chain_is_dead_at_once(bench: Bench) -> None:
    """Trying again would fail again."""
    bench.policy(scripted(fault=Fault.REFUSED), fallback=False)
    job = bench.claimed()
    assert await bench.work(job) == Ended("dead", "provider_refused")


async def test_a_fault_that_passes_is_over_at_the_next_attempt(bench: Bench) -> None:
    """The candidate comes from the provider that was wanted."""
    bench.policy(scripted(fault=Fault.ERROR, fault_times=1), fallback=False)
    job = bench.claimed(JobKind.DUE)
    await bench.work(job)
    await eventually_async(lambda: due(bench, job))
    assert await bench.work(job) == Ended("stored")
    assert [tag.provider for tag in bench.candidates() if tag.slot != "floor"] == ["scripted"]


async def test_a_brake_forbids_the_paid_providers(bench: Bench) -> None:
    """At `hard` something runs, without cost."""
    bench.policy(scripted(fault=Fault.HANG))
    job = bench.claimed(JobKind.DUE, extra={"extractive_only": True})
    assert await bench.work(job) == Ended("stored")
    assert [told["provider"] for told in bench.job(job).calls] == ["extractive"]


async def test_the_same_message_twice_works_once(bench: Bench) -> None:
    """While it runs and when it is done."""
    bench.policy(scripted(delay_s=0.3))
    job = bench.claimed()
    first, second = await asyncio.gather(bench.work(job), bench.work(job))
    assert {first.how, second.how} == {"stored", "skipped"}
    assert await bench.work(job) == Ended("skipped", "done")
    assert len(bench.job(job).calls) == 1


async def test_a_message_for_an_unknown_job_or_session_is_skipped(bench: Bench) -> None:
    """Nothing is made by it."""
    bench.claimed()
    unknown = JobTag(jid="none", version=0, kind=JobKind.DUE, state=JobState.READY)
    assert await bench.work(unknown) == Ended("skipped", "unknown")
    nowhere = Ref(bench.filled.tenant, "no such session", "j")
    assert await bench.runner.run(nowhere) == Ended("skipped", "not_found")
    assert await bench.runner.run(Ref("no/tenant", "s", "j")) == Ended("not_begun", "InvalidTenant")


async def test_a_rewrite_below_the_cut_stops_the_call_and_stores_nothing(quick: Bench) -> None:
    """The heartbeat learns of it."""
    quick.policy(scripted(delay_s=60))
    job = quick.claimed()
    working = asyncio.create_task(quick.work(job))
    await eventually_async(lambda: announced(quick, job))
    quick.filled.view()
    quick.filled.rewind(3)
    assert await asyncio.wait_for(working, 5) == Ended("lost", "version_changed")
    assert quick.candidates() == []
    assert quick.job(job).state == JobState.CANCELLED


async def test_a_rewrite_behind_the_cut_costs_nothing(bench: Bench) -> None:
    """Rule 6: what the job covers is untouched."""
    bench.policy(scripted(delay_s=0.4))
    job = bench.claimed()
    working = asyncio.create_task(bench.work(job))
    await eventually_async(lambda: announced(bench, job))
    view = bench.filled.view()
    bench.filled.rewind(view.length - 1)
    assert await working == Ended("stored")
    [tag] = bench.candidates()
    assert tag.version == view.version + 1


async def test_a_session_deleted_meanwhile_stays_deleted(bench: Bench) -> None:
    """The late candidate recreates nothing."""
    bench.policy(scripted(delay_s=0.4))
    job = bench.claimed()
    working = asyncio.create_task(bench.work(job))
    await eventually_async(lambda: announced(bench, job))
    assert bench.store.run(bench.filled.ops.delete()).o == "deleted"
    assert (await working).how in {"lost", "gone"}
    assert bench.store.run(bench.filled.ops.view()).o == "gone"
    assert bench.store.client.exists(*(bench.filled.keys.key(kind) for kind in "hmbkcxj")) == 0


async def test_appends_during_the_call_become_the_tail(bench: Bench) -> None:
    """The candidate stays good."""
    bench.policy(scripted(delay_s=0.4))
    job = bench.claimed()
    working = asyncio.create_task(bench.work(job))
    await eventually_async(lambda: announced(bench, job))
    bench.filled.append(turns(3, start=40))
    assert await working == Ended("stored")
    tag = next(tag for tag in bench.candidates() if tag.slot != "floor")
    assert tag.length_at_snapshot == 80
    bench.adopt(tag)


async def test_a_drain_puts_the_job_back_without_an_attempt_spent(bench: Bench) -> None:
    """Another worker has it at once."""
    bench.policy(scripted(delay_s=60))
    job = bench.claimed()
    working = asyncio.create_task(bench.work(job))
    await eventually_async(lambda: announced(bench, job))
    bench.runner.drain()
    assert await asyncio.wait_for(working, 5) == Ended("release", "drain")
    back = bench.job(job)
    assert (back.state, back.attempt) == (JobState.READY, 0)


async def test_a_lost_lease_is_taken_over_and_the_first_worker_stores_nothing(quick: Bench) -> None:
    """The fence decides, not who is faster."""
    quick.policy(scripted(delay_s=60))
    job = quick.claimed()
    working = asyncio.create_task(quick.work(job))
    await eventually_async(lambda: announced(quick, job))
    # As if this worker had been stopped for longer than its lease.
    key, client = quick.filled.keys.key("j"), quick.store.client
    record = json.loads(client.hget(key, job.jid) or b"")
    client.hset(key, job.jid, json.dumps({**record, "lease_until_ms": 1}))
    again = quick.store.run(quick.filled.ops.start(job.jid, lease_ms=30_000, max_attempts=4))
    assert again.job is not None
    assert again.job.fence == 2
    assert await asyncio.wait_for(working, 5) == Ended("lost", "fence")
    assert [tag for tag in quick.candidates() if tag.slot != "floor"] == []


async def test_a_manual_run_with_from_keeps_what_lies_before_it_word_for_word(bench: Bench) -> None:
    """Rule 22: the base's insert, the span as it is, the new summary."""
    messages = turns(40, words=LONG)
    bench.filled.append(messages)
    job = bench.filled.claim(JobKind.MANUAL, focus="the parser", extra={"from": 10, "upto": 40})
    assert await bench.work(job) == Ended("stored")
    [tag] = bench.candidates()
    assert (tag.slot, tag.upto) == ("manual", 40)
    insert = bench.body(tag.cid)["insert"]
    assert insert[:10] == messages[:10]
    assert "request 19:" in json.dumps(insert[10])
    assert "request 2:" not in json.dumps(insert[10])
    bench.adopt(tag)
    bench.filled.append(turns(30, start=40, words=LONG))
    await bench.work(bench.filled.claim(JobKind.MANUAL, extra={"from": 50}))
    [second] = bench.candidates()
    again = bench.body(second.cid)["insert"]
    assert again[: len(insert)] == insert
    assert again[len(insert) : len(insert) + 10] == messages[40:50]


async def test_the_generation_after_a_manual_span_covers_the_span_too(bench: Bench) -> None:
    """Nothing that stood word for word in an insert is lost when that insert goes."""
    bench.filled.append([user("Never use tabs."), *turns(40, words=LONG)])
    await bench.work(bench.filled.claim(JobKind.MANUAL, extra={"from": 11, "upto": 41}))
    bench.adopt(bench.candidates()[0])
    bench.filled.append(turns(40, start=40, words=LONG))
    await bench.work(bench.filled.claim(JobKind.DUE))
    [tag] = bench.candidates()
    assert "Never use tabs" in bench.body(tag.cid)["summary"]


@pytest.mark.parametrize(
    ("extra", "reason"),
    [
        ({"from": 3}, "from_already_covered"),
        ({"from": 5_000}, "from_beyond_the_end"),
        ({"upto": 4}, "upto_already_covered"),
    ],
)
async def test_a_manual_run_that_makes_no_sense_is_refused_with_a_reason(
    bench: Bench, extra: dict[str, int], reason: str
) -> None:
    """The caller reads it in the job."""
    await bench.work(bench.claimed())
    bench.adopt(bench.candidates()[0])
    bench.filled.append(turns(20, start=40, words=LONG))
    job = bench.filled.claim(JobKind.MANUAL, extra=extra)
    assert await bench.work(job) == Ended("skip", reason)


async def test_a_kind_of_job_this_version_cannot_do_is_dead_with_a_reason(bench: Bench) -> None:
    """Never an endless retry."""
    assert await bench.work(bench.claimed(JobKind.BRANCH)) == Ended("dead", "unsupported")


async def test_a_cut_never_parts_a_call_from_its_result(bench: Bench) -> None:
    """Also when the caller names the place."""
    messages: list[Any] = []
    for number in range(30):
        messages += [
            user(f"request {number} " + "word " * 300),
            call(f"t{number}"),
            result(f"t{number}", "x " * 300),
        ]
    bench.filled.append(messages)
    job = bench.filled.claim(JobKind.MANUAL, extra={"upto": 32})
    assert await bench.work(job) == Ended("stored")
    [tag] = bench.candidates()
    assert tag.upto == 31


async def test_lone_surrogates_and_huge_numbers_survive_in_pinned_entries(bench: Bench) -> None:
    """Whatever a caller may send can be kept."""
    bench.filled.format = Format.OPENAI_CHAT
    odd = {"role": "system", "content": "half \ud800 pair", "n": 10**40}
    bench.filled.append([odd, *turns(40, words=LONG)])
    assert await bench.work(bench.filled.claim()) == Ended("stored")
    [tag] = bench.candidates()
    assert bench.body(tag.cid)["insert"][0] == odd


async def test_a_restart_of_redis_during_the_call_costs_nothing(
    new_bench: Callable[[str, str, float], Bench], tmp_path: Path
) -> None:
    """The heartbeat asks again until the lease must have run out."""
    with EmbeddedRedis(tmp_path, appendonly=True) as server:
        bench = new_bench(server.url, "t", 3)
        bench.policy(scripted(delay_s=1.5))
        job = bench.claimed()
        working = asyncio.create_task(bench.work(job))
        await eventually_async(lambda: announced(bench, job))
        await asyncio.to_thread(server.kill)
        await asyncio.to_thread(server.start)
        assert await asyncio.wait_for(working, 10) == Ended("stored")


async def test_without_redis_the_work_stops_when_the_lease_must_have_run_out(
    new_bench: Callable[[str, str, float], Bench], tmp_path: Path
) -> None:
    """It would be somebody else's by now."""
    with EmbeddedRedis(tmp_path, appendonly=True) as server:
        bench = new_bench(server.url, "t", 0.6)
        bench.policy(scripted(delay_s=60))
        job = bench.claimed()
        working = asyncio.create_task(bench.work(job))
        await eventually_async(lambda: floored(bench))
        await asyncio.to_thread(server.kill)
        assert await asyncio.wait_for(working, 10) == Ended("lost", "lease_expired")
