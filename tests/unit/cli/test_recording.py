"""What a recording says, and what is told about a file that is none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from precompact_cli.exits import InputRefused
from precompact_cli.recording import ModelCall, read_recording
from tests.unit.cli.conversations import agent_session, write, write_session

USER = {"role": "user", "content": "hello"}


def test_recorded_usage_names_the_model_calls(tmp_path: Path) -> None:
    """Prefix, the end of what was produced, and the whole prompt's tokens."""
    usage = [
        {"prefix": 1, "produced": [1], "total_input": 500, "output": 7},
        {"prefix": 3, "produced": [3], "total_input": None},
    ]
    recording = read_recording(write_session(tmp_path / "a.json", agent_session(1), usage=usage))
    assert recording.calls == (ModelCall(1, 2, 500, 7), ModelCall(3, 4))


def test_calls_that_do_not_continue_the_list_are_left_out_and_counted(tmp_path: Path) -> None:
    """A branch, and a call that only counted tokens."""
    usage = [
        {"prefix": 1, "produced": [1], "total_input": 5},
        {"prefix": 1, "produced": [1], "total_input": 5},
        {"prefix": 3, "produced": [], "endpoint": "count_tokens"},
        {"prefix": 99, "produced": [100]},
    ]
    recording = read_recording(write_session(tmp_path / "a.json", agent_session(1), usage=usage))
    assert recording.calls == (ModelCall(1, 2, 5),)
    assert recording.left_out == 2


@pytest.mark.parametrize("absurd", [-5, 10**10, 10**40, "500", 1.5, True, [], None])
def test_sizes_that_no_prompt_has_are_not_reported(tmp_path: Path, absurd: Any) -> None:
    """The call is there all the same."""
    usage = [{"prefix": 1, "produced": [1], "total_input": absurd, "output": absurd, "reasoning": absurd}]
    recording = read_recording(write_session(tmp_path / "a.json", agent_session(1), usage=usage))
    assert recording.calls == (ModelCall(1, 2),)


def test_without_usage_every_run_of_the_assistant_is_a_call(tmp_path: Path) -> None:
    """Two neighbouring assistant messages are one reply."""
    spoken = [USER, {"role": "assistant", "content": "a"}, {"role": "assistant", "content": "b"}, USER]
    recording = read_recording(
        write_session(tmp_path / "a.json", [*spoken, {"role": "assistant", "content": "c"}])
    )
    assert recording.calls == (ModelCall(1, 3), ModelCall(4, 5))


@pytest.mark.parametrize(
    ("body", "hint"),
    [
        ([USER], "wrap it and name its format"),
        ("text", "holds no recording"),
        ({"messages": [USER]}, "`format` has to be one of"),
        ({"format": "anthropic"}, "`messages` has to be a list"),
        ({"format": "anthropic", "messages": []}, "at least one"),
        ({"format": "anthropic", "messages": [USER, {"role": 7}]}, "messages[1] is no message"),
    ],
)
def test_a_file_that_is_no_recording_is_refused_with_what_to_do(tmp_path: Path, body: Any, hint: str) -> None:
    """The error names the place, never the text."""
    with pytest.raises(InputRefused) as refused:
        read_recording(write(tmp_path / "a.json", body))
    assert hint in str(refused.value)
    assert "hello" not in str(refused.value)


@pytest.mark.parametrize(
    ("raw", "hint"),
    [
        (b'{"a": 1}\n{"b": 2}\n', "one JSON object a line"),
        (b"{not json", "not valid JSON"),
        (b"\xff\xfe\x00", "no UTF-8"),
    ],
)
def test_text_that_is_no_json_is_told_apart(tmp_path: Path, raw: bytes, hint: str) -> None:
    """A log of an agent, broken JSON, and binary rubbish."""
    path = tmp_path / "a.json"
    path.write_bytes(raw)
    with pytest.raises(InputRefused, match=hint):
        read_recording(path)


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    """Nothing but the reason."""
    with pytest.raises(InputRefused, match="cannot be read"):
        read_recording(tmp_path / "none.json")
