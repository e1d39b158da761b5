"""A cut inside a turn, summarised by a model: the turn's head is asked for apart, checked apart, and stands apart."""

from __future__ import annotations

import json
from typing import Any

import pytest

from precompact_shared.engine.preset import Preset, load_preset
from precompact_shared.provider_spec import CallMode, ProviderName
from precompact_shared.store import reading
from precompact_shared.store.types import JobKind, JobTag
from precompact_standin.scenario import Fault, FaultKind, FaultRule, Scenario
from precompact_worker.tools import Ended
from tests.integration.test_live_prefix import PREFIX
from tests.integration.test_live_prefix import Desk as LiveDesk
from tests.integration.test_live_prefix import desk as live_desk
from tests.integration.test_worker import Bench, new_bench
from tests.integration.test_worker_presets import loop
from tests.integration.test_worker_providers import Office, office, wire
from tests.integration.test_worker_standin import Desk, desk
from tests.support.talk import turns

__all__ = ["desk", "live_desk", "new_bench", "office", "wire"]

HISTORY = "The tables were looked at."
HEAD = "The parser is half rewritten."
DIVIDING = ("precompact", "pi")


def record(preset: Preset, sentence: str, *, head: bool = False, without: str = "") -> str:
    """A record as a model might write it, for either part."""
    sections = preset.summary.split_sections if head else preset.summary.sections
    return "\n\n".join(f"{one.heading}\n{sentence}" for one in sections if one.heading != without)


def transcript(office: Office, number: int) -> str:
    """What the number-th request (from 0) shows."""
    asked = office.wire.asked(office.server.requests[number].body)
    return asked[asked.index("<transcript ") : asked.index("</transcript>")]


async def worked(made: Bench, kind: JobKind = JobKind.SPECULATIVE) -> tuple[JobTag, dict[str, Any]]:
    """One job on short turns and a long loop of tools, and its candidate's body."""
    made.filled.append([*turns(8, words=12), *loop(14)])
    job = made.filled.claim(kind)
    assert await made.work(job) == Ended("stored")
    [tag] = [tag for tag in made.candidates() if tag.slot != "floor"]
    return made.job(job), made.body(tag.cid)


@pytest.mark.parametrize("name", DIVIDING)
async def test_the_head_of_the_turn_is_asked_for_in_a_call_of_its_own(office: Office, name: str) -> None:
    """Each sees its own entries and its own headings; both stand in one summary, with what code knows of each."""
    preset = load_preset(name)
    answers = (record(preset, HISTORY), record(preset, HEAD, head=True))
    await office.open(*map(office.wire.reply, answers), preset=name)
    job, body = await worked(office.bench)
    assert [told["outcome"] for told in job.calls] == ["ok", "ok"]
    assert "request 0:" in transcript(office, 0)
    assert "rewrite the parser" not in transcript(office, 0)
    assert "rewrite the parser" in transcript(office, 1)
    assert "request 0:" not in transcript(office, 1)
    second = office.wire.asked(office.server.requests[1].body)
    assert preset.summary.split_sections[0].heading in second
    assert preset.summary.sections[0].heading not in second.replace(
        preset.summary.split_sections[0].heading, ""
    )
    assert "the beginning of a single turn" in second
    history, between, head = body["summary"].partition(preset.summary.split_heading)
    assert between
    assert HISTORY in history
    assert HEAD in head
    assert "rewrite the parser" in head
    assert "rewrite the parser" not in history
    assert "request 0" in history
    assert "request 0" not in head


async def test_a_head_without_a_heading_is_sent_back_alone(office: Office) -> None:
    """The record of what came before it is not paid for again."""
    preset = load_preset("precompact")
    missing = preset.summary.split_sections[1].heading
    answers = (
        record(preset, HISTORY),
        record(preset, "Nothing yet.", head=True, without=missing),
        record(preset, HEAD, head=True),
    )
    await office.open(*map(office.wire.reply, answers))
    job, body = await worked(office.bench)
    assert len(job.calls) == 3
    assert f'The heading "{missing}" is missing' in office.wire.asked(office.server.requests[2].body)
    assert HISTORY in body["summary"]
    assert HEAD in body["summary"]


async def test_a_head_that_never_passes_leaves_both_to_the_next_in_the_chain(office: Office) -> None:
    """Half a summary is none."""
    preset = load_preset("precompact")
    await office.open(*map(office.wire.reply, (record(preset, HISTORY), "It went well.")))
    job, body = await worked(office.bench)
    assert [told["outcome"] for told in job.calls] == ["ok", "ok", "section_missing", "ok"]
    assert job.calls[-1]["provider"] == "extractive"
    assert HISTORY not in body["summary"]
    assert preset.summary.split_heading in body["summary"]


@pytest.mark.parametrize("name", DIVIDING)
async def test_a_real_client_and_a_strict_server_bring_both_parts(desk: Desk, name: str) -> None:
    """The whole passes the preset's checks and stays within its bound; all of it was seen."""
    desk.policy(desk.spec(ProviderName.ANTHROPIC), preset=name, fallback=False)
    job, body = await worked(desk.bench)
    [tag] = [tag for tag in desk.bench.candidates() if tag.slot != "floor"]
    assert [told["outcome"] for told in job.calls] == ["ok", "ok"]
    assert load_preset(name).summary.split_heading in body["summary"]
    # pi shows 2,000 characters of a result.
    assert (tag.coverage == 1.0) == (name == "precompact")
    assert tag.cost_usd == pytest.approx(sum(told["cost_usd"] for told in job.calls))


async def test_a_second_call_that_is_refused_for_a_while_puts_the_job_off(desk: Desk) -> None:
    """In the background; the first call is on record."""
    desk.policy(desk.spec(ProviderName.ANTHROPIC))
    busy = FaultRule(fault=Fault(kind=FaultKind.RATE_LIMITED, retry_after="30"), on=(2,))
    desk.standin.play(Scenario(faults=(busy,)))
    desk.bench.filled.append([*turns(8, words=12), *loop(14)])
    job = desk.bench.filled.claim()
    assert await desk.bench.work(job) == Ended("retry", "provider_failed")
    assert [told["outcome"] for told in desk.bench.job(job).calls] == ["ok", "rate_limit_error"]


async def test_a_turn_that_begins_the_history_has_one_record(desk: Desk) -> None:
    """There is nothing before it to be told apart from."""
    desk.policy(desk.spec(ProviderName.ANTHROPIC), fallback=False)
    desk.bench.filled.append(loop(16))
    job = await desk.done()
    assert len([told for told in job.calls if told["outcome"] == "ok"]) == 1


async def test_on_the_live_prefix_both_parts_are_asked_for_at_once(live_desk: LiveDesk) -> None:
    """The agent's own request is one call; its form has all the headings."""
    live_desk.policy("claude-opus-5-5", CallMode.PREFIX)
    big = [*turns(8, words=12), *loop(30)]
    live_desk.prepare(big, prefix=PREFIX, window=90_000)
    call = await live_desk.work()
    assert (call["mode"], call["outcome"]) == ("prefix", "ok")
    service = live_desk.service
    tags = service.store.run(reading.candidates(service.keys("p")))
    [tag] = [tag for tag in tags if tag.slot != "floor"]
    raw = service.store.run(reading.candidate_body(service.keys("p"), tag.cid))
    assert raw is not None
    summary = json.loads(raw)["summary"]
    preset = load_preset("precompact")
    history, between, head = summary.partition(preset.summary.split_heading)
    assert between
    assert "rewrite the parser" in head
    assert "rewrite the parser" not in history
    assert "request 0" in history
