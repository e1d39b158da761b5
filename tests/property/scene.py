"""What everybody in a random history shares."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from precompact_shared.store.types import Seen
from tests.property.both import Both
from tests.property.invariants import Truth
from tests.property.players import Client, Entries, Request, Run

FORMATS = ("openai-responses", "anthropic", "openai-chat")


@dataclass
class Scene:
    """One random history in the making."""

    both: Both
    rng: Random
    clients: list[Client]
    entries: Entries
    format: str
    truth: Truth = field(default_factory=Truth)
    net: list[Request] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    events: list[Seen] = field(default_factory=list)
    counted: int = 0
    lossy: bool = False
    """Callers may claim to be ahead, as after a failover: then only the twin says what is right."""

    def _number(self, letter: str) -> str:
        self.counted += 1
        return f"{letter}{self.counted}"
