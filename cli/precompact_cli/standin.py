"""`precompact standin`: the stand-in for model providers as a process of its own, until it is stopped."""

from __future__ import annotations

import sys
from importlib.resources import as_file, files
from pathlib import Path

from precompact_cli.exits import Exit
from precompact_shared.processes import end_group, spawn

STDOUT = 1
GRACE_S = 3.0


def run_standin(port: int, scenario: Path | None, *, as_json: bool) -> Exit:
    """Runs it in the foreground; counts with the rank file that ships. Its address is its first output."""
    with as_file(files("precompact_shared") / "data" / "o200k_base.tiktoken.gz") as ranks:
        process = spawn(_argv(port, scenario, ranks, as_json=as_json), output=STDOUT)
        try:
            code = process.wait()
        finally:
            end_group(process, grace_s=GRACE_S)
    return Exit(code) if code in set(Exit) else Exit.FAILED


def _argv(port: int, scenario: Path | None, ranks: Path, *, as_json: bool) -> list[str]:
    argv = [sys.executable, "-m", "precompact_standin", "--port", str(port), "--ranks", str(ranks)]
    if scenario is not None:
        argv += ["--scenario", str(scenario)]
    return [*argv, "--json"] if as_json else argv
