"""What is done after a provider has failed: one table, and nobody who waits is left without an answer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from precompact_shared.engine.recovery import (
    WAIT_MOST_S,
    Action,
    Ahead,
    Reason,
    Setback,
    is_urgent,
    next_step,
)

BUSY = Setback("provider_failed", passes=True, after_s=30)
BROKEN = Setback("provider_configuration", passes=False)


@pytest.mark.parametrize(
    ("setbacks", "ahead", "urgent", "action", "reason"),
    [
        ([BUSY], Ahead.MODEL, False, Action.ASK_NEXT, Reason.ANOTHER_MODEL),
        ([BUSY], Ahead.MODEL, True, Action.ASK_NEXT, Reason.ANOTHER_MODEL),
        ([BUSY], Ahead.CODE, True, Action.ASK_NEXT, Reason.SOMEBODY_WAITS),
        ([BUSY], Ahead.CODE, False, Action.WAIT, Reason.IT_PASSES),
        ([BROKEN, BUSY], Ahead.CODE, False, Action.WAIT, Reason.IT_PASSES),
        ([BUSY, BROKEN], Ahead.CODE, False, Action.WAIT, Reason.IT_PASSES),
        ([BROKEN], Ahead.CODE, False, Action.ASK_NEXT, Reason.NOTHING_PASSES),
        ([BROKEN], Ahead.CODE, True, Action.ASK_NEXT, Reason.SOMEBODY_WAITS),
        ([BUSY], Ahead.NOTHING, True, Action.WAIT, Reason.IT_PASSES),
        ([BUSY], Ahead.NOTHING, False, Action.WAIT, Reason.IT_PASSES),
        ([BROKEN], Ahead.NOTHING, False, Action.GIVE_UP, Reason.CHAIN_SPENT),
        ([BUSY, BROKEN], Ahead.NOTHING, True, Action.WAIT, Reason.IT_PASSES),
    ],
)
def test_the_table(
    setbacks: list[Setback], ahead: Ahead, *, urgent: bool, action: Action, reason: Reason
) -> None:
    """Background work waits for a model; what is due falls through to the provider that needs none."""
    step = next_step(setbacks, ahead=ahead, urgent=urgent)
    assert (step.action, step.reason) == (action, reason)


def test_nobody_is_asked_again_before_the_time_it_named() -> None:
    """The next attempt begins with the first of the chain: the longest time counts, and says who named it."""
    soon, late = Setback("a", passes=True, after_s=2), Setback("b", passes=True, after_s=90)
    step = next_step([soon, late, BROKEN, soon], ahead=Ahead.CODE, urgent=False)
    assert (step.by, step.after_s) == (1, 90)


@pytest.mark.parametrize(("asked_s", "waited_s"), [(9_999_999, WAIT_MOST_S), (-5, 0), (0, 0), (12.5, 12.5)])
def test_a_wait_is_bounded_whatever_a_server_asks_for(asked_s: float, waited_s: float) -> None:
    """Some have asked for weeks."""
    step = next_step([Setback("a", passes=True, after_s=asked_s)], ahead=Ahead.NOTHING, urgent=True)
    assert step.after_s == waited_s


@pytest.mark.parametrize(
    ("kind", "urgent"),
    [
        ("due", True),
        ("overflow", True),
        ("manual", True),
        ("speculative", False),
        ("refresh", False),
        ("idle", False),
    ],
)
def test_who_waits_for_a_job_is_known_by_its_kind(kind: str, urgent: bool) -> None:
    """The ledger's kinds."""
    assert is_urgent(kind) is urgent


SETBACKS = st.lists(
    st.builds(Setback, st.just("x"), passes=st.booleans(), after_s=st.floats(-10, 1e7)), min_size=1
)


@given(SETBACKS, st.sampled_from(Ahead), st.booleans())
def test_a_step_can_always_be_taken(setbacks: list[Setback], ahead: Ahead, urgent: bool) -> None:
    """Nobody is asked where nobody is left, who decided exists, and only what passes is waited for."""
    step = next_step(setbacks, ahead=ahead, urgent=urgent)
    assert (step.action is Action.ASK_NEXT) <= (ahead is not Ahead.NOTHING)
    if step.action is Action.WAIT:
        assert setbacks[step.by].passes
        assert 0 <= step.after_s <= WAIT_MOST_S
    if step.action is Action.GIVE_UP:
        assert not any(setback.passes for setback in setbacks)
    if urgent and ahead is Ahead.CODE:
        assert step.action is Action.ASK_NEXT
