"""What is known of the agent's cache when a job begins, and what the choice between the modes is made from."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import msgspec
import pytest

from precompact_shared.engine.mode import USUAL_OUTPUT_TOKENS, Mode, Seen, Warmth
from precompact_shared.engine.summary import extract
from precompact_shared.engine.tokens import family_factor
from precompact_shared.engine.types import Entry, Format
from precompact_shared.policy import Policy
from precompact_shared.provider_spec import ProviderName, ProviderSpec
from precompact_shared.store.spending import DaySpent
from precompact_shared.store.types import AgentCache, JobKind, JobState, JobTag, SessionView
from precompact_worker.providers.base import Request
from precompact_worker.providers.live import (
    Habit,
    LivePrefix,
    Record,
    habit_of,
    live_prefix,
    reads_back,
    seen_of,
    sightings,
)

MODEL, CHEAP = "claude-sonnet-5-5", "claude-haiku-4-5"
NOW = 10_000_000
PREFIX: dict[str, Any] = {"system": "You are careful.", "tools": [], "params": {}}
POLICY = Policy()
HIT, MISS = (100, 90_000, 500), (91_000, 0, 0)


def view(**fields: Any) -> SessionView:
    """A session of 100,000 tokens whose agent was active a moment ago."""
    usual = {
        "tenant": "t",
        "session": "s",
        "incarnation": 1,
        "format": "anthropic",
        "version": 0,
        "rewritten_at": 0,
    }
    more = {
        "length": 3,
        "head": "",
        "tokens": 100_000,
        "model": MODEL,
        "window": 200_000,
        "max_output": 8_000,
    }
    return SessionView(**{**usual, **more, "now_ms": NOW, "last_at_ms": NOW - 1_000, **fields})


def agent(read: int, prompt: int = 90_000, *, age_s: float = 60) -> AgentCache:
    """The agent's usage; what was not read was written."""
    return AgentCache(NOW - int(age_s * 1000), prompt, read, prompt - read)


def job(
    *calls: tuple[int, int, int], mode: str = "prefix", at_ms: int = NOW - 50_000, output: int = 1_500
) -> JobTag:
    """A job with calls of so many tokens: plain, read, written."""
    names = ("input_tokens", "cache_read_tokens", "cache_write_tokens")
    told = [
        {
            **dict(zip(names, one, strict=True)),
            "output_tokens": output,
            "mode": mode,
            "outcome": "ok",
            "model": MODEL,
        }
        for one in calls
    ]
    return JobTag(
        jid="j", version=0, kind=JobKind.SPECULATIVE, state=JobState.DONE, started_ms=at_ms, calls=told
    )


def entry(seq: int, role: str, text: str) -> Entry:
    """An entry of 1,000 tokens."""
    return Entry(seq, {"role": role, "content": text}, 1_000)


def request(**fields: Any) -> Request:
    """Two entries are covered, one stays."""
    covered = (entry(0, "user", "Mend the parser. " * 100), entry(1, "assistant", "It is done. " * 100))
    carried = extract(Format.ANTHROPIC, covered, None)
    usual: dict[str, Any] = {
        "format": Format.ANTHROPIC,
        "preset": POLICY.rules,
        "carried": carried,
        "known": carried,
        "covered": covered,
        "covered_tokens": 2_000,
        "tail": (entry(2, "user", "And now?"),),
        "max_tokens": 8_000,
        "focus": None,
        "attempt": 1,
    }
    return Request(**{**usual, **fields})


def record(prefix: Any = PREFIX, kind: JobKind = JobKind.SPECULATIVE, **fields: Any) -> Record:
    """What is on record for a job of that kind."""
    this = JobTag(jid="now", version=0, kind=kind, state=JobState.RUNNING)
    usual: dict[str, Any] = {"view": view(), "jobs": ()}
    return Record(prefix=json.dumps(prefix).encode(), job=this, **{**usual, **fields})


def live(**fields: Any) -> LivePrefix:
    """The prefix on that record."""
    found = live_prefix(record(**fields), POLICY, request())
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("told", "jobs", "warmth"),
    [
        (None, (), Warmth.WARM),
        (agent(88_000), (), Warmth.WARM),
        (agent(0), (), Warmth.COLD),
        (agent(88_000, age_s=400), (), Warmth.UNSEEN),
        (agent(88_000), (job(MISS),), Warmth.COLD),
        (agent(88_000), (job(HIT, MISS),), Warmth.COLD),
        (None, (job(HIT),), Warmth.WARM),
        (agent(0, age_s=10), (job(HIT),), Warmth.COLD),
        (agent(88_000), (job(MISS, HIT),), Warmth.COLD),
        (agent(88_000), (job(MISS, mode="transcript"),), Warmth.WARM),
    ],
)
def test_warmth_is_what_was_seen(told: AgentCache | None, jobs: tuple[JobTag, ...], warmth: Warmth) -> None:
    """By the agent or by us; a miss of ours, the first call's or a later one's, outweighs all hits of the agent's."""
    assert seen_of(record(view=view(agent_cache=told), jobs=jobs), POLICY).warmth is warmth


def test_an_agent_that_never_told_its_cache_counts_as_warm_only_while_it_is_active() -> None:
    """One call of ours will say."""
    idle = view(last_at_ms=NOW - 400_000)
    assert seen_of(record(view=idle), POLICY).warmth is Warmth.UNSEEN
    assert seen_of(record(view=idle), Policy(cache_ttl_s=3_600)).warmth is Warmth.WARM


def test_the_share_is_what_the_agents_marks_keep() -> None:
    """Marks that stand early keep little of the prompt."""
    told = AgentCache(NOW, 100_000, 60_000, 0)
    assert seen_of(record(view=view(agent_cache=told)), POLICY) == Seen(Warmth.WARM, 0.6)


@pytest.mark.parametrize(
    ("calls", "read", "model", "warmth"),
    [
        (4, 200_000, MODEL, Warmth.COLD),
        (4, 300_000, MODEL, Warmth.WARM),
        (3, 0, MODEL, Warmth.WARM),
        (9, 0, "another-model", Warmth.WARM),
    ],
)
def test_what_two_sessions_found_out_holds_for_the_tenant(
    calls: int, read: int, model: str, warmth: Warmth
) -> None:
    """Until its day is over: a key of another workspace never hits."""
    day = DaySpent(
        day="d",
        provider="anthropic",
        model=model,
        mode="prefix",
        calls=calls,
        cache_read_tokens=read,
        cache_write_tokens=400_000 - read,
    )
    told = record(view=view(agent_cache=agent(88_000)), spent=(day,))
    assert seen_of(told, POLICY).warmth is warmth


@pytest.mark.parametrize(("silent", "estimated"), [(3, 0), (3, 300_000)])
def test_calls_that_told_nothing_say_nothing_of_the_tenants_cache(silent: int, estimated: int) -> None:
    """A provider that refuses or hangs up is busy; one miss among such calls is one miss."""
    told = {"provider": "anthropic", "model": MODEL, "mode": "prefix", "silent_calls": silent}
    day = DaySpent(
        day="d",
        calls=4,
        input_tokens=estimated,
        cache_write_tokens=90_000,
        estimated_tokens=estimated,
        output_tokens=2_000,
        **told,  # type: ignore[arg-type]
    )
    found = record(view=view(agent_cache=agent(88_000)), spent=(day,))
    assert seen_of(found, POLICY).warmth is Warmth.WARM
    assert habit_of(found, 10**6).output_tokens == pytest.approx(2_000 / family_factor(MODEL), abs=1)


def test_a_hit_of_a_second_call_is_no_sighting() -> None:
    """It reads what the first one wrote; but whether it does is known from then on."""
    [seen] = sightings([job(MISS, HIT)], MODEL)
    assert not seen.is_hit
    assert reads_back([job(MISS, HIT)], MODEL)
    assert not reads_back([job(MISS, HIT), job(HIT, MISS)], MODEL)
    assert reads_back([job(HIT)], MODEL)


def test_calls_of_another_model_or_on_a_candidate_say_nothing() -> None:
    """Caches are kept by model, and no agent has sent what a refresh builds on."""
    refresh = msgspec.structs.replace(job(MISS), kind=JobKind.REFRESH)
    assert sightings([job(MISS), refresh], "another-model") == sightings([refresh], MODEL) == []


def test_a_job_on_an_open_candidate_finds_no_cache() -> None:
    """On the checkpoint that the agent has it does."""
    for base, warmth in (("c2", Warmth.COLD), ("c1", Warmth.WARM), (None, Warmth.WARM)):
        told = record(view=view(checkpoint="c1", agent_cache=agent(88_000)))
        on = dataclasses.replace(told, job=msgspec.structs.replace(told.job, base=base))
        assert seen_of(on, POLICY).warmth is warmth


def test_what_summaries_are_like_is_learnt_from_the_session_then_from_the_tenant() -> None:
    """Before there was one it is what recorded sessions have."""
    assert habit_of(record(), 8_000) == Habit(USUAL_OUTPUT_TOKENS, 1.0)
    assert habit_of(record(), 500) == Habit(500, 1.0)
    day = DaySpent(day="d", provider="anthropic", model=MODEL, mode="prefix", calls=2, output_tokens=3_000)
    other = DaySpent(day="d", provider="anthropic", model=MODEL, mode="native", calls=2, output_tokens=9_000)
    assert habit_of(record(spent=(day, other)), 8_000) == Habit(1_000, 1.0)
    jobs = (job(HIT), job(HIT, HIT, output=1_200))
    assert habit_of(record(jobs=jobs, spent=(day,)), 8_000) == Habit(800, 1.5)


def test_the_whole_context_is_sent_where_it_fits() -> None:
    """After the provider refused the size, or beyond the hard limit, what stands before the cut."""
    assert (live().sends_tail, live().prompt_tokens) == (True, 100_000)
    refused = live(kind=JobKind.OVERFLOW)
    assert (refused.sends_tail, refused.prompt_tokens) == (False, 99_000)
    assert not live(view=view(tokens=199_000)).sends_tail


def test_parameters_that_have_to_go_take_the_cache_with_them() -> None:
    """A forced call and a format of the answer are part of what a cache is kept by."""
    for params in ({"tool_choice": {"type": "any"}}, {"text": {"format": {"type": "json_object"}}}):
        assert live(prefix={**PREFIX, "params": params}).seen == Seen(Warmth.COLD)
    assert live(prefix={**PREFIX, "params": {"tool_choice": {"type": "auto"}}}).seen.warmth is Warmth.WARM


def test_without_a_prefix_on_record_there_is_none() -> None:
    """Nor with one that is no object."""
    assert live_prefix(record(prefix=[]), POLICY, request()) is None


@pytest.mark.parametrize(
    ("told", "mode"), [(agent(88_000), Mode.PREFIX), (agent(0), Mode.TRANSCRIPT)], ids=["warm", "cold"]
)
def test_the_agents_usage_decides_between_the_modes(told: AgentCache, mode: Mode) -> None:
    """Against a transcript of 60,000 tokens by a cheaper model."""
    long = (entry(0, "user", "Mend the parser now. " * 12_000),)
    found = live_prefix(record(view=view(agent_cache=told)), POLICY, request(covered=long))
    assert found is not None
    choice = found.choice(ProviderSpec(name=ProviderName.ANTHROPIC, model=CHEAP), MODEL, POLICY)
    assert choice.mode is mode
    assert choice.transcript_usd == pytest.approx(0.08, rel=0.3)
