"""What the scheduler counts, for Prometheus. Few labels: kinds, actions and outcomes, never ids."""

from __future__ import annotations

import collections
from collections.abc import Iterable

from prometheus_client import Counter, start_http_server

from precompact_shared.engine.trigger import Decision

EVENTS = Counter("precompact_scheduler_events", "Events read from the shards' streams.", ["type"])
DECISIONS = Counter("precompact_scheduler_decisions", "Decisions by what they were.", ["action", "row"])
CLAIMS = Counter("precompact_scheduler_claims", "Answers to claims.", ["outcome"])
SENT = Counter("precompact_scheduler_sent", "Messages handed to Celery.", ["queue"])
FAILURES = Counter("precompact_scheduler_failures", "Rounds that failed, by what did not answer.", ["what"])
SWEPT = Counter("precompact_scheduler_swept", "What the sweeper found.", ["what"])


def count_decisions(decisions: Iterable[Decision]) -> None:
    """Counts a batch; one by one would cost more than deciding."""
    counted = collections.Counter((decision.action.value, decision.row) for decision in decisions)
    for (action, row), times in counted.items():
        DECISIONS.labels(action, row).inc(times)


def count_events(types: Iterable[str]) -> None:
    """Counts a batch of events by type."""
    for kind, times in collections.Counter(types).items():
        EVENTS.labels(kind).inc(times)


def serve(port: int) -> None:
    """Serves `/metrics` on all addresses in a thread of its own."""
    start_http_server(port)
