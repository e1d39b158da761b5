"""`inspect`: which provider rules a conversation breaks, and which of its tools nobody has described."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from precompact_cli.main import app
from tests.support.recordings import Recording, data_dir, needs_recordings, recordings
from tests.unit.cli.conversations import agent_session, write, write_session

MOST_LISTED = 12
POLICY = {"tools": {"fetch_weather": {"kind": "search", "refetchable": True}}}


def run(file: Path, *options: str) -> Result:
    """What the command does."""
    return CliRunner().invoke(app, ["inspect", str(file), *options])


def page_of(result: Result) -> dict[str, Any]:
    """The page as JSON."""
    page: dict[str, Any] = json.loads(result.stdout)
    return page


def with_weather(tmp_path: Path) -> Path:
    """A session with a tool of the user's own."""
    call = {"type": "tool_use", "id": "w", "name": "fetch_weather", "input": {"city": "Ulm"}}
    result = {"type": "tool_result", "tool_use_id": "w", "content": "sunny " * 2_000}
    messages = [
        *agent_session(3),
        {"role": "user", "content": "And the weather?"},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
        {"role": "assistant", "content": "Sunny."},
    ]
    return write_session(tmp_path / "weather.json", messages)


def broken(tmp_path: Path) -> Path:
    """A session with a result nobody asked for in its second message."""
    orphan = {"type": "tool_result", "tool_use_id": "gone", "content": "late"}
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "hello"},
        {"role": "user", "content": [orphan]},
        {"role": "assistant", "content": [{"type": "text", "text": "hi"}]},
    ]
    return write_session(tmp_path / "broken.json", messages)


def test_a_breach_is_named_with_rule_severity_source_and_index(tmp_path: Path) -> None:
    """The exit code says that the list would be refused."""
    result = run(broken(tmp_path), "--validate", "--json")
    found = page_of(result)["validation"]
    assert result.exit_code == 1
    assert found["refused"] is True
    (breach,) = [one for one in found["breaches"] if one["rule"] == "A6"]
    assert (breach["index"], breach["severity"]) == (1, "error")
    assert "anthropics/claude-code#18947" in breach["source"]
    assert "tool_result" in breach["says"]
    assert "A4" in found["not_asked"]


def test_the_page_for_people_names_the_same_breach(tmp_path: Path) -> None:
    """And says in words what follows."""
    result = run(broken(tmp_path), "--validate")
    assert result.exit_code == 1
    assert "A6" in result.stdout
    assert "The provider would refuse this list." in result.stdout


def test_a_sound_conversation_breaks_no_rule(tmp_path: Path) -> None:
    """Asked or not asked, the exit code is 0."""
    file = write_session(tmp_path / "a.json", agent_session(3))
    result = run(file, "--validate", "--json")
    assert result.exit_code == 0
    assert page_of(result)["validation"]["breaches"] == []
    assert "Nothing a provider refuses." in run(file, "--validate").stdout
    assert "validation" not in page_of(run(file, "--json"))


def test_without_being_asked_a_refused_conversation_is_only_shown(tmp_path: Path) -> None:
    """`inspect` alone checks no rule."""
    assert run(broken(tmp_path), "--json").exit_code == 0


def test_tools_nobody_described_are_listed_with_their_share(tmp_path: Path) -> None:
    """Known ones are not; the share is of all tokens."""
    file = with_weather(tmp_path)
    unknown = page_of(run(file, "--json"))["unknown_tools"]
    assert list(unknown) == ["fetch_weather"]
    assert 0.4 < unknown["fetch_weather"] < 1
    out = run(file).stdout
    assert "fetch_weather" in out
    assert f"{unknown['fetch_weather']:.1%}" in out


def test_a_tool_that_the_policy_describes_is_no_unknown_one(tmp_path: Path) -> None:
    """The tenant's rows count besides the shipped ones."""
    policy = write(tmp_path / "policy.json", POLICY)
    result = run(with_weather(tmp_path), "--policy", str(policy), "--json")
    assert page_of(result)["unknown_tools"] == {}


@pytest.mark.parametrize("content", ["{", '{"tools": {"x": {"kind": "magic"}}}'])
def test_a_policy_that_is_none_is_refused(tmp_path: Path, content: str) -> None:
    """With the field that is wrong."""
    policy = tmp_path / "policy.json"
    policy.write_text(content, encoding="utf-8")
    result = run(with_weather(tmp_path), "--policy", str(policy))
    assert result.exit_code == 2
    assert "policy" in result.stderr


@pytest.mark.recordings
@needs_recordings()
@pytest.mark.parametrize(
    "recording",
    [one for one in recordings() if one.name.startswith(("pi--before", "claude-code--cli-dangling"))],
    ids=lambda one: str(one.name),
)
def test_of_a_recording_the_command_says_what_the_manifest_says(recording: Recording) -> None:
    """Index for index, errors only."""
    root = data_dir()
    assert root is not None
    recording.load()
    rows = json.loads((root / "manifest.json").read_text(encoding="utf-8"))
    (told,) = [row["violations"] for row in rows if row["name"] == recording.name]
    found = page_of(run(recording.path, "--validate", "--json"))["validation"]
    errors = [one["index"] for one in found["breaches"] if one["severity"] == "error"]
    assert errors[:MOST_LISTED] == [int(text.partition(":")[0]) for text in told]
