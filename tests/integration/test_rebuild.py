"""Every fourth generation is made of the originals: what it reads, what it forgets of the ones before, what holds it back."""

from __future__ import annotations

import json
from typing import Any

import pytest

from precompact_shared.engine.types import Format
from precompact_shared.provider_spec import CallMode, ProviderName
from precompact_shared.store import codec, reading
from precompact_shared.store.types import CandidateTag, JobKind, JobTag
from precompact_worker.tools import Ended
from tests.integration.test_live_prefix import PREFIX
from tests.integration.test_live_prefix import Desk as LiveDesk
from tests.integration.test_live_prefix import desk as live_desk
from tests.integration.test_worker import EXTRACTIVE, Bench, bench, new_bench
from tests.integration.test_worker_providers import Office, office, record, wire
from tests.integration.test_worker_standin import Desk, desk
from tests.support.filling import new_entry
from tests.support.talk import turns, user

__all__ = ["bench", "desk", "live_desk", "new_bench", "office", "wire"]

EACH = 24
"""Turns a generation adds."""
FIRST, NOT_YET, REBUILT = "originals:first", "previous:not_yet", "originals:rebuilt"


async def generation(
    made: Bench, kind: JobKind = JobKind.SPECULATIVE, *, growth: str = "0", **claim: Any
) -> tuple[JobTag, CandidateTag]:
    """Another stretch of talk and the candidate made of it: the job as it ended, and the candidate."""
    start = made.filled.seen.length // 2
    made.filled.append(turns(EACH, start=start, words=12))
    # As if it had taken hours: at the pace of a test every limit is a moment away.
    made.store.client.hset(made.filled.keys.key("h"), "grow", growth)
    job = made.filled.claim(kind, **claim)
    assert await made.work(job) == Ended("stored")
    [tag] = [tag for tag in made.candidates() if tag.slot != "floor"]
    return made.job(job), tag


async def adopted(made: Bench, count: int) -> list[str | None]:
    """So many generations, each adopted; what they were made of."""
    bases: list[str | None] = []
    for _ in range(count):
        job, tag = await generation(made)
        bases.append(job.basis)
        made.adopt(tag)
    return bases


def spoil(made: Bench, tag: CandidateTag, lie: str) -> None:
    """Puts a statement nobody made into what a candidate carries, as a model's slip would stand there."""
    body = made.body(tag.cid)
    body["summary"] += f"\n{lie}"
    body["carried"]["constraints"].append({"seq": 1, "text": lie})
    stored = codec.encode(json.dumps(body).encode())
    made.store.client.hset(made.filled.keys.key("x"), tag.cid, stored)


async def test_the_fourth_and_the_eighth_are_made_of_all_originals(bench: Bench) -> None:
    """The ledger says of each what it is made of; a rebuilt one read every covered token."""
    bench.policy(EXTRACTIVE)
    jobs, tags = [], []
    for _ in range(8):
        job, tag = await generation(bench)
        bench.adopt(tag)
        jobs.append(job)
        tags.append(tag)
    assert [job.basis for job in jobs] == [FIRST, *[NOT_YET] * 2, REBUILT, *[NOT_YET] * 3, REBUILT]
    for job, tag in zip(jobs, tags, strict=True):
        last = bench.store.run(reading.metas(bench.filled.keys, [tag.upto - 1]))[0]
        assert last is not None
        read = job.calls[0]["input_tokens"]
        assert (read == last.cum) == (job.basis != NOT_YET)
        assert tag.coverage == 1.0
        carried = bench.body(tag.cid)["carried"]
        assert (carried["start"], carried["stop"]) == (0, tag.upto)


async def test_what_a_generation_made_up_is_gone_with_the_next_rebuild(bench: Bench) -> None:
    """Facts that code carries are read off the originals again, too; until then a slip goes on."""
    bench.policy(EXTRACTIVE)
    lie = "Never use the letter e."
    _, tag = await generation(bench)
    spoil(bench, tag, lie)
    bench.adopt(tag)
    for number in (2, 3, 4):
        job, tag = await generation(bench)
        assert (lie in bench.body(tag.cid)["summary"]) == (number < 4), job.basis
        bench.adopt(tag)


async def test_a_model_is_shown_the_originals_and_no_record(office: Office) -> None:
    """Over each protocol; the one after is shown the rebuilt record again."""
    made = office.bench
    await office.open(office.wire.reply(record()))
    assert (await adopted(made, 4))[-1] == REBUILT
    asked = office.wire.asked(office.server.requests[-1].body)
    transcript = asked[asked.index("<transcript ") : asked.index("</transcript>")]
    assert "<previous-record>" not in asked
    assert "request 0:" in transcript
    assert f"request {3 * EACH}:" in transcript
    await generation(made)
    asked = office.wire.asked(office.server.requests[-1].body)
    assert "<previous-record>" in asked
    assert "request 0:" not in asked[asked.index("<transcript ") : asked.index("</transcript>")]


@pytest.mark.parametrize("kind", [JobKind.SPECULATIVE, JobKind.DUE])
async def test_originals_larger_than_the_window_are_read_in_parts_unless_somebody_waits(
    desk: Desk, kind: JobKind
) -> None:
    """With nothing left out; what is due goes on from the previous record, and the next generation is rebuilt."""
    spec = desk.spec(ProviderName.ANTHROPIC, window=40_000, max_output=4_000)
    desk.policy(spec)
    await adopted(desk.bench, 3)
    job, tag = await generation(desk.bench, kind)
    calls = [told for told in job.calls if told["outcome"] == "ok"]
    if kind is JobKind.SPECULATIVE:
        assert job.basis == REBUILT
        assert len(calls) > 1
        read = sum(told["input_tokens"] for told in calls)
        last = desk.bench.store.run(reading.metas(desk.bench.filled.keys, [tag.upto - 1]))[0]
        assert last is not None
        assert read > last.cum
        assert (tag.coverage, tag.provider) == (1.0, "anthropic")
        assert tag.cost_usd is not None
        assert tag.cost_usd > 0
        return
    assert job.basis == "previous:somebody_waits"
    assert len(calls) == 1
    desk.bench.adopt(tag)
    following, _ = await generation(desk.bench)
    assert following.basis == REBUILT


async def test_a_session_that_would_meet_its_limit_meanwhile_goes_on_from_the_previous_record(
    desk: Desk,
) -> None:
    """Several calls of half a minute are not begun a moment before somebody has to wait for them."""
    desk.policy(desk.spec(ProviderName.ANTHROPIC, window=40_000, max_output=4_000))
    await adopted(desk.bench, 3)
    job, _ = await generation(desk.bench, growth="1000")
    assert job.basis == "previous:too_slow"


async def test_what_was_redacted_stays_away(bench: Bench) -> None:
    """The originals are what is left of them."""
    bench.policy(EXTRACTIVE)
    secret = "the launch code is four five six"
    filled = bench.filled
    filled.append([user(f"Never forget: {secret}."), *turns(1)])
    placeholder = new_entry(filled.format, user("[redacted]"))
    answer = filled.store.run(filled.ops.redact([(0, placeholder)], seen=filled.seen, req="r"))
    assert answer.o == "ok", answer
    filled.view()
    assert (await adopted(bench, 4))[-1] == REBUILT
    view = filled.view()
    assert view.checkpoint is not None
    told = json.dumps(bench.body(view.checkpoint))
    assert secret not in told
    assert "[redacted]" in told


async def test_pinned_entries_stand_in_the_insert_once(bench: Bench) -> None:
    """In front, as they came."""
    bench.policy(EXTRACTIVE)
    bench.filled.format = Format.OPENAI_CHAT
    bench.filled.append([{"role": "system", "content": "Be brief."}])
    for number in range(4):
        bench.filled.append(turns(EACH, start=EACH * number, words=12))
        job = bench.filled.claim()
        assert await bench.work(job) == Ended("stored")
        [tag] = bench.candidates()
        bench.adopt(tag)
    assert bench.job(job).basis == REBUILT
    body = bench.body(tag.cid)
    assert body["insert"][0] == {"role": "system", "content": "Be brief."}
    assert (len(body["insert"]), body["pinned"]) == (2, [0])


async def test_a_refresh_builds_on_its_candidate_and_the_next_generation_is_rebuilt(bench: Bench) -> None:
    """It counts as a generation all the same."""
    bench.policy(EXTRACTIVE)
    await adopted(bench, 2)
    _, third = await generation(bench)
    job, fourth = await generation(bench, JobKind.REFRESH, base=third.cid)
    assert job.basis == "previous:refresh"
    bench.adopt(fourth)
    assert (await generation(bench))[0].basis == REBUILT


async def test_a_run_by_hand_from_a_place_on_keeps_what_stands_in_front(bench: Bench) -> None:
    """Whatever generation it is."""
    bench.policy(EXTRACTIVE)
    await adopted(bench, 3)
    view = bench.filled.view()
    job, _ = await generation(bench, JobKind.MANUAL, extra={"from": view.upto + 4, "upto": view.upto + 44})
    assert job.basis == "previous:keeps_base"


@pytest.mark.parametrize(
    ("fields", "bases"),
    [
        ({"rebuild_every": 0}, [FIRST, "previous:never", "previous:never", "previous:never"]),
        ({"rebuild_every": 2}, [FIRST, REBUILT, NOT_YET, REBUILT]),
        ({"rebuild_every": 1}, [FIRST, REBUILT, REBUILT, REBUILT]),
        ({"rebuild_max_tokens": 100}, [FIRST, NOT_YET, NOT_YET, "previous:too_large"]),
        ({"preset": "pi"}, [FIRST, "previous:never", "previous:never", "previous:never"]),
        (
            {"preset": "codex", "rebuild_every": 2, "summary_max_tokens": 2_000},
            [FIRST, REBUILT, NOT_YET, REBUILT],
        ),
    ],
)
async def test_a_policy_says_how_often_and_how_much(
    bench: Bench, fields: dict[str, Any], bases: list[str]
) -> None:
    """And a preset that keeps texts of the user keeps each of them once."""
    bench.policy(EXTRACTIVE, **fields)
    assert await adopted(bench, 4) == bases
    view = bench.filled.view()
    assert view.checkpoint is not None
    inserted = [json.dumps(message) for message in bench.body(view.checkpoint)["insert"]]
    assert len(set(inserted)) == len(inserted)


async def test_a_providers_own_block_goes_on_from_its_block(desk: Desk) -> None:
    """Its first generation has read the originals; later ones only it can judge."""
    desk.policy(desk.spec(ProviderName.ANTHROPIC), preset="anthropic-native", rebuild_every=2, fallback=False)
    assert await adopted(desk.bench, 2) == [FIRST, "previous:provider_block"]


async def test_a_rebuild_is_no_use_of_the_live_prefix(live_desk: LiveDesk) -> None:
    """The agent's own request holds the record, not what it stands for."""
    made = live_desk
    made.policy("claude-opus-5-5", CallMode.PREFIX, rebuild_every=2, rebuild_max_tokens=2_000_000)
    modes: list[tuple[str | None, str]] = []
    version = 0
    for number in range(2):
        seen = {"version": version, "length": len(made.messages)}
        news = [*turns(40, start=40 * number, words=12), user("And now?")]
        made.prepare(news, prefix=PREFIX, seen=seen)
        call = await made.work()
        jobs = made.service.store.run(reading.jobs(made.service.keys("p")))
        modes.append((jobs[-1].basis, call["mode"]))
        answer = made.http.post("/v1/sessions/p/adopt", json={})
        assert answer.status_code == 200, answer.text
        version = answer.json()["history_version"]
    assert modes == [(FIRST, "prefix"), (REBUILT, "transcript")]
