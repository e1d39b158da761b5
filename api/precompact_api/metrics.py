"""What Prometheus sees of the API: few labels, no ids."""

from __future__ import annotations

from prometheus_client import Counter, Gauge, Histogram

PREPARES = Counter("precompact_prepares_total", "Prepare calls by status.", ["status"])
APPENDED = Counter("precompact_entries_appended_total", "Entries added to histories.")
PROBLEMS = Counter("precompact_problems_total", "Calls that ended with a problem, by code.", ["code"])
VALIDATED = Counter(
    "precompact_contexts_validated_total",
    "Contexts held against the provider's rules, by outcome.",
    ["outcome"],
)
BLOCKED = Histogram(
    "precompact_blocked_seconds",
    "Seconds a prepare waited for a job.",
    buckets=(0.1, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600),
)
HOT_SECONDS = Histogram(
    "precompact_hot_call_seconds",
    "Duration of the hot calls, waiting included.",
    ["call"],
    buckets=(0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 5, 30),
)
IN_PROGRESS = Gauge("precompact_hot_calls_in_progress", "Hot calls being answered now.")

PREPARE_SECONDS = HOT_SECONDS.labels("prepare")
APPEND_SECONDS = HOT_SECONDS.labels("append")
