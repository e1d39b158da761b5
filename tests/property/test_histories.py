"""Random histories on a real Redis and on the pure twin: same answers, same state, and I1 to I3 and I7 throughout."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from precompact_shared.clock import monotonic_s
from precompact_shared.store.executor import SyncStore
from tests.property.play import Tally, play_one

FIXED_SEEDS = 400
ALL_SEEDS = 10_000
MUST_HAPPEN = (
    "adopt adopted",
    "adopt already",
    "adopt deferred (manual_running)",
    "adopt length_moved",
    "adopt refused (barred)",
    "adopt refused (version_changed)",
    "append diverged",
    "append key_required",
    "append rewritten",
    "append session_full",
    "claim base_gone",
    "claim have_candidate",
    "claim in_flight",
    "claim joined",
    "claim once",
    "claim version_changed",
    "create gone",
    "due send",
    "fork_copy diverged",
    "fork_publish published",
    "put lost (fence)",
    "put lost (version_changed)",
    "put refused (not_ahead)",
    "put refused (not_smaller)",
    "redact ok",
    "replace ok",
    "revert reverted",
    "rewind ok",
    "rewind unseen_end",
    "sync ok",
    "sync rewritten",
    "sync unseen_end",
)
"""What a run of a few hundred histories must have met, or it proves less than it says."""


def _play(store: SyncStore, seeds: range, capsys: pytest.CaptureFixture[str]) -> Tally:
    tally, began_s = Tally(), monotonic_s()
    for seed in seeds:
        play_one(store, seed, tally)
    rate = tally.histories / (monotonic_s() - began_s)
    with capsys.disabled():
        said = f"{tally.histories} histories, {tally.steps} steps, {tally.drained} drained, {rate:.0f}/s"
        print(f"\nrandom histories on Redis and twin: {said}")  # noqa: T201 - the run says how many it played
    return tally


def test_the_fixed_seeds_agree_with_the_twin_and_break_no_invariant(
    store: SyncStore, capsys: pytest.CaptureFixture[str]
) -> None:
    """A small set that always runs; it must meet every important answer at least once."""
    tally = _play(store, range(FIXED_SEEDS), capsys)
    missing = [word for word in MUST_HAPPEN if not tally.answers[word]]
    assert not missing, f"these histories never met {missing}"
    assert tally.drained > FIXED_SEEDS // 2


@pytest.mark.slow
def test_ten_thousand_histories_agree_with_the_twin_and_break_no_invariant(
    store: SyncStore, capsys: pytest.CaptureFixture[str]
) -> None:
    """The large set."""
    _play(store, range(FIXED_SEEDS, FIXED_SEEDS + ALL_SEEDS), capsys)


@settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[
        HealthCheck.function_scoped_fixture,
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
    ],
)
@given(rng=st.randoms(use_true_random=False))
def test_histories_that_hypothesis_steers_and_shrinks(store: SyncStore, rng: Random) -> None:
    """The same play with hypothesis at the dice, so that a failure comes as a short history."""
    play_one(store, rng, Tally(), steps=12)
