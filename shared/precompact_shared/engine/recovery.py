"""What if a summariser fails? From what went wrong so far to what is done next (the fifth decision). Pure.

A job in the background can wait: the floor is stored, and a summary that a model writes a minute later is worth more
than a bare list of facts that takes the one place for candidates. A job that somebody waits for runs the chain to its
end, where the provider stands that needs nobody.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from precompact_shared.engine.trigger import URGENT_KINDS

WAIT_MOST_S = 300.0
"""Whatever a server asks for: some have asked for weeks."""


class Ahead(StrEnum):
    """What the chain has behind the provider that failed."""

    MODEL = "model"
    """Another one that writes."""
    CODE = "code"
    """The deterministic one alone."""
    NOTHING = "nothing"


class Action(StrEnum):
    """What is done next."""

    ASK_NEXT = "ask_next"
    WAIT = "wait"
    """Back to the ledger, with a time."""
    GIVE_UP = "give_up"


class Reason(StrEnum):
    """Why, as a word for the log and the ledger."""

    ANOTHER_MODEL = "another_model"
    SOMEBODY_WAITS = "somebody_waits"
    NOTHING_PASSES = "nothing_passes"
    IT_PASSES = "it_passes"
    CHAIN_SPENT = "chain_spent"


@dataclass(frozen=True, slots=True)
class Setback:
    """One provider that gave nothing usable. `passes`: it may answer the same request later, after `after_s`."""

    code: str
    passes: bool
    after_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Step:
    """What is done next. For `WAIT` and `GIVE_UP`: `by` is the place of the setback that decided it."""

    action: Action
    reason: Reason
    by: int = 0
    after_s: float = 0.0


def is_urgent(kind: str) -> bool:
    """Whether somebody waits for a job of this kind, or will with the next request."""
    return kind in URGENT_KINDS


def next_step(setbacks: Sequence[Setback], *, ahead: Ahead, urgent: bool) -> Step:
    """The step after the last of the setbacks of one attempt, which are in the chain's order and at least one."""
    if ahead is Ahead.MODEL:
        return Step(Action.ASK_NEXT, Reason.ANOTHER_MODEL)
    passing = [place for place, setback in enumerate(setbacks) if setback.passes]
    if ahead is Ahead.CODE and (urgent or not passing):
        return Step(Action.ASK_NEXT, Reason.SOMEBODY_WAITS if urgent else Reason.NOTHING_PASSES)
    if not passing:
        return Step(Action.GIVE_UP, Reason.CHAIN_SPENT, len(setbacks) - 1)
    # The next attempt begins with the first of the chain again: none of them is asked before its time.
    longest = max(passing, key=lambda place: setbacks[place].after_s)
    return Step(Action.WAIT, Reason.IT_PASSES, longest, wait_s(setbacks[longest].after_s))


def wait_s(asked_s: float) -> float:
    """Seconds to wait when a server asked for so many: bounded, and never less than none."""
    return min(max(0.0, asked_s), WAIT_MOST_S)
