"""`replay`: logs as the tools wrote them, through a service that runs, under the policy of its tenant."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.e2e.running import interrupt, last_json, left_in, run, started
from tests.support import tally
from tests.support.recordings import Log, logs, needs_recordings, used
from tests.support.waiting import eventually
from tests.unit.cli.conversations import agent_session, write_session

pytestmark = pytest.mark.process

FAST = ("--speed", "1000")


class Up:
    """A service that `precompact up` runs."""

    def __init__(self, folder: Path, told: dict[str, Any]) -> None:
        self.folder = folder
        self.url: str = told["api"]
        self.key: str = told["key"]

    def replay(self, *args: str | Path, env: dict[str, str] | None = None) -> tuple[int, str, str]:
        """A replay that finds address and key by itself."""
        return run("replay", *args, folder=self.folder, env=env or {"PRECOMPACT_KEY": self.key})

    def set_policy(self, **fields: Any) -> None:
        """The tenant's policy, by somebody who may."""
        headers = {"Authorization": f"Bearer {self.key}"}
        answer = httpx.put(f"{self.url}/v1/policy", json=fields, headers=headers)
        assert answer.status_code == 200, answer.status_code


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    """One service for the tests of this file; it is stopped by SIGTERM and leaves nothing."""
    folder = tmp_path_factory.mktemp("up")
    with started("up", "--json", "--port", "0", folder=folder) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, process.stderr and process.stderr.read()
        yield Up(folder, json.loads(line))
        interrupt(process, group=False, number=signal.SIGTERM)
        process.communicate(timeout=60)
        assert process.returncode == 0
        eventually(lambda: not left_in(folder), 10, "the end of every child")
        assert not list((folder / "a folder").rglob("up.json"))


def smallest_of_each_tool() -> list[Log]:
    """One log of each tool: the smallest above 20 kB, so that something happens in it."""
    by_tool: dict[str, list[Log]] = {}
    for log in logs():
        by_tool.setdefault(log.tool, []).append(log)
    return [
        min(found, key=lambda log: (log.path.stat().st_size < 20_000, log.path.stat().st_size))
        for found in by_tool.values()
    ]


@pytest.mark.recordings
@needs_recordings()
def test_a_log_of_each_tool_goes_through_whole_and_valid(up: Up) -> None:
    """A line of figures for each in order, the sums last; address and key come from `up` and the environment."""
    played = smallest_of_each_tool()
    assert len(played) == 5
    code, out, told = up.replay(*(log.path for log in played), *FAST)
    assert code == 0, told
    *lines, total = map(json.loads, out.splitlines())
    assert len(lines) == len(played)
    for number, (log, line) in enumerate(zip(played, lines, strict=True), 1):
        assert (line["lost"], line["doubled"], line["valid"]) == (0, 0, True), log.name
        assert line["model_calls"] >= 1
        assert f"{number}/5  reading" in told
        used.add(f"{log.tool}/{log.name}")
    assert (total["sessions"], total["valid"]) == (5, True)
    for name in ("entries", "model_calls", "compactions", "lost", "doubled"):
        assert total[name] == sum(line[name] for line in lines)
    tally.count("replay: logs played", len(lines))
    tally.count("replay: compactions", total["compactions"])


@pytest.mark.slow
def test_the_tenants_own_policy_decides_preset_and_limits(up: Up) -> None:
    """What would never be compacted by the default is, under a policy that wants little; its preset is told.

    Nobody waits below the hard limit: it is played slowly enough that a busy machine has a candidate ready in time.
    """
    file = write_session(up.folder / "policy.json", agent_session(40), usage=[])
    before = last_json(up.replay(file, "--window", "100000", *FAST)[1])
    up.set_policy(preset="codex", limit_share=0.1, keep_tokens=2_000)
    try:
        after = last_json(up.replay(file, "--window", "100000", "--speed", "100")[1])
        code, _, told = up.replay(file, *FAST)
    finally:
        up.set_policy()
    assert (before["compactions"], before["preset"]) == (0, "precompact")
    assert after["compactions"] >= 1
    assert after["preset"] == "codex"
    assert code == 0
    assert "preset codex" in told


@needs_recordings()
def test_a_view_and_a_sub_agent_of_a_log_are_played(up: Up) -> None:
    """What would be sent next is less than all that was said; a sub-agent is a session of its own."""
    compacted = next(log for log in logs() if log.name == "cli-compact-small")
    branching = next(log for log in logs() if log.name == "viewer-sidechain-large")
    used.update({f"{log.tool}/{log.name}" for log in (compacted, branching)})
    whole = last_json(up.replay(compacted.path, *FAST)[1])
    after = last_json(up.replay(compacted.path, "--view", "after", *FAST)[1])
    assert after["entries"] < whole["entries"]
    code, out, told = up.replay(branching.path, "--sidechain", "1", *FAST, "--json")
    assert (code, told) == (0, "")
    assert "sidechain1" in last_json(out)["session"]


@needs_recordings()
def test_the_newest_log_of_this_machine_is_played(up: Up) -> None:
    """It is found below the home folder, and named."""
    log = next(log for log in logs() if log.name == "sync-tiny")
    home = up.folder / "home"
    (home / ".codex/sessions/2026/11/30").mkdir(parents=True)
    (home / ".codex/sessions/2026/11/30/rollout-1.jsonl").write_bytes(log.raw())
    code, out, told = up.replay("--latest", *FAST, env={"PRECOMPACT_KEY": up.key, "HOME": str(home)})
    assert code == 0, told
    assert "rollout-1.jsonl" in told
    assert last_json(out)["format"] == "openai-responses"


def test_a_pipe_is_played_though_it_can_be_read_once(up: Up) -> None:
    """It is opened before anything is sent, like every file."""
    file, pipe = write_session(up.folder / "piped.json", agent_session(2), usage=[]), up.folder / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(file.read_bytes(),), daemon=True)
    writer.start()
    code, out, told = up.replay(pipe, *FAST)
    writer.join(timeout=30)
    assert code == 0, told
    assert (last_json(out)["entries"], last_json(out)["lost"]) == (6, 0)


def test_nothing_is_played_when_one_of_several_files_is_wrong(up: Up) -> None:
    """Exit code 2 before the first was sent."""
    good = write_session(up.folder / "good.json", agent_session(2), usage=[])
    bad = up.folder / "bad.json"
    bad.write_text("[]", encoding="utf-8")
    code, out, told = up.replay(good, bad, *FAST)
    assert (code, out, told.count("\n")) == (2, "", 1)


def test_a_key_that_nobody_gave_is_one_line(up: Up) -> None:
    """Where nobody can be asked for it."""
    file = write_session(up.folder / "a.json", agent_session(1), usage=[])
    code, out, told = up.replay(file, env={"PATH": "/usr/bin"})
    assert (code, out, told.count("\n")) == (2, "", 1)
    assert "PRECOMPACT_KEY" in told


def test_a_stopped_replay_ends_at_once_and_the_service_goes_on(up: Up) -> None:
    """Exit code 130, no line of figures."""
    file = write_session(up.folder / "long.json", agent_session(40), usage=[])
    where = ("--url", up.url, "--key", up.key, "--speed", "2")
    with started("replay", file, *where, folder=up.folder) as process:
        assert process.stderr is not None
        while "2 times as fast" not in (line := process.stderr.readline()):
            assert line, "the replay ended by itself"
        interrupt(process, group=True)
        out, _ = process.communicate(timeout=30)
        assert (out, process.returncode) == ("", 130)
    assert httpx.get(f"{up.url}/readyz").status_code == 200
