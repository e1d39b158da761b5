"""`compact`: offline, engine only."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from precompact_cli.main import app
from precompact_shared.engine.preset import preset_names
from precompact_shared.engine.types import Format
from precompact_shared.engine.validate import Severity, validate
from tests.support.recordings import Recording, needs_recordings, recordings
from tests.unit.cli.conversations import agent_session, write_session

KEYS = "format preset provider window cut tokens_before tokens_after summary coverage checkpoint messages"


def run(*args: str | Path) -> tuple[int, str, str]:
    """(exit code, stdout, stderr) of the command."""
    result = CliRunner().invoke(app, [str(arg) for arg in args])
    return result.exit_code, result.stdout, result.stderr


def errors(wire: str, messages: list[Any]) -> list[str]:
    """What a provider would refuse."""
    return [one.id for one in validate(Format(wire), messages) if one.severity is Severity.ERROR]


@pytest.mark.parametrize("preset", preset_names())
@pytest.mark.parametrize("provider", ["extractive", "scripted"])
def test_one_line_of_json_with_messages_ready_to_send(tmp_path: Path, preset: str, provider: str) -> None:
    """Every promised key, in order; smaller, valid, what is kept is kept word for word."""
    messages = agent_session(60)
    file = write_session(tmp_path / "a.json", messages)
    code, out, _ = run(
        "compact", file, "--preset", preset, "--provider", provider, "--window", "32000", "--json"
    )
    assert code == 0
    assert out.count("\n") == 1
    done = json.loads(out)
    assert list(done) == KEYS.split()
    assert (done["preset"], done["provider"], done["window"]) == (preset, provider, 32_000)
    assert done["tokens_after"] < done["tokens_before"]
    assert 0 < done["cut"] <= len(messages)
    kept = messages[done["cut"] :]
    assert done["messages"] == [*done["checkpoint"]["insert"], *kept]
    assert done["summary"]
    assert done["coverage"]["share"] == 1
    assert errors("anthropic", done["messages"]) == []


def test_an_unanswered_call_at_the_end_gets_a_result(tmp_path: Path) -> None:
    """The messages are to be sent as they are; nobody answers that call any more."""
    file = write_session(tmp_path / "a.json", agent_session(60)[:-2])
    code, out, _ = run("compact", file, "--window", "32000", "--json")
    assert code == 0
    assert errors("anthropic", json.loads(out)["messages"]) == []


def test_nothing_to_compact_is_exit_code_three_and_a_reason(tmp_path: Path) -> None:
    """As JSON and in words."""
    file = write_session(tmp_path / "a.json", agent_session(1))
    assert run("compact", file, "--json")[:2] == (3, '{"skipped": "all_fits"}\n')
    assert run("compact", file)[:2] == (3, "Nothing to compact: all fits.\n")


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        (("--preset", "none"), "use one of: "),
        (("--provider", "openai"), "`extractive` and `scripted`"),
        (("--window", "5"), "window"),
    ],
)
def test_wrong_options_are_exit_code_two_with_what_to_do(
    tmp_path: Path, options: tuple[str, str], hint: str
) -> None:
    """Nothing on stdout."""
    code, out, told = run("compact", write_session(tmp_path / "a.json", agent_session(1)), *options)
    assert (code, out) == (2, "")
    assert hint in told


def test_without_json_the_page_shows_sizes_and_summary(tmp_path: Path) -> None:
    """For people."""
    code, out, _ = run("compact", write_session(tmp_path / "a.json", agent_session(60)), "--window", "32000")
    assert code == 0
    assert "tokens (" in out
    assert "## Goal and requests" in out


@needs_recordings()
@pytest.mark.recordings
@pytest.mark.parametrize("recording", recordings(), ids=lambda recording: recording.name)
def test_every_recording_is_compacted_to_something_valid_or_skipped_for_a_reason(
    recording: Recording, tmp_path: Path
) -> None:
    """In a window small enough that there is something to cut; no rule is broken that the tail did not break before."""
    wire = recording.load()["format"]
    code, out, told = run("compact", recording.path, "--window", "16000", "--json")
    assert code in {0, 3}, told
    done = json.loads(out)
    if code == 3:
        assert done["skipped"]
    else:
        assert done["tokens_after"] < done["tokens_before"]
        assert errors(wire, done["messages"]) == []


def test_a_conversation_that_breaks_a_rule_already_is_refused_as_such(tmp_path: Path) -> None:
    """Its fault is not called one of this program."""
    messages = agent_session(80)
    messages[-3]["content"].append({**messages[-3]["content"][1]})
    path = write_session(tmp_path / "a.json", messages)
    result = CliRunner().invoke(app, ["compact", str(path), "--window", "20000", "--json"])
    assert result.exit_code == 2
    assert "breaks rule" in result.stderr
    assert "inspect --validate" in result.stderr


def test_what_was_said_cannot_move_the_terminal(tmp_path: Path) -> None:
    """A summary keeps the user's own words, escapes among them; a name may look like markup."""
    messages = agent_session(80)
    messages[0]["content"] = "Fix\x1b[2J the\ttest\nand [red]stop."
    path = write_session(tmp_path / "a.json", messages, name="[red]\x1b[0mname")
    result = CliRunner().invoke(app, ["compact", str(path), "--window", "20000"])
    assert result.exit_code == 0, result.stderr
    assert "\x1b" not in result.stdout
    assert result.stdout.startswith("[red]?[0mname: ")
    assert "Fix?[2J the" in result.stdout
