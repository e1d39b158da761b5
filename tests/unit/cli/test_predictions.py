"""`usage_predictions`: one row per reported call, made of nothing that was reported later."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from precompact_cli.predictions import FAR_CALLS, predict_usage
from precompact_cli.recording import read_recording
from tests.support.recordings import Log, logs, needs_recordings, recordings
from tests.unit.cli.logs import test_claude_code as claude
from tests.unit.cli.logs.reading import lines

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


def test_a_report_holds_what_its_own_replys_searches_found(tmp_path: Path) -> None:
    """It is that of the reply's last pass: searches in front of it are in, what the reply said then comes on top."""
    search = {"type": "web_search_call", "status": "completed", "action": {"type": "search", "query": "pins"}}
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": LINE}]}
    asked = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": LINE}]}
    usage = [
        {"prefix": 1, "produced": [1], "total_input": 10_000, "output": 20, "reasoning": 0},
        {"prefix": 3, "produced": [3, 4, 5], "total_input": 25_000, "output": 40, "reasoning": 0},
        {"prefix": 7, "produced": [7], "total_input": 25_040, "output": 20, "reasoning": 0},
    ]
    messages = [asked, said, asked, search, search, said, asked, said]
    body = {"format": "openai-responses", "model": "gpt-5.5", "messages": messages, "usage": usage}
    path = tmp_path / "session.json"
    path.write_text(json.dumps(body), encoding="utf-8")
    first, second, _ = predict_usage(read_recording(path))
    assert first["predicted_next"] == pytest.approx(10_030, abs=20)
    assert second["predicted_next"] == pytest.approx(25_030, abs=20)


MOST_BYTES = 600_000
SMALL_LOGS = [one for one in logs() if one.path.stat().st_size < MOST_BYTES]


@pytest.mark.recordings
@needs_recordings()
def test_nothing_of_a_recorded_future_changes_a_prediction(tmp_path: Path) -> None:
    """What follows the call that is foretold is cut off, and every later report is another."""
    compared = 0
    for one in (one for one in recordings() if one.path.stat().st_size < MOST_BYTES):
        found = predict_usage(read_recording(one.path))
        for index in range(0, len(found) - FAR_CALLS, 20):
            now, last = found[index]["at"], found[index + FAR_CALLS]["at"]
            assert now is not None
            assert last is not None
            path = tmp_path / "blind.json"
            path.write_text(json.dumps(blinded(one.load(), now, last)), encoding="utf-8")
            assert predict_usage(read_recording(path))[index] == found[index], (one.name, index)
            compared += 1
    assert compared > 25


def blinded(body: dict[str, Any], now: int, last: int) -> dict[str, Any]:
    """The recording up to `last` entries, with reports that say nothing from behind `now` on."""
    usage = [
        one if one["prefix"] <= now else {**one, "total_input": 7, "output": 9_999, "reasoning": 9_000}
        for one in body["usage"]
        if one["prefix"] <= last and one.get("total_input")
    ]
    return {**body, "messages": body["messages"][:last], "usage": usage}


@pytest.mark.recordings
@needs_recordings()
@pytest.mark.parametrize("log", SMALL_LOGS, ids=lambda log: f"{log.tool}-{log.name}")
def test_the_end_of_a_log_changes_no_earlier_prediction(log: Log, tmp_path: Path) -> None:
    """Cut off after three fifths of its lines: every row that is there still says the same."""
    raw = log.raw().splitlines(keepends=True)
    path = tmp_path / log.path.name
    path.write_bytes(b"".join(raw[: len(raw) * 3 // 5]))
    whole = {row["at"]: row for row in predict_usage(read_recording(log.path))}
    left = predict_usage(read_recording(path))
    assert left
    for row in left:
        told = {name: value for name, value in row.items() if value is not None}
        assert whole[row["at"]] | told == whole[row["at"]]


def test_a_model_that_comes_later_changes_no_earlier_prediction(tmp_path: Path) -> None:
    """Its family counts otherwise; what another one counted is no base for it."""
    path, models = tmp_path / "log", ["claude-opus-4-5"] * 14 + ["claude-opus-4-7"] * 14
    path.write_bytes(lines(*switching(models)))
    both = predict_usage(read_recording(path))
    path.write_bytes(lines(*switching(models[:14])))
    assert predict_usage(read_recording(path))[:4] == both[:4]
    path.write_bytes(lines(*switching(["claude-opus-4-7"] * 28)))
    assert predict_usage(read_recording(path))[:4] != both[:4]


def switching(models: list[str]) -> list[dict[str, Any]]:
    """A log whose replies come from these models, one after the other."""
    told = [claude.prompt("go", None)]
    for number, model in enumerate(models):
        usage = {"input_tokens": 20_000 + 300 * number, "output_tokens": 1}
        reply = claude.said(f"r{number}", told[-1]["uuid"], f"m{number}")
        reply["message"] |= {"model": model, "usage": usage, "content": [{"type": "text", "text": LINE * 9}]}
        told += [reply, claude.prompt(f"p{number}", f"r{number}", LINE * 9)]
    return told


COMPACTED = [one for one in SMALL_LOGS if read_recording(one.path).log.boundaries]  # type: ignore[union-attr]


@pytest.mark.recordings
@needs_recordings()
@pytest.mark.parametrize("log", COMPACTED, ids=lambda log: f"{log.tool}-{log.name}")
def test_behind_a_tools_compaction_the_foretelling_begins_with_the_next_report(log: Log) -> None:
    """Every reported call has its row; nothing is foretold across, and the sizes from before are no base behind."""
    recording = read_recording(log.path)
    found = predict_usage(recording)
    counted = [call for call in recording.calls if call.counted]
    assert [row["at"] for row in found] == [call.prefix for call in counted]
    assert [row["measured"] for row in found] == [call.counted for call in counted]
    assert counted[-1].epoch > 0
    for row, call, after in zip(found, counted, counted[1:], strict=False):
        assert (row["predicted_next"] is None) == (call.epoch != after.epoch)
        if row["predicted_next"] is not None and after.counted:
            assert abs(row["predicted_next"] - after.counted) < 0.2 * after.counted
