"""The stand-in as a process: told where it listens, stopped with what started it, wrong scenarios refused."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

pytestmark = pytest.mark.process

ASK = {"model": "claude-opus-5", "max_tokens": 50, "messages": [{"role": "user", "content": "Hello, world!"}]}
HEADERS = {"authorization": "Bearer k", "anthropic-version": "2026-10-21"}


@contextmanager
def running(*options: str, module: str = "precompact_standin") -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The process and its address, which is its first line of output."""
    argv = [sys.executable, "-m", module, *options, "--port", "0", "--json"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process, json.loads(process.stdout.readline())["url"]
        finally:
            process.kill()


def test_it_answers_and_ends_when_told(tmp_path: Path) -> None:
    """With the scenario of its file; SIGTERM is enough, even in the middle of an answer."""
    scenario = tmp_path / "s.json"
    scenario.write_text('{"reply_text": "From the file."}')
    with running("--scenario", str(scenario)) as (process, url):
        reply = httpx.post(f"{url}/v1/messages", json=ASK, headers=HEADERS)
        assert reply.json()["content"][0]["text"] == "From the file."
        stalled = {**HEADERS, "x-standin-fault": "slow_first_byte"}
        with pytest.raises(httpx.ReadTimeout):
            httpx.post(f"{url}/v1/messages", json=ASK, headers=stalled, timeout=0.3)
        process.send_signal(signal.SIGTERM)
        assert process.wait(15) in {0, -signal.SIGTERM}


def test_the_command_runs_it_with_the_rank_file_and_takes_it_along() -> None:
    """Tokens are counted as tokens: four, the model's factor, and the message's own."""
    with running("standin", module="precompact_cli") as (process, url):
        counted = httpx.post(
            f"{url}/v1/messages/count_tokens",
            json={"model": "claude-opus-5", "messages": ASK["messages"]},
            headers=HEADERS,
        )
        assert counted.json() == {"input_tokens": 10}
        process.send_signal(signal.SIGINT)
        assert process.wait(15) == 130
        with pytest.raises(httpx.ConnectError):
            httpx.get(url)


@pytest.mark.parametrize("content", ['{"fault": []}', "{", None])
def test_a_scenario_that_cannot_be_read_is_exit_code_two(tmp_path: Path, content: str | None) -> None:
    """One line says why."""
    path = tmp_path / "s.json"
    if content is not None:
        path.write_text(content)
    told = subprocess.run(
        [sys.executable, "-m", "precompact_standin", "--scenario", str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == 2
    assert told.stderr.count("\n") == 1
