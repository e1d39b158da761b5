"""The table of decisions, row by row, at its edges."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from precompact_shared.engine.limits import limits
from precompact_shared.engine.preset import load_preset
from precompact_shared.engine.trigger import (
    FAR_AWAY_MS,
    Action,
    Brakes,
    Decision,
    IdleClock,
    Kind,
    LastTry,
    LiveJob,
    OpenCandidate,
    Reason,
    SizeFacts,
    decide,
    start_point,
)

LIMITS = limits(load_preset("precompact"), window=200_000, max_output=32_000)
QUEUED = LiveJob(jid="j", kind="speculative", state="queued")
READY = OpenCandidate(cid="c1", upto=40, tokens_before=70_000, tokens_after=5_000, tokens_at_snapshot=100_000)


def decided(tokens: int, **facts: Any) -> Decision:
    """The decision about a session of this size."""
    return decide(SizeFacts(tokens=tokens, **{"limits": LIMITS, **facts}))


def told(decision: Decision) -> tuple[Action, Kind | None, Reason]:
    """What matters of a decision."""
    return decision.action, decision.kind, decision.reason


def test_an_unknown_window_is_told_and_never_silent() -> None:
    """The reason says what to do."""
    decision = decided(10_000_000, limits=None)
    assert told(decision) == (Action.NONE, None, Reason.WINDOW_UNKNOWN)
    assert "send `window`" in decision.reason


def test_nothing_happens_to_a_small_session() -> None:
    """The last row."""
    assert told(decided(1_000)) == (Action.NONE, None, Reason.BELOW_START)


def test_speculation_starts_at_the_start_point_and_not_before() -> None:
    """Without growth that is 85 % of the limit."""
    edge = LIMITS.start_high
    assert decided(edge - 1).action is Action.NONE
    assert told(decided(edge)) == (Action.CLAIM, Kind.SPECULATIVE, Reason.START)


def test_a_fast_session_starts_sooner_but_never_below_65_percent() -> None:
    """The start leaves one slow job's time at the session's growth."""
    assert start_point(LIMITS, 0, 30) == LIMITS.start_high
    assert start_point(LIMITS, 1_000, 30) == LIMITS.limit - 30_000
    assert start_point(LIMITS, 1_000_000, 30) == LIMITS.start_low
    assert start_point(LIMITS, -5, 30) == LIMITS.start_high


def test_below_the_minimum_nothing_is_speculated() -> None:
    """Such a summary costs more than it saves."""
    small = limits(load_preset("precompact"), window=200_000, max_output=100_000)
    assert small.start_low < 64_000 < small.start_high
    facts = SizeFacts(tokens=63_999, limits=small, growth_tokens_per_s=100_000)
    assert decide(facts).reason is Reason.BELOW_MINIMUM
    assert decide(SizeFacts(tokens=64_000, limits=small, growth_tokens_per_s=100_000)).action is Action.CLAIM


def test_a_minimum_above_the_limit_still_lets_a_session_speculate() -> None:
    """Or it would meet its limit cold every time."""
    tight = limits(load_preset("precompact"), window=128_000, max_output=70_000)
    assert tight.limit < tight.min_tokens
    assert decide(SizeFacts(tokens=tight.start_high, limits=tight)).kind is Kind.SPECULATIVE


def test_at_the_limit_a_job_is_due_at_once() -> None:
    """Urgency 0 means now."""
    decision = decided(LIMITS.limit)
    assert told(decision) == (Action.CLAIM, Kind.DUE, Reason.LIMIT)
    assert decision.urgency_ms == 0


def test_urgency_is_the_predicted_time_to_the_limit() -> None:
    """At 100 tokens a second."""
    tokens = LIMITS.start_high
    assert decided(tokens, growth_tokens_per_s=100).urgency_ms == (LIMITS.limit - tokens) * 10
    assert decided(tokens).urgency_ms == FAR_AWAY_MS


@pytest.mark.parametrize("tokens", [LIMITS.start_high, LIMITS.limit, LIMITS.hard])
def test_one_live_job_a_session(tokens: int) -> None:
    """Whatever the size, nothing is claimed beside it."""
    running = LiveJob(jid="j", kind="due", state="running")
    assert told(decided(tokens, job=running)) == (Action.NONE, None, Reason.IN_FLIGHT)


@pytest.mark.parametrize("state", ["ready", "queued", "running"])
@pytest.mark.parametrize("kind", ["speculative", "refresh", "idle"])
def test_a_job_in_the_background_is_hurried_when_the_limit_is_reached(kind: str, state: str) -> None:
    """Waiting for a worker or for its time, or running: it is due by now, and not doubled."""
    job = LiveJob(jid="j", kind=kind, state=state)
    assert decided(LIMITS.limit - 1, job=job).reason is Reason.IN_FLIGHT
    assert told(decided(LIMITS.limit, job=job)) == (Action.HURRY, Kind.DUE, Reason.LIMIT_NEAR)


def test_a_job_that_is_urgent_already_is_left_alone() -> None:
    """Once is enough."""
    due = LiveJob(jid="j", kind="due", state="queued")
    assert decided(LIMITS.limit, job=due).action is Action.NONE


@pytest.mark.parametrize(
    "brakes",
    [
        Brakes(paused=True),
        Brakes(thrash=True),
        Brakes(provider_open=True),
        Brakes(spend_open=True),
    ],
)
def test_at_hard_something_always_runs(brakes: Brakes) -> None:
    """Without paid calls, but it runs."""
    decision = decided(LIMITS.hard, brakes=brakes)
    assert told(decision) == (Action.CLAIM, Kind.DUE, Reason.HARD)
    assert decision.extractive_only


@pytest.mark.parametrize(
    ("brakes", "reason"),
    [(Brakes(paused=True), Reason.PAUSED), (Brakes(thrash=True), Reason.THRASH)],
)
def test_pause_and_thrash_stop_all_below_hard(brakes: Brakes, reason: Reason) -> None:
    """Also at the limit."""
    for tokens in (LIMITS.start_high, LIMITS.limit, LIMITS.hard - 1):
        assert told(decided(tokens, brakes=brakes)) == (Action.NONE, None, reason)


def test_an_open_breaker_stops_speculation_and_degrades_what_is_due() -> None:
    """The chain goes on without the provider."""
    brakes = Brakes(provider_open=True)
    assert decided(LIMITS.start_high, brakes=brakes).reason is Reason.BREAKER
    decision = decided(LIMITS.limit, brakes=brakes)
    assert decision.kind is Kind.DUE
    assert decision.extractive_only


def test_a_fresh_candidate_needs_nothing_more() -> None:
    """It waits for adoption."""
    assert decided(110_000, candidate=READY).reason is Reason.CANDIDATE_READY


def test_a_candidate_is_refreshed_when_its_tail_gets_too_long() -> None:
    """The base is named, and the limit is not awaited."""
    edge = 100_000 + LIMITS.growth_max
    assert decided(edge, candidate=READY).action is Action.NONE
    decision = decided(edge + 1, candidate=READY)
    assert told(decision) == (Action.CLAIM, Kind.REFRESH, Reason.CANDIDATE_AGES)
    assert decision.base == "c1"


def test_looking_ahead_never_makes_a_refresh_follow_its_candidate_at_once() -> None:
    """However fast the session grows, half of the growth allowed has to be there."""
    facts = {"candidate": READY, "growth_tokens_per_s": 1e9}
    assert decided(100_000, **facts).action is Action.NONE
    assert decided(100_001 + LIMITS.growth_max - LIMITS.growth_max // 2, **facts).kind is Kind.REFRESH


def test_at_the_limit_a_candidate_that_fits_is_left_to_be_adopted() -> None:
    """One that no longer does is refreshed, as urgent as what is due."""
    assert decided(LIMITS.limit, candidate=READY).reason is Reason.CANDIDATE_READY
    long = OpenCandidate(
        cid="c2", upto=4, tokens_before=2_000, tokens_after=1_900, tokens_at_snapshot=100_000
    )
    decision = decided(LIMITS.limit + 100, candidate=long)
    assert told(decision) == (Action.CLAIM, Kind.REFRESH, Reason.CANDIDATE_TOO_LONG)
    assert decision.urgency_ms == 0


def test_without_its_own_numbers_a_candidate_is_projected_from_what_came_since() -> None:
    """An event may not say what it replaces."""
    bare = OpenCandidate(cid="c3", upto=40, tokens_after=5_000, tokens_at_snapshot=130_000)
    assert decided(LIMITS.limit, candidate=bare).reason is Reason.CANDIDATE_READY
    old = OpenCandidate(cid="c3", upto=40, tokens_after=5_000, tokens_at_snapshot=10_000)
    assert decided(LIMITS.limit, candidate=old).kind is Kind.REFRESH


def test_after_a_job_that_found_nothing_the_session_has_to_grow_first() -> None:
    """Or every append past the start would pay for a try."""
    tokens = LIMITS.limit
    last = LastTry(tokens=tokens, reason="no_safe_cut")
    assert decided(tokens + 10, last_try=last).reason is Reason.NOTHING_NEW
    assert decided(tokens + LIMITS.keep_tokens // 2, last_try=last).kind is Kind.DUE
    assert decided(tokens - 10, last_try=last).reason is not Reason.NOTHING_NEW
    assert decided(LIMITS.hard, last_try=LastTry(tokens=LIMITS.hard, reason="x")).kind is Kind.DUE


def test_a_job_that_failed_in_the_background_does_not_keep_what_is_due_from_running() -> None:
    """It asked part of its chain only; below the limit the session has to grow as after any other."""
    last = LastTry(tokens=LIMITS.start_high, reason="provider_failed", background=True)
    assert decided(LIMITS.start_high + 10, last_try=last).reason is Reason.NOTHING_NEW
    assert decided(LIMITS.limit, last_try=last).kind is Kind.DUE
    at_limit = LastTry(tokens=LIMITS.limit, reason="provider_failed", background=True)
    assert decided(LIMITS.limit + 10, last_try=at_limit).kind is Kind.DUE


def test_without_background_only_the_limit_counts() -> None:
    """A policy that wants no speculation."""
    assert decided(LIMITS.start_high, background=False).reason is Reason.BACKGROUND_OFF
    assert decided(LIMITS.limit, background=False).kind is Kind.DUE


@pytest.mark.parametrize(
    ("left_s", "tokens", "done", "kind"),
    [
        (20, 50_000, False, Kind.IDLE),
        (31, 50_000, False, None),
        (-1, 50_000, False, None),
        (20, 39_999, False, None),
        (20, 50_000, True, None),
    ],
)
def test_an_idle_job_uses_a_cache_that_is_about_to_expire(
    left_s: float, tokens: int, done: bool, kind: Kind | None
) -> None:
    """Within the lead time, above its minimum, once."""
    idle = IdleClock(expires_in_s=left_s, lead_s=30, min_tokens=40_000, done=done)
    assert decided(tokens, idle=idle).kind is kind


FACTS = st.fixed_dictionaries(
    {
        "tokens": st.integers(0, 400_000),
        "growth_tokens_per_s": st.floats(0, 1e6),
        "brakes": st.builds(Brakes, paused=st.booleans(), provider_open=st.booleans()),
        "candidate": st.sampled_from([None, READY]),
        "job": st.sampled_from([None, QUEUED]),
        "background": st.booleans(),
    }
)


@given(FACTS)
def test_any_facts_get_one_signed_decision(facts: dict[str, Any]) -> None:
    """Every claim names its kind and base, no claim meets a live job, and at `hard` a session is never left alone."""
    decision = decided(**facts)
    assert decision.row
    assert (decision.kind is None) == (decision.action is Action.NONE)
    assert (decision.base is not None) == (decision.kind is Kind.REFRESH)
    if facts["job"]:
        assert decision.action is not Action.CLAIM
    elif facts["tokens"] >= LIMITS.hard and not facts["candidate"]:
        assert decision.kind is Kind.DUE
