"""`demo`: the whole service on a temporary Redis, one session played through it, nothing left behind."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from precompact_cli.windows import LADDER
from tests.e2e.running import interrupt, last_json, left_in, run, started
from tests.support.waiting import eventually
from tests.unit.cli.conversations import agent_session, write_session

pytestmark = pytest.mark.process


def session_file(folder: Path) -> Path:
    """A session of about 30,000 tokens in which every message comes ten seconds after the last."""
    return write_session(folder / "long session.json", agent_session(60), usage=[])


def test_a_demo_ends_with_one_line_of_figures_and_leaves_nothing(tmp_path: Path) -> None:
    """Compactions happen, nothing is lost, doubled or invalid."""
    code, out, told = run("demo", "--file", session_file(tmp_path), "--speed", "200", folder=tmp_path)
    assert code == 0, told
    assert out.count("\n") == 1
    figures = last_json(out)
    assert figures["entries"] == 122
    assert figures["model_calls"] == 61
    assert figures["window"] in LADDER
    assert figures["compactions"] >= 1
    assert figures["compactions"] == figures["adopted"] + figures["waited"] + figures["reduced"]
    assert figures["history_version"] == figures["compactions"]
    assert figures["tokens_after"] < figures["tokens_before"]
    assert (figures["speedup"], figures["summariser_s"]) == (200, 20)
    assert (figures["lost"], figures["doubled"], figures["valid"]) == (0, 0, True)
    assert "adopted" in told
    assert "200 times as fast as recorded" in told
    assert left_in(tmp_path) == []
    assert list((tmp_path / "a folder").iterdir()) == []


def test_json_alone_is_silent_on_stderr(tmp_path: Path) -> None:
    """For scripts: the line and nothing else, in the window that was asked for; the file as an argument."""
    options = ("--speed", "400", "--window", "20000", "--json")
    code, out, told = run("demo", session_file(tmp_path), *options, folder=tmp_path)
    assert (code, told) == (0, "")
    assert last_json(out)["window"] == 20_000


def test_a_file_that_is_no_recording_starts_nothing(tmp_path: Path) -> None:
    """Exit code 2 and what to do."""
    file = tmp_path / "a.json"
    file.write_text("[]", encoding="utf-8")
    code, out, told = run("demo", "--file", file, folder=tmp_path)
    assert (code, out) == (2, "")
    assert "name its format" in told


@pytest.mark.parametrize(
    ("after", "group"),
    [
        ("at once", True),
        ("redis", False),
        ("everything", True),
        pytest.param("playing", True, marks=pytest.mark.slow),
        pytest.param("playing", False, marks=pytest.mark.slow),
    ],
)
def test_an_interrupted_demo_leaves_no_process(tmp_path: Path, after: str, group: bool) -> None:
    """Whenever it comes, by Ctrl-C (to the whole group) or to the command alone."""
    with started("demo", "--file", session_file(tmp_path), "--speed", "50", folder=tmp_path) as process:
        assert process.stderr is not None
        if after == "playing":
            while not (line := process.stderr.readline()).startswith(("0:", "call")):
                assert line, "the demo ended by itself"
        else:
            least = {"at once": 0, "redis": 1, "everything": 4}[after]
            eventually(lambda: len(left_in(tmp_path)) >= least, 60, f"{least} processes")
        interrupt(process, group=group)
        out, _ = process.communicate(timeout=60)
        assert out == ""
        assert process.returncode != 0
        eventually(lambda: not left_in(tmp_path), 10, "the end of every child")


def test_a_demo_that_is_killed_takes_its_children_with_it(tmp_path: Path) -> None:
    """Nobody can clean up after SIGKILL but the kernel."""
    with started("demo", "--file", session_file(tmp_path), "--speed", "5", folder=tmp_path) as process:
        eventually(lambda: len(left_in(tmp_path)) >= 4, 60, "4 processes")
        interrupt(process, group=False, number=signal.SIGKILL)
        process.communicate(timeout=60)
        eventually(lambda: not left_in(tmp_path), 20, "the end of every child")


def test_sigterm_ends_a_demo_as_ctrl_c_does(tmp_path: Path) -> None:
    """What a supervisor sends."""
    with started("demo", "--file", session_file(tmp_path), "--speed", "5", folder=tmp_path) as process:
        eventually(lambda: len(left_in(tmp_path)) >= 4, 60, "4 processes")
        interrupt(process, group=False, number=signal.SIGTERM)
        process.communicate(timeout=60)
        assert process.returncode == 130
        eventually(lambda: not left_in(tmp_path), 10, "the end of every child")
