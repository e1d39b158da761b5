"""`up`, `replay` and `why`: a service on this machine and who asks it."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from precompact_cli.services import answers
from tests.e2e.running import interrupt, last_json, left_in, run, started
from tests.support.waiting import eventually
from tests.unit.cli.conversations import agent_session, write_session

pytestmark = pytest.mark.process


@dataclass(frozen=True)
class Up:
    """A service that runs: where, with which key, in which folder."""

    url: str
    key: str
    folder: Path


def start_line(folder: Path, *options: str) -> Iterator[dict[str, Any]]:
    """What `up --json` tells once it is ready; it is stopped by SIGTERM at the end and leaves nothing."""
    with started("up", "--json", "--port", "0", *options, folder=folder) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, process.stderr and process.stderr.read()
        yield json.loads(line)
        interrupt(process, group=False, number=signal.SIGTERM)
        process.communicate(timeout=60)
        assert process.returncode == 0
        eventually(lambda: not left_in(folder), 10, "the end of every child")


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    """One service for the tests of this file."""
    folder = tmp_path_factory.mktemp("up")
    for told in start_line(folder):
        yield Up(told["api"], told["key"], folder)


def replayed(folder: Path, *args: str | Path) -> dict[str, Any]:
    """The figures of one replay that went well."""
    code, out, told = run("replay", *args, "--speed", "500", "--json", folder=folder)
    assert code == 0, told
    return last_json(out)


def test_up_prints_a_key_that_opens_the_api_and_keeps_only_its_hash(up: Up) -> None:
    """The key is in no file of the data folder."""
    assert answers(f"{up.url}/readyz")
    assert up.key
    files = [file for file in (up.folder / "a folder").rglob("*") if file.is_file()]
    assert any(file.suffix == ".aof" for file in files)
    assert not [file for file in files if up.key.encode() in file.read_bytes()]


def test_replay_plays_files_through_a_running_service(up: Up) -> None:
    """A line of figures for each file, summaries by the service's own provider."""
    first = write_session(up.folder / "one.json", agent_session(40), usage=[])
    second = write_session(up.folder / "two.json", agent_session(10), usage=[])
    where = ("--url", up.url, "--key", up.key)
    code, out, told = run("replay", first, second, *where, "--speed", "200", folder=up.folder)
    assert code == 0, told
    one, two, both = map(json.loads, out.splitlines())
    assert (one["entries"], two["entries"], both["entries"]) == (82, 22, 104)
    assert one["compactions"] >= 1
    for figures in (one, two):
        assert (figures["lost"], figures["doubled"], figures["valid"]) == (0, 0, True)
        assert figures["summariser_s"] is None


def test_why_says_in_words_why_nothing_happened(up: Up) -> None:
    """A small session is below its start point; the numbers that decided it are told."""
    file = write_session(up.folder / "small.json", agent_session(4), usage=[])
    where = ("--url", up.url, "--key", up.key)
    session = replayed(up.folder, file, *where, "--window", "200000")["session"]

    def answer() -> str:
        code, told, _ = run("why", session, *where, folder=up.folder)
        return told if code == 0 and "below the start point" in told else ""

    told = eventually(answer, 20, "a decision")
    assert told.startswith("Nothing new is being prepared: the session is below the start point. (size ")


def test_replay_with_a_wrong_key_is_one_line_and_exit_code_one(up: Up) -> None:
    """No traceback, and the key is not echoed."""
    file = write_session(up.folder / "small.json", agent_session(1), usage=[])
    where = ("--url", up.url, "--key", "pck_wrong")
    code, out, told = run("replay", file, *where, "--json", folder=up.folder)
    assert (code, out, told.count("\n")) == (1, "", 1)
    assert "pck_wrong" not in told


def test_why_refuses_an_unknown_session_and_a_wrong_key(up: Up) -> None:
    """Exit code 1, one line, and the key is not echoed."""
    code, out, told = run("why", "nobody", "--url", up.url, "--key", up.key, folder=up.folder)
    assert (code, out) == (1, "")
    assert told.count("\n") == 1
    code, out, told = run("why", "nobody", "--url", up.url, "--key", "pck_wrong", folder=up.folder)
    assert (code, out) == (1, "")
    assert "pck_wrong" not in told


def test_what_up_wrote_is_there_after_a_restart_and_the_key_is_not_shown_again(tmp_path: Path) -> None:
    """Sessions survive."""
    file = write_session(tmp_path / "one.json", agent_session(3), usage=[])
    for told in start_line(tmp_path):
        where = ("--url", told["api"], "--key", told["key"])
        session, key = replayed(tmp_path, file, *where)["session"], told["key"]
    for told in start_line(tmp_path):
        assert told["key"] is None
        code, _, _ = run("why", session, "--url", told["api"], "--key", key, folder=tmp_path)
        assert code == 0


@pytest.mark.slow
def test_up_issues_another_key_when_asked(tmp_path: Path) -> None:
    """With `--new-key`; the first one was shown once."""
    first = [told["key"] for told in start_line(tmp_path)]
    assert [told["key"] for told in start_line(tmp_path, "--new-key")] not in ([None], first)


def test_ctrl_c_ends_up_and_everything_it_started(tmp_path: Path) -> None:
    """Flower too; exit code 0: being stopped is how `up` ends."""
    with started("up", "--port", "0", "--flower", "--flower-port", "0", folder=tmp_path) as process:
        assert process.stdout is not None
        printed = ""
        while "Ctrl-C" not in printed:
            line = process.stdout.readline()
            assert line, "up ended by itself"
            printed += line
        assert "Flower  http://127.0.0.1:" in printed
        interrupt(process, group=True)
        process.communicate(timeout=60)
        assert process.returncode == 0
        eventually(lambda: not left_in(tmp_path), 10, "the end of every child")
