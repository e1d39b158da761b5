"""Every gate opens and closes at its edge, and the hard ones come first."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest

from precompact_shared.engine.gates import (
    Action,
    Circumstances,
    Defer,
    Discard,
    Mode,
    Pays,
    Verdict,
    judge,
    mode_of,
)
from precompact_shared.engine.limits import limits, margin_tokens
from precompact_shared.engine.preset import load_preset

PRESET = load_preset("precompact")
WINDOW = 200_000
LIMITS = limits(PRESET, window=WINDOW, max_output=32_000)
PRESSING = (Mode.AT_LIMIT, Mode.HARD, Mode.OVERFLOW, Mode.REQUESTED)
COLD = Circumstances(cache_cold=True)


@dataclass(frozen=True)
class Candidate:
    """A candidate that passes every gate unless told otherwise."""

    version: int = 3
    upto: int = 50
    through: int = 0
    slot: str = "speculative"
    kind: str = "summary"
    tokens_before: int = 80_000
    tokens_after: int = 5_000
    tokens_at_snapshot: int = 100_000


@dataclass(frozen=True)
class Session:
    """A session a little larger than at the snapshot."""

    version: int = 3
    upto: int = 10
    tokens: int = 110_000
    anchored: bool = False
    overhead: int = 0
    context_tokens: int = 110_000


def judged(
    mode: Mode = Mode.AT_LIMIT, *, session: Session | None = None, now: Circumstances = COLD, **candidate: Any
) -> Verdict:
    """The verdict on a good candidate with these differences."""
    return judge(
        Candidate(**candidate),
        session or Session(),
        preset=PRESET,
        limits=LIMITS,
        window=WINDOW,
        mode=mode,
        circumstances=now,
    )


@pytest.mark.parametrize(
    ("mode", "why"),
    [
        (Mode.BELOW_LIMIT, Pays.CACHE_COLD),
        (Mode.AT_LIMIT, Pays.LIMIT),
        (Mode.HARD, Pays.LIMIT),
        (Mode.OVERFLOW, Pays.OVERFLOW),
        (Mode.REQUESTED, Pays.REQUESTED),
    ],
)
def test_a_good_candidate_is_adopted_when_it_pays(mode: Mode, why: Pays) -> None:
    """Rule 11, with the reason told."""
    verdict = judged(mode)
    assert (verdict.action, verdict.reason) == (Action.ADOPT, why)
    assert (verdict.growth_tokens, verdict.saving_tokens, verdict.projected_tokens) == (
        10_000,
        75_000,
        35_000,
    )


@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize(
    ("change", "now", "reason"),
    [
        ({"version": 2}, COLD, Discard.VERSION_CHANGED),
        ({"version": 4}, COLD, Discard.VERSION_CHANGED),
        ({"upto": 10}, COLD, Discard.NOT_AHEAD),
        ({"tokens_after": 80_000}, COLD, Discard.NOT_SMALLER),
        ({"kind": "native"}, replace(COLD, same_family=False), Discard.INSTRUCTIONS_CHANGED),
        ({"kind": "native"}, replace(COLD, same_instructions=False), Discard.INSTRUCTIONS_CHANGED),
        ({}, replace(COLD, valid=False), Discard.INVALID),
    ],
)
def test_hard_gates_discard_in_every_mode(
    mode: Mode, change: dict[str, Any], now: Circumstances, reason: Discard
) -> None:
    """No need is pressing enough to adopt what is wrong."""
    verdict = judged(mode, now=now, **change)
    assert (verdict.action, verdict.reason) == (Action.DISCARD, reason)


@pytest.mark.parametrize("mode", list(Mode))
def test_an_open_call_defers_in_every_mode(mode: Mode) -> None:
    """Rule 8: it will be answered soon, the candidate is kept."""
    verdict = judged(mode, now=replace(COLD, open_call=True))
    assert (verdict.action, verdict.reason) == (Action.DEFER, Defer.OPEN_CALL)


@pytest.mark.parametrize("mode", [Mode.BELOW_LIMIT, Mode.REQUESTED, Mode.AT_LIMIT])
def test_open_thinking_defers_while_the_request_fits(mode: Mode) -> None:
    """Rule 8: the loop will end, the candidate is kept."""
    verdict = judged(mode, now=replace(COLD, open_thinking=True))
    assert (verdict.action, verdict.reason) == (Action.DEFER, Defer.OPEN_THINKING)


@pytest.mark.parametrize("mode", [Mode.HARD, Mode.OVERFLOW])
def test_open_thinking_gives_way_where_the_request_would_not_fit(mode: Mode) -> None:
    """A tool loop may outlast the window: without thinking the request has a chance, too long it has none."""
    assert judged(mode, now=replace(COLD, open_thinking=True)).action is Action.ADOPT


def test_open_thinking_does_not_concern_a_native_candidate() -> None:
    """The provider's own block may stand before thinking."""
    verdict = judged(kind="native", now=replace(COLD, open_thinking=True))
    assert verdict.action is Action.ADOPT


def test_below_the_limit_a_warm_cache_defers() -> None:
    """Adopting would pay for the cache again and win nothing yet."""
    assert judged(Mode.BELOW_LIMIT, now=Circumstances()).reason is Defer.CACHE_WARM


def test_growth_since_the_snapshot_is_bounded_below_the_limit_only() -> None:
    """At the edge it is adopted, one token later deferred; at the limit neither matters."""
    edge = 100_000 + LIMITS.growth_max
    assert judged(Mode.BELOW_LIMIT, session=Session(tokens=edge)).action is Action.ADOPT
    assert judged(Mode.BELOW_LIMIT, session=Session(tokens=edge + 1)).reason is Defer.GROWTH
    for mode in PRESSING:
        assert judged(mode, session=Session(tokens=edge + 1)).action is Action.ADOPT


def test_a_small_saving_is_adopted_only_under_pressure() -> None:
    """Ten percent of the size before is the least below the limit."""
    after = 80_000 - 110_000 // 10
    assert judged(Mode.BELOW_LIMIT, tokens_after=after).action is Action.ADOPT
    assert judged(Mode.BELOW_LIMIT, tokens_after=after + 1).reason is Defer.SAVING
    for mode in PRESSING:
        assert judged(mode, tokens_after=after + 1).action is Action.ADOPT


def test_at_the_limit_a_saving_of_next_to_nothing_waits_for_hard() -> None:
    """Forty tokens are not worth a prompt cache; where the request would not fit they are better than nothing."""
    session = Session(tokens=LIMITS.limit + 100)
    change: dict[str, Any] = {"tokens_after": 79_960}
    assert judged(Mode.AT_LIMIT, session=session, **change).reason is Defer.SAVING
    assert judged(Mode.HARD, session=Session(tokens=LIMITS.hard + 30), **change).action is Action.ADOPT
    just_enough: dict[str, Any] = {"tokens_after": 80_000 - PRESET.adoption.saving_min_tokens}
    assert judged(Mode.AT_LIMIT, session=session, **just_enough).action is Action.ADOPT
    below: dict[str, Any] = {"tokens_after": 80_000 - 101}
    assert judged(Mode.AT_LIMIT, session=session, **below).action is Action.ADOPT


def test_a_saving_counts_in_the_providers_tokens() -> None:
    """Where the provider reported twice what we reckon, what goes away goes away twice."""
    counted = Session(
        tokens=LIMITS.hard + 20_000, anchored=True, overhead=20_000, context_tokens=LIMITS.hard // 2
    )
    change: dict[str, Any] = {"tokens_before": 30_000, "tokens_after": 10_000}
    verdict = judged(Mode.HARD, session=counted, **change)
    assert (verdict.action, verdict.projected_tokens) == (Action.ADOPT, LIMITS.hard - 20_000)
    guessed = Session(tokens=LIMITS.hard + 20_000, context_tokens=LIMITS.hard + 20_000)
    assert judged(Mode.HARD, session=guessed, **change).reason is Defer.DOES_NOT_FIT


def test_below_the_limit_the_result_must_leave_a_margin() -> None:
    """A compaction that lands right at the limit would be followed by the next one."""
    room = LIMITS.limit - margin_tokens(PRESET, WINDOW)
    change: dict[str, Any] = {"tokens_before": 20_000, "tokens_after": 2_000}
    session = Session(tokens=room + 18_000)
    fitting = {**change, "tokens_at_snapshot": session.tokens}
    assert judged(Mode.BELOW_LIMIT, session=session, **fitting).action is Action.ADOPT
    one_more = Session(tokens=room + 18_001)
    assert judged(Mode.BELOW_LIMIT, session=one_more, **fitting).reason is Defer.PROJECTED_SIZE


@pytest.mark.parametrize("mode", list(Mode))
def test_a_block_waits_until_it_is_known_what_it_would_stand_under(mode: Mode) -> None:
    """Its instructions may be the same in another word: it is kept; a summary in words does not care."""
    now = replace(COLD, same_instructions=None)
    verdict = judged(mode, now=now, kind="native")
    assert (verdict.action, verdict.reason) == (Action.DEFER, Defer.INSTRUCTIONS_UNKNOWN)
    assert judged(mode, now=now).action is Action.ADOPT


@pytest.mark.parametrize("mode", PRESSING)
def test_what_does_not_fit_is_never_adopted(mode: Mode) -> None:
    """Below `hard` or not at all."""
    fitting = Session(tokens=LIMITS.hard - 1 + 75_000)
    assert judged(mode, session=fitting).action is Action.ADOPT
    assert judged(mode, session=Session(tokens=LIMITS.hard + 75_000)).reason is Defer.DOES_NOT_FIT


@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize("wait_spent", [True, False])
def test_a_floor_is_adopted_only_at_hard_or_overflow_once_the_wait_is_spent(
    mode: Mode, wait_spent: bool
) -> None:
    """Rule 13."""
    verdict = judged(mode, slot="floor", now=replace(COLD, wait_spent=wait_spent))
    if mode in (Mode.HARD, Mode.OVERFLOW) and wait_spent:
        assert verdict.action is Action.ADOPT
    else:
        assert verdict.reason is Defer.FLOOR


@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize("wait_spent", [True, False])
def test_while_a_manual_job_runs_nothing_else_is_adopted_before_the_limit(
    mode: Mode, wait_spent: bool
) -> None:
    """Rule 17; its own candidate is no 'else'."""
    now = replace(COLD, manual_running=True, wait_spent=wait_spent)
    assert judged(mode, slot="manual", now=now).action is Action.ADOPT
    pressing = mode in (Mode.AT_LIMIT, Mode.HARD, Mode.OVERFLOW) and wait_spent
    assert judged(mode, now=now).reason is not Defer.MANUAL_RUNNING if pressing else True
    if not pressing:
        assert judged(mode, now=now).reason is Defer.MANUAL_RUNNING


def test_clearing_is_ahead_although_it_keeps_the_boundary() -> None:
    """Rule 7: it covers nothing more, it adds edits."""
    assert judged(kind="clearing", upto=10, through=40).action is Action.ADOPT
    assert judged(kind="clearing", upto=10, through=0).reason is Discard.NOT_AHEAD


def test_hard_gates_come_before_what_defers() -> None:
    """A dead candidate is not kept waiting for a result."""
    verdict = judged(version=2, now=replace(COLD, open_call=True))
    assert verdict.action is Action.DISCARD


@pytest.mark.parametrize(
    ("tokens", "requested", "overflow", "mode"),
    [
        (1_000, False, False, Mode.BELOW_LIMIT),
        (1_000, True, False, Mode.REQUESTED),
        (LIMITS.limit, True, False, Mode.AT_LIMIT),
        (LIMITS.hard, True, False, Mode.HARD),
        (1_000, True, True, Mode.OVERFLOW),
    ],
)
def test_the_mode_follows_from_size_refusal_and_wish(
    tokens: int, requested: bool, overflow: bool, mode: Mode
) -> None:
    """A refusal counts more than a size, a size more than a wish."""
    assert mode_of(tokens, LIMITS, requested=requested, overflow=overflow) is mode
