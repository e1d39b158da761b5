"""Whatever ends an attempt becomes one of four things the ledger knows."""

from __future__ import annotations

import pytest
from redis.exceptions import ConnectionError as RedisGone

from precompact_shared.engine.formats import InvalidEntry
from precompact_shared.errors import Overflow, Permanent, Unavailable
from precompact_worker.checking import SummaryRejected
from precompact_worker.outcomes import DELAY_MOST_MS, Ending, outcome_of
from precompact_worker.planning import Nothing, Unsupported
from precompact_worker.providers.verdicts import (
    ProviderFailed,
    ProviderHeld,
    ProviderLimited,
    ProviderRefused,
    ProviderTimeout,
)
from precompact_worker.snapshot import SnapshotGone


@pytest.mark.parametrize(
    ("error", "action", "reason"),
    [
        (Nothing("all_fits"), Ending.SKIP, "all_fits"),
        (SummaryRejected("not_smaller"), Ending.SKIP, "not_smaller"),
        (Unsupported(), Ending.DEAD, "unsupported"),
        (InvalidEntry("no_role", "$.role"), Ending.DEAD, "invalid_entry"),
        (ProviderFailed(), Ending.RETRY, "provider_failed"),
        (ProviderLimited(), Ending.RETRY, "provider_failed"),
        (ProviderHeld(), Ending.RELEASE, "provider_held"),
        (ProviderTimeout(), Ending.RETRY, "provider_timeout"),
        (ProviderRefused(), Ending.DEAD, "provider_refused"),
        (SnapshotGone(), Ending.RETRY, "snapshot_gone"),
        (Unavailable(), Ending.RETRY, "unavailable"),
        (Permanent(), Ending.DEAD, "permanent"),
        (Overflow(), Ending.DEAD, "overflow"),
        (TimeoutError(), Ending.RETRY, "deadline"),
        (RedisGone(), Ending.RETRY, "state_unavailable"),
        (ZeroDivisionError("a secret"), Ending.RETRY, "internal"),
    ],
)
def test_every_error_has_one_outcome_and_a_reason_that_quotes_nothing(
    error: Exception, action: Ending, reason: str
) -> None:
    """The reason is a code."""
    outcome = outcome_of(error, 1, urgent=True)
    assert (outcome.action, outcome.reason) == (action, reason)
    assert (outcome.delay_ms > 0) == (action in {Ending.RETRY, Ending.RELEASE})


def test_pauses_double_up_to_a_minute_and_respect_what_the_provider_asks() -> None:
    """Half a second, one, two and so on."""
    pauses = [outcome_of(TimeoutError(), attempt, urgent=True).delay_ms for attempt in (1, 2, 3)]
    assert pauses == [500, 1000, 2000]
    assert outcome_of(TimeoutError(), 60, urgent=True).delay_ms == DELAY_MOST_MS
    assert outcome_of(ProviderFailed(retry_after_s=90), 1, urgent=True).delay_ms == 90_000


def test_in_the_background_providers_get_more_time_and_nothing_else_does() -> None:
    """An overload of half a minute does not use up four attempts; a store that restarts is back at once."""
    busy = ProviderFailed(retry_after_s=0.1)
    assert [outcome_of(busy, attempt, urgent=False).delay_ms for attempt in (1, 2, 3, 9)] == [
        2_000,
        8_000,
        32_000,
        DELAY_MOST_MS,
    ]
    assert outcome_of(ProviderFailed(retry_after_s=90), 1, urgent=False).delay_ms == 90_000
    assert outcome_of(ProviderFailed(retry_after_s=9_999), 1, urgent=False).delay_ms == 300_000
    assert outcome_of(busy, 1, urgent=True).delay_ms == 500
    assert outcome_of(SnapshotGone(), 1, urgent=False).delay_ms == 1_000
    assert outcome_of(RedisGone(), 1, urgent=False).delay_ms == 500
