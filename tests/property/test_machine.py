"""The same acts as a hypothesis state machine: a failure comes back as the shortest list of acts that shows it."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from precompact_shared.store.executor import SyncStore
from tests.property.drain import drain
from tests.property.invariants import check
from tests.property.play import WEIGHTS, Play, new_play, remove

dice = st.integers(min_value=0, max_value=9_999)
"""Decides what an act leaves open: who acts, on what."""


class Histories(RuleBasedStateMachine):
    """One session; every rule is somebody's act. I1 to I3 hold after each, I7 at the end."""

    store: SyncStore

    @initialize(seed=dice)
    def begin(self, seed: int) -> None:
        """The session and its callers."""
        self.play = new_play(self.store, Random(seed), number=seed)
        self.play.both.create(self.play.format)

    @invariant()
    def holds(self) -> None:
        """I1 to I3 and the rest, on what stands in Redis."""
        if hasattr(self, "play"):
            check(self.play.both, None if self.play.lossy else self.play.truth)

    def teardown(self) -> None:
        """I7, then nothing is left behind."""
        if hasattr(self, "play"):
            try:
                drain(self.play.both, None if self.play.lossy else self.play.truth)
            finally:
                remove(self.play.both)


def _as_rule(act: Callable[[Play], None]) -> Any:
    def play_it(self: Histories, luck: int) -> None:
        self.play.rng = self.play.entries.rng = Random(luck)
        self.play.both.now_ms += 10
        act(self.play)
        self.play.look_around()

    play_it.__name__ = act.__name__
    play_it.__doc__ = act.__doc__
    return rule(luck=dice)(play_it)


for _act in WEIGHTS:
    setattr(Histories, f"act_{_act.__name__}", _as_rule(_act))


def test_any_order_of_acts_agrees_with_the_twin_and_breaks_no_invariant(store: SyncStore) -> None:
    """Hypothesis chooses the acts."""
    chosen = settings(
        max_examples=50,
        stateful_step_count=30,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    machine = type("HistoriesOnRedis", (Histories,), {"store": store})
    run_state_machine_as_test(machine, settings=chosen)
