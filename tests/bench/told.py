"""The same figures as anybody can compute them from `inspect --json`: all reported calls, nothing left out or fitted anew."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from precompact_cli.predictions import FAR_CALLS, predict_usage
from tests.bench.sized import Session

Errors = dict[str, list[float]]


def errors_told(sessions: Sequence[Session], floor: int) -> tuple[Errors, Errors]:
    """Of each row of `usage_predictions`, ten calls ahead and at the next one; by format and family, and pooled.

    Ten ahead where the prompt grew by more than `floor`, relative to that; next relative to the prompt.
    """
    far: Errors = defaultdict(list)
    near: Errors = defaultdict(list)
    for session in sessions:
        names = ("pooled", f"{session.recording.format.value}, {session.family}")
        rows = predict_usage(session.recording)
        for errors, ahead, key in ((far, FAR_CALLS, "predicted_10"), (near, 1, "predicted_next")):
            for row, later in zip(rows, rows[ahead:], strict=False):
                foretold, measured, after = row[key], row["measured"] or 0, later["measured"] or 0
                base = after if ahead == 1 else after - measured
                if foretold is None or (ahead > 1 and base <= floor):
                    continue
                for name in names:
                    errors[name].append(abs(foretold - after) / base)
    return far, near
