"""What is read that is no ordinary file, and what is said where nothing can be."""

from __future__ import annotations

import gzip
import json
import os
import random
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from typer.testing import CliRunner

from precompact_cli.main import app
from precompact_cli.recording import read_recording
from tests.unit.cli.conversations import agent_session, write_session
from tests.unit.cli.logs import test_codex as codex
from tests.unit.cli.logs.reading import lines

LOG = lines(codex.META, codex.item("user", "go"), codex.item("assistant", "gone"))


@pytest.mark.parametrize("name", ["-", "/dev/stdin"])
def test_standard_input_is_read_like_a_file(name: str) -> None:
    """Though nothing can be read twice from a pipe."""
    command = [sys.executable, "-m", "precompact_cli", "inspect", name, "--json"]
    done = subprocess.run(command, input=LOG, capture_output=True, check=True)
    page = json.loads(done.stdout)
    assert (page["name"], page["entries"], page["log"]["tool"]) == ("stdin", 2, "codex")


def test_a_named_pipe_is_read_like_a_file(tmp_path: Path) -> None:
    """As a shell makes one of `<(command)`."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(LOG,))
    writer.start()
    assert len(read_recording(pipe).messages) == 2
    writer.join()


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "The file is empty"),
        (b"\xef\xbb\xbf \r\n", "The file is empty"),
        (gzip.compress(LOG), "compressed; unpack it"),
        (b"\x28\xb5\x2f\xfd\xff", "compressed; unpack it"),
        (random.Random(51).randbytes(64) + b"\xff", "no UTF-8 text"),
    ],
)
def test_what_cannot_be_read_is_told_with_what_to_do(content: bytes, told: str, tmp_path: Path) -> None:
    """One line, exit code 2."""
    (tmp_path / "log").write_bytes(content)
    assert told in refusal("inspect", str(tmp_path / "log"))


def test_folders_and_devices_are_refused(tmp_path: Path) -> None:
    """A device may have no end; a folder is no log unless OpenCode keeps its sessions there."""
    assert "a folder" in refusal("compact", str(tmp_path))
    assert "a device" in refusal("inspect", "/dev/zero")


@pytest.mark.parametrize("options", [("--svg", "{log}"), ("--html", "{log}"), ("--svg", "x", "--html", "x")])
def test_a_picture_never_takes_the_place_of_the_log(options: tuple[str, ...], tmp_path: Path) -> None:
    """Nor that of the other picture; a second name of the log is the log."""
    log = write_session(tmp_path / "a.json", agent_session(1))
    before, name = log.read_bytes(), tmp_path / "link"
    name.symlink_to(log)
    given = [one.replace("{log}", str(name)) for one in options]
    assert "another path" in refusal("inspect", str(log), *given)
    assert (log.read_bytes(), (tmp_path / "x").exists()) == (before, False)


def refusal(*arguments: str) -> str:
    """The one line in which the command refuses."""
    done = CliRunner().invoke(app, list(arguments))
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    return done.stderr
