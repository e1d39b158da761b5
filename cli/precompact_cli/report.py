"""The one line of JSON that a play ends with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from precompact.context import Status
from precompact_cli.playing import Outcome
from precompact_cli.recording import Recording


def report(
    recording: Recording,
    outcome: Outcome,
    *,
    session: str,
    window: int,
    speed: float,
    summariser_s: float | None,
    discarded: Mapping[str, int],
) -> dict[str, Any]:
    """The figures of a play.

    `stall_ms_p99` is in session time, `prepare_ms_*` in real time. `tokens_before` and `tokens_after` are the sizes
    of the context right before and after each compaction, summed. `summariser_s` (session time) is null where the
    service's own provider worked.
    """
    adopted, waited, reduced = (
        outcome.count(status) for status in (Status.ADOPTED, Status.WAITED, Status.REDUCED)
    )
    return {
        "session": session,
        "format": recording.format.value,
        "window": window,
        "entries": outcome.entries,
        "model_calls": outcome.calls,
        "compactions": adopted + waited + reduced,
        "adopted": adopted,
        "waited": waited,
        "reduced": reduced,
        "discarded": dict(discarded),
        "stall_ms_p99": round(percentile(outcome.stalls_ms, 99), 1),
        "prepare_ms_p50": round(percentile(outcome.prepares_ms, 50), 2),
        "prepare_ms_p99": round(percentile(outcome.prepares_ms, 99), 2),
        "tokens_before": outcome.tokens_before,
        "tokens_after": outcome.tokens_after,
        "history_version": outcome.version,
        "speedup": speed,
        "summariser_s": summariser_s,
        "lost": outcome.books.lost,
        "doubled": outcome.books.doubled,
        "valid": outcome.is_valid,
    }


def percentile(values: Sequence[float], share: int) -> float:
    """The nearest-rank percentile; 0 of nothing."""
    ordered = sorted(values)
    if not ordered:
        return 0.0
    return ordered[max(0, -(-len(ordered) * share // 100) - 1)]
