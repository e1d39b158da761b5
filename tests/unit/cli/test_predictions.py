"""`usage_predictions`: one row per reported call, made of nothing that was reported later."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from precompact_cli.predictions import FAR_CALLS, predict_usage
from precompact_cli.recording import read_recording

LINE = "The build failed because a dependency of the worker was pinned twice.\n"
CALLS = 25


def written(tmp_path: Path, totals: list[int]) -> Path:
    """A recording whose every second message answers a call, with these prompt sizes."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Mend the build."}]
    for number in range(CALLS):
        call = {"type": "tool_use", "id": f"c{number}", "name": "run", "input": {"command": "make"}}
        result = {"type": "tool_result", "tool_use_id": f"c{number}", "content": LINE * (number % 7)}
        messages += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    usage = [
        {"prefix": 1 + 2 * number, "produced": [1 + 2 * number], "total_input": total}
        for number, total in enumerate(totals)
    ]
    body = {"format": "anthropic", "model": "claude-opus-4-6", "messages": messages, "usage": usage}
    path = tmp_path / "session.json"
    path.write_text(json.dumps(body), encoding="utf-8")
    return path


def rows(tmp_path: Path, totals: list[int]) -> list[dict[str, int | None]]:
    """The predictions for it."""
    return predict_usage(read_recording(written(tmp_path, totals)))


def test_every_reported_call_has_a_row(tmp_path: Path) -> None:
    """With null where the recording ends before the call that would be foretold."""
    totals = [20_000 + 160 * number for number in range(CALLS)]
    found = rows(tmp_path, totals)
    assert [row["at"] for row in found] == [1 + 2 * number for number in range(CALLS)]
    assert [row["measured"] for row in found] == totals
    assert [row["predicted_next"] is None for row in found] == [False] * (CALLS - 1) + [True]
    assert [row["predicted_10"] is None for row in found] == [False] * (CALLS - FAR_CALLS) + [
        True
    ] * FAR_CALLS


def test_no_later_report_is_looked_at(tmp_path: Path) -> None:
    """Other sizes from the fifteenth call on change no row before."""
    totals = [20_000 + 160 * number for number in range(CALLS)]
    others = totals[:15] + [total * 3 for total in totals[15:]]
    first, second = rows(tmp_path, totals), rows(tmp_path, others)
    assert first[:15] == second[:15]
    assert first[15]["predicted_next"] != second[15]["predicted_next"]
