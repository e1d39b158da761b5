"""`inspect`: what a conversation is made of."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from precompact_cli import weighing
from precompact_cli.main import app
from precompact_shared.engine.preset import preset_names
from tests.unit.cli.conversations import agent_session, write, write_session

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="


def inspect(file: Path, *options: str) -> dict[str, Any]:
    """The page as JSON."""
    result = CliRunner().invoke(app, ["inspect", str(file), "--json", *options])
    assert result.exit_code == 0, result.stderr
    page: dict[str, Any] = json.loads(result.stdout)
    return page


def test_sizes_by_kind_add_up_to_the_whole(tmp_path: Path) -> None:
    """Tool results weigh most in an agent's session."""
    page = inspect(write_session(tmp_path / "a.json", agent_session(20), system="Be careful."))
    kinds = page["by_kind"]
    assert sum(kinds.values()) == page["tokens"]
    assert max(kinds, key=lambda kind: kinds[kind]) == "tool results"
    assert {"tool results", "call arguments", "user", "assistant", "system"} == set(kinds)


def test_the_largest_entries_come_first(tmp_path: Path) -> None:
    """With the kind that weighs most in each."""
    messages = agent_session(5)
    messages[4]["content"][0]["content"] = "much " * 3_000
    page = inspect(write_session(tmp_path / "a.json", messages))
    assert (page["largest"][0]["seq"], page["largest"][0]["kind"]) == (4, "tool results")
    tokens = [entry["tokens"] for entry in page["largest"]]
    assert tokens == sorted(tokens, reverse=True)


def test_media_and_thinking_are_kinds_of_their_own(tmp_path: Path) -> None:
    """An image counts by its flat rate."""
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}
    thinking = {"type": "thinking", "thinking": "let me see " * 30, "signature": "c2ln"}
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": [{"type": "text", "text": "look"}, image]},
        {"role": "assistant", "content": [thinking, {"type": "text", "text": "seen"}]},
    ]
    kinds = inspect(write_session(tmp_path / "a.json", messages))["by_kind"]
    assert kinds["media"] > 1_000
    assert kinds["thinking"] > 50


def test_responses_items_are_told_apart(tmp_path: Path) -> None:
    """Calls, their outputs and reasoning are items of their own there."""
    items = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "list the files"}]},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "I will list them"}]},
        {"type": "function_call", "call_id": "c", "name": "shell", "arguments": '{"command": "ls"}'},
        {"type": "function_call_output", "call_id": "c", "output": "a b c"},
    ]
    body = {"format": "openai-responses", "model": "gpt-5", "messages": items}
    kinds = inspect(write(tmp_path / "a.json", body))["by_kind"]
    assert {"user", "thinking", "call arguments", "tool results"} == set(kinds)


def test_each_preset_tells_when_limits_are_met_and_where_it_cuts(tmp_path: Path) -> None:
    """What is met is met in order."""
    page = inspect(write_session(tmp_path / "a.json", agent_session(80)), "--window", "32000")
    for plan in page["presets"]:
        assert plan["limits"]["start"] <= plan["limits"]["limit"] <= plan["limits"]["hard"]
        met = [place for place in plan["met_at"].values() if place is not None]
        assert met == sorted(met)
        assert plan["covered_tokens"] > 0
        if plan["met_at"]["limit"] is None:
            assert plan["at_limit"] is None
        else:
            assert (plan["at_limit"]["cut"] or 0) <= plan["met_at"]["limit"] + 1
    assert any(plan["at_limit"] and plan["at_limit"]["covered_tokens"] for plan in page["presets"])
    assert [plan["preset"] for plan in page["presets"]] == list(preset_names())


def test_limits_are_met_by_prompts_as_they_were_reported(tmp_path: Path) -> None:
    """The estimate alone never reaches them: system text and tools are in no log."""
    messages = agent_session(20)
    usage = [
        {"prefix": prefix, "produced": [prefix], "total_input": 20_000 + 200 * prefix}
        for prefix in range(1, 41, 2)
    ]
    told = inspect(write_session(tmp_path / "a.json", messages, usage=usage), "--window", "32000")
    plain = inspect(write_session(tmp_path / "b.json", messages), "--window", "32000")
    (met,), (unmet,) = (
        [plan["met_at"]["limit"] for plan in page["presets"] if plan["preset"] == "precompact"]
        for page in (told, plain)
    )
    assert unmet is None
    assert met is not None


def test_the_reasons_of_cuts_are_explained_below(tmp_path: Path) -> None:
    """Those that occur."""
    file = write_session(tmp_path / "a.json", agent_session(80))
    out = CliRunner().invoke(app, ["inspect", str(file), "--window", "32000"]).stdout
    assert "everything: all entries are covered" in out
    assert "one turn:" not in out


def test_the_page_for_people_has_bars_and_limits(tmp_path: Path) -> None:
    """Nothing is cut off at eighty columns."""
    file = write_session(tmp_path / "a.json", agent_session(200))
    out = CliRunner().invoke(app, ["inspect", str(file), "--window", "400000"]).stdout
    assert "█" in out
    assert "never met" in out
    assert "% tool results, " in out
    assert "…" not in out
    rows = [line for line in out.splitlines() if re.search(r"entry \d", line)]
    assert rows
    assert max(len(row.rstrip()) for row in rows) <= 80


def test_an_output_that_knows_no_bars_is_no_reason_to_stop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As that of a console with an old code page."""
    file = write_session(tmp_path / "a.json", agent_session(3))
    command = [sys.executable, "-m", "precompact_cli", "inspect", str(file)]
    monkeypatch.setenv("PYTHONIOENCODING", "cp1252")
    done = subprocess.run(command, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"tool results" in done.stdout


def test_one_entry_is_told_in_the_singular(tmp_path: Path) -> None:
    """And a cut behind all entries as the end."""
    file = write_session(tmp_path / "a.json", [{"role": "user", "content": "go"}])
    out = CliRunner().invoke(app, ["inspect", str(file)]).stdout
    assert "1 entry, 0 model calls" in out
    assert "entry 1" not in out


def test_the_largest_prompt_is_told_as_reported(tmp_path: Path) -> None:
    """System text and tools that no entry holds are in it."""
    usage = [{"prefix": prefix, "produced": [prefix], "total_input": 20_000 + prefix} for prefix in (1, 3)]
    file = write_session(tmp_path / "a.json", agent_session(3), usage=usage)
    assert inspect(file)["sent"] | {"largest": 20_003, "largest_at": 3} == inspect(file)["sent"]
    assert (
        "Largest prompt: 20,003 tokens (reported), with 3 entries"
        in CliRunner().invoke(app, ["inspect", str(file)]).stdout
    )


def test_no_cut_is_planned_of_a_history_that_is_no_context_any_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half a gigabyte of log would be held for it; the page says why."""
    monkeypatch.setattr(weighing, "MOST_OF_A_CONTEXT", 30)
    path = write_session(tmp_path / "a.json", agent_session(20))
    page = inspect(path)
    for plan in page["presets"]:
        assert (plan["cut"], plan["reason"], plan["kept_tokens"]) == (None, "too_long", page["tokens"])
    told = CliRunner().invoke(app, ["inspect", str(path)]).stdout
    assert "too long: a history so long is no context that could be cut" in told
    short = inspect(write_session(tmp_path / "b.json", agent_session(3)))
    assert all(plan["reason"] != "too_long" for plan in short["presets"])
