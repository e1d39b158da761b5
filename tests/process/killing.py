"""Seeded misfortune: who is killed, when, and for how long he stays dead."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Literal

from tests.support.stack import Stack

Victim = Literal["worker", "scheduler", "api", "state", "broker"]
VICTIMS: tuple[Victim, ...] = (
    "worker",
    "worker",
    "worker",
    "scheduler",
    "scheduler",
    "api",
    "api",
    "state",
    "broker",
)


@dataclass(frozen=True, slots=True)
class Blow:
    """One kill: after `pause_s` the victim falls, and is started again `down_s` later."""

    victim: Victim
    number: int
    pause_s: float
    down_s: float


def blows(seed: int, count: int) -> list[Blow]:
    """The plan of a run; the first ones hit every kind once, so that a short run misses none."""
    rng = random.Random(seed)
    first = list(dict.fromkeys(VICTIMS))
    rng.shuffle(first)
    victims = first + [rng.choice(VICTIMS) for _ in range(count)]
    return [
        Blow(victim, rng.randrange(2), rng.uniform(0.1, 0.7), rng.uniform(0.0, 0.4))
        for victim in victims[:count]
    ]


def strike(stack: Stack, blow: Blow) -> None:
    """Kills."""
    match blow.victim:
        case "state":
            stack.kill_redis()
        case "broker":
            stack.flush_broker()
        case kind:
            stack.kill(kind, blow.number)


def revive(stack: Stack, blow: Blow) -> None:
    """Starts the victim again; whether it works by then is seen by what follows."""
    match blow.victim:
        case "state":
            stack.restart_redis()
        case "broker":
            pass
        case kind:
            stack.restart(kind, blow.number, wait=False)
