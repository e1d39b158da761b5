"""Is this generation made of the originals again, or of the summary that stands for them? Pure.

A summary of a summary of a summary drifts. The originals are all there, so that every so many generations one is made
of them; what that costs in calls, time and tokens has bounds, and where one of them is met the next generation tries.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from precompact_shared.engine.preset import SummaryRule

MOST_S = 600.0
"""A rebuild in the background may take so long, whatever a job's usual time; messages of the broker last longer."""


class Basis(StrEnum):
    """What a summary is made of, and where that is the previous one, why."""

    FIRST = "originals:first"
    """Nothing stands for them yet."""
    REBUILT = "originals:rebuilt"
    NOT_YET = "previous:not_yet"
    NEVER = "previous:never"
    """The preset, or the policy, does not rebuild."""
    REFRESH = "previous:refresh"
    """It brings a candidate up to date; the candidate stays what it is made of."""
    KEEPS_BASE = "previous:keeps_base"
    """Asked for from a place on: what stands in front stays."""
    PROVIDER_BLOCK = "previous:provider_block"
    """A provider's own compaction goes on from its own block."""
    TOO_LARGE = "previous:too_large"
    """More tokens of originals than preset or policy allow to be read again."""
    SOMEBODY_WAITS = "previous:somebody_waits"
    """It takes more than one call, and a request may be waiting."""
    TOO_SLOW = "previous:too_slow"
    """Its calls would take longer than any job may, or than the session has until its limit."""

    @property
    def is_rebuilt(self) -> bool:
        """Whether originals are read again that a summary already stands for."""
        return self is Basis.REBUILT


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What the next generation would stand on. Times in seconds, sizes in tokens of the session's model."""

    since_rebuild: int
    """Generations made since the originals were read as a whole, the very first one counted in."""
    is_refresh: bool = False
    keeps_base: bool = False
    wants_block: bool = False
    urgent: bool = False
    originals_tokens: int
    room_tokens: int | None
    """Of originals that one call of the writer takes; None: it makes no calls."""
    call_s: float
    """How long one call takes as a rule."""
    left_s: float = math.inf
    """Until the session reaches its limit, at the rate at which it grows."""

    @property
    def calls(self) -> int:
        """Calls it takes to read the originals."""
        return 0 if self.room_tokens is None else math.ceil(self.originals_tokens / max(1, self.room_tokens))

    @property
    def takes_s(self) -> float:
        """How long that takes."""
        return self.calls * self.call_s


def choose_basis(ground: Ground | None, rule: SummaryRule) -> Basis:
    """What the next summary is made of; `ground` None: nothing stands for the originals yet."""
    if ground is None:
        return Basis.FIRST
    for basis, holds in _OBJECTIONS:
        if holds(ground, rule):
            return basis
    return Basis.REBUILT


_OBJECTIONS: tuple[tuple[Basis, Callable[[Ground, SummaryRule], bool]], ...] = (
    (Basis.NEVER, lambda _, rule: rule.rebuild_every <= 0),
    (Basis.REFRESH, lambda ground, _: ground.is_refresh),
    (Basis.KEEPS_BASE, lambda ground, _: ground.keeps_base),
    (Basis.NOT_YET, lambda ground, rule: ground.since_rebuild + 1 < rule.rebuild_every),
    (Basis.PROVIDER_BLOCK, lambda ground, _: ground.wants_block),
    (Basis.TOO_LARGE, lambda ground, rule: 0 < rule.rebuild_max_tokens < ground.originals_tokens),
    (Basis.SOMEBODY_WAITS, lambda ground, _: ground.urgent and ground.calls > 1),
    (Basis.TOO_SLOW, lambda ground, _: ground.takes_s > MOST_S),
    (Basis.TOO_SLOW, lambda ground, _: ground.calls > 1 and ground.takes_s > ground.left_s),
)
"""Read from the top."""
