"""From whatever ended an attempt to what the ledger is told: one function."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from redis.exceptions import RedisError

from precompact_shared.engine.formats import InvalidEntry
from precompact_shared.engine.recovery import wait_s
from precompact_shared.errors import PrecompactError, Retryable
from precompact_worker.checking import SummaryRejected
from precompact_worker.planning import Nothing, Unsupported
from precompact_worker.providers.verdicts import ProviderFailed, ProviderHeld

DELAY_FIRST_MS = 500
DELAY_MOST_MS = 60_000
PATIENT_FIRST_MS = 2_000
PATIENT_GROWTH = 4
"""In the background providers get time to recover: four attempts span three quarters of a minute, not three seconds."""


class Ending(StrEnum):
    """Actions of the store's `finish`."""

    RETRY = "retry"
    DEAD = "dead"
    SKIP = "skip"
    RELEASE = "release"


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an attempt ends: the action, its reason (a code, never text), and when to try again."""

    action: Ending
    reason: str
    delay_ms: int = 0


def outcome_of(error: BaseException, attempt: int, *, urgent: bool) -> Outcome:
    """What to do after `error` in the given attempt (from 1) at a job that somebody waits for, or nobody."""
    match error:
        case Nothing():
            return Outcome(Ending.SKIP, error.reason)
        case SummaryRejected():
            return Outcome(Ending.SKIP, error.reason)
        case Unsupported():
            return Outcome(Ending.DEAD, "unsupported")
        case InvalidEntry():
            return Outcome(Ending.DEAD, "invalid_entry")
        case ProviderHeld():  # nobody was asked: no attempt is spent
            return Outcome(Ending.RELEASE, error.code, int(wait_s(error.retry_after_s) * 1000))
        case Retryable():
            asked_ms = int(wait_s(error.retry_after_s) * 1000)
            is_patient = isinstance(error, ProviderFailed) and not urgent
            pause_ms = _patient_ms(attempt) if is_patient else _pause_ms(attempt)
            return Outcome(Ending.RETRY, error.code, max(asked_ms, pause_ms))
        case PrecompactError():
            return Outcome(Ending.DEAD, error.code)
        case TimeoutError():
            return Outcome(Ending.RETRY, "deadline", _pause_ms(attempt))
        case RedisError() | OSError():
            return Outcome(Ending.RETRY, "state_unavailable", _pause_ms(attempt))
        case _:
            return Outcome(Ending.RETRY, "internal", _pause_ms(attempt))


def _patient_ms(attempt: int) -> int:
    return int(min(PATIENT_FIRST_MS * PATIENT_GROWTH ** (max(1, attempt) - 1), DELAY_MOST_MS))


def _pause_ms(attempt: int) -> int:
    return int(min(DELAY_FIRST_MS * 2 ** (max(1, attempt) - 1), DELAY_MOST_MS))
