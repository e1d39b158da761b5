"""Random histories: clients, schedulers, workers, sweepers and operators act in any order on one session."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from precompact_shared.store.executor import SyncStore
from precompact_shared.store.keys import SessionKeys, ShardKeys
from precompact_shared.store.types import Seen
from tests.property.both import Both, told
from tests.property.callers import Callers
from tests.property.compare import Differs
from tests.property.drain import drain
from tests.property.forking import fork
from tests.property.invariants import check
from tests.property.players import Client, Entries
from tests.property.scene import FORMATS
from tests.property.workers import Workers


@dataclass
class Play(Callers, Workers):
    """Everybody together."""

    def step(self) -> None:
        """One act of somebody, then everything that must hold."""
        weights = WEIGHTS if self.both.facts.view else BEFORE
        act = self.rng.choices(list(weights), list(weights.values()))[0]
        self.both.now_ms += self.rng.choice((0, 10, 500))
        act(self)
        check(self.both, None if self.lossy else self.truth)
        self.look_around()

    def look_around(self) -> None:
        """The scheduler gets the event of what stands now."""
        view = self.both.facts.view
        if view:
            self.events.append(Seen(view.version, view.length))


WEIGHTS: dict[Callable[[Play], None], float] = {
    Play.append: 22,
    Play.sync: 3,
    Play.rewind: 3.5,
    Play.replace: 1.2,
    Play.redact: 1.4,
    Play.late: 6,
    Play.look: 4,
    Play.claim: 9,
    Play.send: 2,
    Play.start: 10,
    Play.announce: 11,
    Play.beat: 1.5,
    Play.put: 14,
    Play.early: 0.5,
    Play.finish: 1.5,
    Play.cancel: 0.6,
    Play.sweep: 3,
    Play.wait: 2,
    Play.job: 9,
    Play.handle: 1.5,
    Play.adopt: 14,
    Play.revert: 2.5,
    Play.close: 1.6,
    Play.delete: 0.8,
    Play.create: 0.4,
}
BEFORE: dict[Callable[[Play], None], float] = {
    Play.append: 4,
    Play.create: 12,
    Play.late: 1.5,
    Play.put: 1,
    Play.sync: 0.5,
    Play.rewind: 0.5,
    Play.claim: 0.5,
    Play.start: 0.5,
    Play.sweep: 0.5,
    Play.adopt: 0.5,
    Play.delete: 0.5,
}


@dataclass
class Tally:
    """How many histories ran, how long they were, what the store answered."""

    histories: int = 0
    steps: int = 0
    drained: int = 0
    answers: Counter[str] = field(default_factory=Counter)


def new_play(store: SyncStore, rng: Random, *, number: int, strict: bool = True) -> Play:
    """A history that has not begun, on a shard of its own."""
    keys = SessionKeys(f"t{rng.randrange(1 << 40):x}", "s", ShardKeys(100_000 + number))
    both = Both(store, keys, strict=strict, attempts=rng.choice((1, 2, 4, 4)))
    clients = [Client() for _ in range(rng.randrange(1, 4))]
    play = Play(both, rng, clients, Entries(rng), rng.choice(FORMATS))
    play.lossy = rng.random() < 0.08
    return play


def play_one(
    store: SyncStore, seed: int | Random, tally: Tally, *, steps: int = 28, strict: bool = True
) -> None:
    """One history on a shard of its own, which is removed at the end. Raises Differs with the whole history."""
    rng = seed if isinstance(seed, Random) else Random(seed)
    play = new_play(store, rng, number=tally.histories, strict=strict)
    both = play.both
    try:
        for _ in range(steps):
            play.step()
        if rng.random() < 0.3:
            fork(both, play.entries.made, rng)
        tally.drained += drain(both, None if play.lossy else play.truth)
    except Differs as wrong:
        raise Differs(f"seed {seed}: {wrong}\n{told(both)}") from wrong
    finally:
        tally.histories += 1
        tally.steps += len(both.steps)
        tally.answers.update(_word(step) for step in both.steps)
        remove(both)


def _word(step: str) -> str:
    return f"{step.split('(', maxsplit=1)[0].removeprefix('fork: ')} {step.rpartition(' -> ')[2]}"


def remove(both: Both) -> None:
    """Leaves nothing behind, not even the tombstone."""
    both.store.client.delete(*both.keys.all)
