"""Everything one running stand-in remembers, and the request it is at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from precompact_standin.caching import PromptCache
from precompact_standin.clock import Clock
from precompact_standin.counting import Counter
from precompact_standin.faults import Deck
from precompact_standin.models import Model, find_model
from precompact_standin.ratelimits import Limiter
from precompact_standin.refusal import Refusal
from precompact_standin.requestlog import RequestLog
from precompact_standin.saying import Speaker
from precompact_standin.scenario import Fault, Reply, Scenario
from precompact_standin.signing import Signer, digest


@dataclass(frozen=True, slots=True)
class Call:
    """One request that has come in, read and let in by its key."""

    id: str
    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]
    workspace: str
    fault: Fault | None = None
    reply: Reply | None = None
    named: Mapping[str, str] = field(default_factory=dict)
    """What the path names."""
    facts: dict[str, Any] = field(default_factory=dict)
    """What the log shall know of it besides."""


class State:
    """A scenario being played."""

    def __init__(self, scenario: Scenario, ranks: Path | None = None) -> None:
        self.counter = Counter(ranks)
        self._serial = 0
        self.play(scenario)

    def play(self, scenario: Scenario) -> None:
        """Begin the scenario; cache, limits, log and clock start anew."""
        self.scenario = scenario
        self.clock = Clock(scenario.start_s)
        self.signer = Signer(scenario.secret)
        self.cache = PromptCache(self.now_s, scenario.cache)
        self.limiter = Limiter(self.now_s, scenario.limits)
        self.deck = Deck(scenario)
        self.speaker = Speaker(scenario, self.counter)
        self.log = RequestLog()
        self.stored: dict[str, list[Any]] = {}
        self.companions: dict[str, str] = {}

    def now_s(self) -> float:
        """The clock's time."""
        return self.clock.now_s()

    def next_id(self, prefix: str) -> str:
        """A new id of that kind; ids count up, so that runs are alike."""
        self._serial += 1
        return f"{prefix}_standin{self._serial:06d}"

    def workspace(self, key: str) -> str | None:
        """The workspace a key belongs to; nothing when the scenario does not know it."""
        if not key:
            return None
        return self.scenario.keys.get(key) if self.scenario.keys else digest(key)

    def model(self, name: str) -> Model:
        """The model of that name. Raises a 404."""
        found = find_model(name, self.scenario)
        if found is None:
            raise Refusal(f"model: {name}", 404, "not_found_error", code="model_not_found", param="model")
        return found
