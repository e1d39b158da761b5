"""The command as a user runs it: a process, its output, and what it may have left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil

from precompact_shared import settings

COMMAND = (sys.executable, "-m", "precompact_cli")
OURS = (
    *("precompact_api", "precompact_scheduler", "precompact_worker", "precompact_standin"),
    *("redis-server", "valkey-server"),
)
KEYS = frozenset({"ANTHROPIC_API_KEY", "OPENAI_API_KEY"})


def environment(folder: Path, more: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment without settings of ours and keys; temporary and data folders inside `folder` (it has a space)."""
    spaced = folder / "a folder"
    spaced.mkdir(exist_ok=True)
    kept = {
        name: value
        for name, value in settings.environment().items()
        if not name.startswith("PRECOMPACT_") and name not in KEYS
    }
    own = {"TMPDIR": str(spaced), "XDG_DATA_HOME": str(spaced), "COLUMNS": "160"}
    return {**kept, **own, **(more or {})}


@contextmanager
def started(
    *args: str | Path, folder: Path, env: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[str]]:
    """The command, leading a process group of its own as in an interactive shell; killed if it still runs at the end."""
    process = subprocess.Popen(
        [*COMMAND, *map(str, args)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(folder, env),
        cwd=folder,
        process_group=0,
    )
    try:
        yield process
    finally:
        _kill_family(process)
        process.communicate()


def _kill_family(process: subprocess.Popen[str]) -> None:
    family: list[psutil.Process] = []
    with suppress(psutil.NoSuchProcess):
        family = psutil.Process(process.pid).children(recursive=True)
    process.kill()
    for member in family:
        with suppress(psutil.NoSuchProcess):
            member.kill()


def run(
    *args: str | Path, folder: Path, timeout_s: float = 120, env: Mapping[str, str] | None = None
) -> tuple[int, str, str]:
    """(exit code, stdout, stderr). `env` is added to the environment."""
    with started(*args, folder=folder, env=env) as process:
        out, err = process.communicate(timeout=timeout_s)
        return process.returncode, out, err


def last_json(text: str) -> dict[str, Any]:
    """The object in the last line."""
    found: dict[str, Any] = json.loads(text.strip().splitlines()[-1])
    return found


def left_in(folder: Path, names: Sequence[str] = OURS) -> list[psutil.Process]:
    """Processes of ours that live and belong to a command started by `started` in this folder; `names` narrows them.

    A Redis writes its title over its environment; it is known by the folder it works in.
    """
    mark = str(folder / "a folder")
    found = []
    for process in psutil.process_iter():
        try:
            mine = any(name in part for part in process.cmdline() for name in names)
            if not mine or process.status() == psutil.STATUS_ZOMBIE:
                continue
            if process.environ().get("TMPDIR") == mark or process.cwd().startswith(mark):
                found.append(process)
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return found


def interrupt(process: subprocess.Popen[str], *, group: bool, number: signal.Signals = signal.SIGINT) -> None:
    """Ctrl-C (to the whole group), or the signal to the command alone."""
    if group:
        os.killpg(process.pid, number)
    else:
        process.send_signal(number)
