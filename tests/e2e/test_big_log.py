"""A log of half a gigabyte is inspected in the memory that a small one takes, whoever wrote it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from precompact_cli.main import app
from tests.e2e import big_logs
from tests.e2e.big_logs import COMPACTED_BY_NOBODY, Told, write_log

LOG_BYTES = 500 * 1024 * 1024
LARGEST_BYTES = 24 * 1024 * 1024
MOST_KIB = 300 * 1024
SMALL_BYTES = 400_000
_MEASURED = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)
"""
"""Runs a command from a small process: a child's greatest size counts its parent's at the start, and a test run is large."""


@pytest.mark.slow
@pytest.mark.parametrize("tool", big_logs.SHAPES)
def test_half_a_gigabyte_is_inspected_within_300_megabytes(tool: str, tmp_path: Path) -> None:
    """Every message is read, every compaction found; one entry is of 24 MB, and takes three times as much for a moment."""
    path = tmp_path / "log"
    told = write_log(path, tool, log_bytes=LOG_BYTES, largest_bytes=LARGEST_BYTES)
    page, most_kib = _inspected(path, tmp_path / "page.json")
    path.unlink()
    _check(page, tool, told)
    assert page["tokens"] > LOG_BYTES / 40
    assert most_kib < MOST_KIB


@pytest.mark.parametrize("tool", big_logs.SHAPES)
def test_the_logs_made_here_are_what_each_tool_writes(
    tool: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the large ones would show nothing."""
    monkeypatch.setattr(big_logs, "CONTEXT_STEPS", 6)
    path = tmp_path / "log"
    told = write_log(path, tool, log_bytes=SMALL_BYTES, largest_bytes=SMALL_BYTES // 10)
    assert told.boundaries > 1
    _check(json.loads(CliRunner().invoke(app, ["inspect", str(path), "--json"]).stdout), tool, told)


def _check(page: dict[str, Any], tool: str, told: Told) -> None:
    assert page["log"]["tool"] == tool.removesuffix("-document")
    assert page["entries"] == told.entries
    assert page["model_calls"] == told.steps
    assert len(page["log"]["boundaries"]) == (0 if tool in COMPACTED_BY_NOBODY else told.boundaries)
    assert page["log"]["damaged_lines"] == 0


def _inspected(path: Path, told: Path) -> tuple[dict[str, Any], int]:
    """The page, and the most memory the process had, in KiB."""
    inspect = [sys.executable, "-m", "precompact_cli", "inspect", str(path), "--json"]
    with told.open("wb") as out:
        command = [sys.executable, "-c", _MEASURED, *inspect]
        measured = subprocess.run(command, stdout=out, stderr=subprocess.PIPE, check=True)
    page: dict[str, Any] = json.loads(told.read_bytes())
    return page, int(measured.stderr.split()[-1]) // (1024 if sys.platform == "darwin" else 1)
