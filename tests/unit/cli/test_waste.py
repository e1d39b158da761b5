"""What a session carried along for nothing, and the picture of it."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from precompact_cli.main import app
from precompact_cli.picture import MOST_POINTS, Picture, draw_svg, thin_out
from tests.support.recordings import Log, logs, needs_recordings
from tests.unit.cli.conversations import agent_session, write_session
from tests.unit.cli.test_inspect import inspect

LONG = "text " * 400


def step(number: int, name: str, **given: Any) -> list[dict[str, Any]]:
    """A call and its result."""
    call = {"type": "tool_use", "id": f"t{number}", "name": name, "input": given}
    result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": LONG}
    return [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]


def session(*steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A session of these steps."""
    return [{"role": "user", "content": "go"}, *(message for one in steps for message in one)]


def test_a_read_is_dead_once_its_file_is_changed_or_it_is_made_again(tmp_path: Path) -> None:
    """Another part of the file is another read; one of another file is none."""
    steps = [
        step(1, "Read", file_path="a.py"),
        step(2, "Read", file_path="b.py"),
        step(3, "Read", file_path="b.py"),
        step(4, "Read", file_path="c.py", offset=1),
        step(5, "Read", file_path="c.py", offset=900),
        step(6, "Edit", file_path="a.py", old_string="x", new_string="y"),
    ]
    page = inspect(write_session(tmp_path / "a.json", session(*steps)))
    one = page["by_kind"]["tool results"] // 6
    assert page["dead_weight"] == pytest.approx(2 * one, rel=0.05)
    assert [(read["path"], read["times"]) for read in page["repeated_reads"]] == [("b.py", 2), ("c.py", 2)]
    assert all(read["tokens"] == pytest.approx(one, rel=0.05) for read in page["repeated_reads"])


def test_what_clearing_alone_would_save_is_told_for_each_preset(tmp_path: Path) -> None:
    """Presets that clear nothing save nothing."""
    steps = [step(number, "Read", file_path=f"{number}.py") for number in range(200)]
    saved = inspect(write_session(tmp_path / "a.json", session(*steps)))["clearing_saves"]
    assert saved["claude-code"] > 10_000
    assert saved["codex"] == 0


def test_tokens_sent_again_are_those_of_the_prompt_before(tmp_path: Path) -> None:
    """As reported; by estimate where nothing was."""
    usage = [
        {"prefix": 1, "produced": [1], "total_input": 100},
        {"prefix": 3, "produced": [3], "total_input": 150},
        {"prefix": 5, "produced": [5], "total_input": 120},
    ]
    messages = agent_session(3)
    sent = inspect(write_session(tmp_path / "a.json", messages, usage=usage))["sent"]
    assert {name: sent[name] for name in ("calls", "tokens", "again")} == {
        "calls": 3,
        "tokens": 370,
        "again": 220,
    }
    assert (sent["is_estimated"], sent["again_usd"]) == (False, [0, 0])
    assert (sent["largest"], sent["largest_at"]) == (150, 3)
    sent = inspect(write_session(tmp_path / "b.json", messages))["sent"]
    assert (sent["calls"], sent["is_estimated"]) == (4, True)
    assert 0 < sent["again"] < sent["tokens"]


def test_what_was_sent_again_has_a_price_with_and_without_a_cache(tmp_path: Path) -> None:
    """A million tokens of this model at 0.60 or 6.00 dollars; nobody knows the price of another."""
    usage = [
        {"prefix": 1, "produced": [1], "total_input": 1_000_000},
        {"prefix": 3, "produced": [3], "total_input": 1_000_000},
    ]
    file = write_session(tmp_path / "a.json", agent_session(3), usage=usage)
    assert inspect(file)["sent"]["again_usd"] == [0.6, 6.0]
    told = CliRunner().invoke(app, ["inspect", str(file)]).stdout
    assert "$0.60 at list prices if a cache had them all, $6.00 if none had" in told
    unknown = write_session(tmp_path / "b.json", agent_session(3), usage=usage, model="a-model-of-ours")
    assert inspect(unknown, "--window", "90000")["sent"]["again_usd"] is None


def test_tokens_sent_again_cost_what_the_prompt_they_are_in_costs(tmp_path: Path) -> None:
    """Long prompts have a price of their own with some models: twice as much here above 200,000."""
    totals = [1_000_000, 1_000_000, 150_000]
    usage = [{"prefix": 1 + 2 * at, "produced": [], "total_input": size} for at, size in enumerate(totals)]
    file = write_session(tmp_path / "a.json", agent_session(3), model="claude-sonnet-4-5", usage=usage)
    assert inspect(file)["sent"]["again_usd"] == [0.65, 6.45]


def test_the_picture_marks_where_limits_are_met_and_breaks_at_compactions() -> None:
    """A circle for each limit that is; a line for each run of reports."""
    drawn = draw_svg(
        picture(
            met_at={"start": 3, "limit": 4}, measured=[(1, 100), (5, 900), (6, 200)], compactions=[(6, 900)]
        )
    )
    assert drawn.count("<circle") == 2
    assert "limit 700, entry 3" in drawn
    assert "hard 800<" in drawn
    assert drawn.count('class="told"') == 3  # two runs and the legend


@pytest.mark.recordings
@needs_recordings()
@pytest.mark.parametrize(
    "log",
    [log for log in logs() if log.name in {"cli-compact-small", "cli-gemini-c"}],
    ids=lambda log: log.name,
)
def test_the_picture_of_a_log_needs_nothing_else(log: Log, tmp_path: Path) -> None:
    """Well-formed, with the session's compactions, and no address but that of the format."""
    log.raw()
    svg, html = tmp_path / "a.svg", tmp_path / "a.html"
    options = ["--svg", str(svg), "--html", str(html), "--json"]
    result = CliRunner().invoke(app, ["inspect", str(log.path), *options])
    assert result.exit_code == 0, result.stderr
    drawn = svg.read_text()
    assert ET.fromstring(drawn).tag.endswith("svg")  # noqa: S314 - our own
    boundaries = json.loads(result.stdout)["log"]["boundaries"]
    assert drawn.count('class="cut"') == len(boundaries)
    assert drawn in html.read_text()
    for text in (drawn, html.read_text()):
        assert text.count("http") == 1
        assert "<script" not in text


def picture(**more: Any) -> Picture:
    """A small one."""
    told: dict[str, Any] = {
        "title": "a <b> & c",
        "subtitle": "s",
        "entries": 10,
        "measured": [(1, 100), (5, 900)],
        "whole": [],
        "thresholds": {"start": 500, "limit": 700, "hard": 800},
        "compactions": [],
    }
    return Picture(**{**told, **more})


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"measured": [], "whole": []},
        {"entries": 0, "measured": [(0, 0)], "thresholds": {}},
        {"measured": [(n, n) for n in range(10_000)], "entries": 10_000},
        {"compactions": [(n, None) for n in range(10)]},
        {"thresholds": {"hard": 10**9}},
    ],
)
def test_any_picture_can_be_drawn(more: dict[str, Any]) -> None:
    """Nothing measured, far too much, limits beyond the paper; every place lies on it."""
    root = ET.fromstring(draw_svg(picture(**more)))  # noqa: S314 - our own
    for path in root.iter("{http://www.w3.org/2000/svg}path"):
        numbers = [float(one) for one in _numbers(path.get("d", ""))]
        assert all(0 <= one <= 960 for one in numbers)


def test_limits_far_above_are_told_without_a_line() -> None:
    """A line there would press all that was measured to the ground."""
    far = {"start": 600, "limit": 10**9, "hard": 2 * 10**9}
    drawn = draw_svg(picture(thresholds=far))
    assert "far above: limit 1e+03M, hard 2e+03M" in drawn
    assert 'class="line start"' in drawn
    assert 'class="line hard"' not in drawn


def _numbers(path: str) -> list[str]:
    for letter in "MLHVZh":
        path = path.replace(letter, " ")
    return path.split()


def test_a_long_line_keeps_its_peaks() -> None:
    """And its end."""
    points = [(place, 10_000 if place == 4_321 else place % 7) for place in range(9_000)]
    kept = thin_out(points)
    assert len(kept) <= MOST_POINTS + 1
    assert (4_321, 10_000) in kept
    assert kept[-1] == points[-1]


def test_a_picture_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    """With what to do."""
    path = write_session(tmp_path / "a.json", agent_session(1))
    result = CliRunner().invoke(app, ["inspect", str(path), "--svg", str(tmp_path / "no" / "a.svg")])
    assert (result.exit_code, "another path" in result.stderr) == (2, True)


def test_words_out_of_a_log_cannot_move_the_terminal(tmp_path: Path) -> None:
    """Escapes, markup and halves of characters in paths, tools, models."""
    path = "\x1b[2Ja\ud83d[red].py"
    steps = [step(number, "Read", file_path=path) for number in range(2)]
    steps.append(step(3, "\x1b[1m[blue]odd\ud83d"))
    file = write_session(tmp_path / "a.json", session(*steps), model="m\x1b[0m")
    svg = tmp_path / "a.svg"
    result = CliRunner().invoke(
        app, ["inspect", str(file), "--svg", str(svg), "--html", str(tmp_path / "a.html")]
    )
    assert result.exit_code == 0, result.stderr
    assert "\x1b" not in result.stdout
    assert "2 times  ?[2Ja?[red].py" in result.stdout
    assert "?[1m[blue]odd?" in result.stdout
    assert ET.fromstring(svg.read_text()) is not None  # noqa: S314 - our own
