"""The stand-in for model providers as a process of its own: until it is stopped, or beside a demo."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path

import msgspec

from precompact_cli.exits import Exit
from precompact_cli.services import answers
from precompact_shared.processes import Program, end_group, free_port, spawn

STDOUT = 1
GRACE_S = 3.0
_SIGHT = "/standin/requests"


def run_standin(port: int, scenario: Path | None, *, as_json: bool) -> Exit:
    """Runs it in the foreground; counts with the rank file that ships. Its address is its first output."""
    with _ranks() as ranks:
        process = spawn(_argv(port, scenario, ranks, as_json=as_json), output=STDOUT)
        try:
            code = process.wait()
        finally:
            end_group(process, grace_s=GRACE_S)
    return Exit(code) if code in set(Exit) else Exit.FAILED


@dataclass(frozen=True, slots=True)
class StandIn:
    """A stand-in for both providers, about to run on a free port of this machine."""

    url: str
    program: Program

    @property
    def settings(self) -> dict[str, str]:
        """Settings under which a worker finds it."""
        return {"anthropic_base_url": self.url, "openai_base_url": f"{self.url}/v1"}

    @property
    def env(self) -> dict[str, str]:
        """What a worker's environment needs besides: no real key goes there, no proxy lies between."""
        keys = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY")
        return {**dict.fromkeys(keys, "stand-in"), "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}


@contextmanager
def standin_beside(folder: Path, *, delay_s: float) -> Iterator[StandIn]:
    """One whose every answer waits for `delay_s` real seconds; its scenario lies in `folder`."""
    scenario = folder / "scenario.json"
    scenario.write_bytes(msgspec.json.encode({"pace": {"first_byte_s": delay_s}}))
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    with _ranks() as ranks:
        argv = _argv(port, scenario, ranks, as_json=True)
        yield StandIn(url, Program(name="standin", argv=tuple(argv), ready=lambda: answers(f"{url}{_SIGHT}")))


def _ranks() -> AbstractContextManager[Path]:
    return as_file(files("precompact_shared") / "data" / "o200k_base.tiktoken.gz")


def _argv(port: int, scenario: Path | None, ranks: Path, *, as_json: bool) -> list[str]:
    argv = [sys.executable, "-m", "precompact_standin", "--port", str(port), "--ranks", str(ranks)]
    if scenario is not None:
        argv += ["--scenario", str(scenario)]
    return [*argv, "--json"] if as_json else argv
