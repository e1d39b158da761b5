"""The newest log on this machine, and what commands say about logs."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from precompact_cli.logs.places import newest_log
from precompact_cli.main import app
from tests.unit.cli.conversations import agent_session, write_session
from tests.unit.cli.logs import test_claude_code as claude
from tests.unit.cli.logs import test_codex as codex
from tests.unit.cli.logs.opencode_stores import write_database, write_folder
from tests.unit.cli.logs.reading import lines

CLAUDE = lines(
    claude.prompt("go", None),
    claude.said("first", "go", "m1"),
    claude.boundary("cut", "first"),
    claude.prompt("sum", "cut", isCompactSummary=True),
    claude.said("second", "sum", "m2"),
    claude.prompt("s", None, isSidechain=True),
)
CODEX = lines(codex.META, codex.item("user", "a"))


def put(home: Path, place: str, raw: bytes, age_s: int) -> Path:
    """A file that was written so long ago."""
    path = home / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(raw)
    os.utime(path, (1_000_000 - age_s, 1_000_000 - age_s))
    return path


def run(*arguments: str) -> Any:
    """The command's result."""
    return CliRunner().invoke(app, list(arguments))


def test_the_newest_log_is_found_where_the_tools_keep_them(tmp_path: Path) -> None:
    """What is no log is passed over, and a sub-agent's part of one; what lies elsewhere is not looked at."""
    older = put(tmp_path, ".claude/projects/a/one.jsonl", CLAUDE, 30)
    newer = put(tmp_path, ".codex/sessions/2026/01/02/rollout.jsonl", CODEX, 20)
    put(tmp_path, ".claude/projects/a/two.jsonl", b"no log", 10)
    put(tmp_path, ".claude/projects/a/agent-1.jsonl", CLAUDE, 5)
    put(tmp_path, "elsewhere/three.jsonl", CLAUDE, 0)
    assert newest_log(tmp_path) == newer
    newer.unlink()
    assert newest_log(tmp_path) == older
    older.unlink()
    assert newest_log(tmp_path) is None


def test_folders_that_the_tools_are_told_to_use_are_looked_at_too(tmp_path: Path) -> None:
    """By the variables that move them; what lies in the usual places still counts."""
    home, other = tmp_path / "home", tmp_path / "other"
    usual = put(home, ".codex/sessions/2026/01/02/rollout.jsonl", CODEX, 20)
    moved = {
        "CLAUDE_CONFIG_DIR": put(other, "c/projects/a/one.jsonl", CLAUDE, 9).parents[2],
        "CODEX_HOME": put(other, "x/sessions/2026/01/02/rollout.jsonl", CODEX, 8).parents[4],
        "PI_CODING_AGENT_DIR": put(other, "p/sessions/a/one.jsonl", CLAUDE, 7).parents[2],
        "GEMINI_CLI_HOME": put(other, "g/.gemini/tmp/a/chats/session-1.json", CODEX, 6).parents[4],
        "XDG_DATA_HOME": write_folder(other / "d/opencode/storage", [kept("ses_1", 10**12)]).parents[1],
    }
    assert newest_log(home) == usual
    for variable, folder in moved.items():
        found = newest_log(home, {variable: str(folder)})
        assert found is not None
        assert found.is_relative_to(folder), variable


def test_latest_says_which_file_it_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On stderr: what is printed stays JSON."""
    monkeypatch.setenv("HOME", str(tmp_path))
    refused = run("inspect", "--latest", "--json")
    assert (refused.exit_code, "no log" in refused.stderr) == (2, True)
    path = put(tmp_path, ".claude/projects/a/one.jsonl", CLAUDE, 30)
    result = run("inspect", "--latest", "--json")
    assert str(path) in result.stderr
    assert json.loads(result.stdout)["log"]["tool"] == "claude-code"


@pytest.mark.parametrize("arguments", [[], ["a.json", "--latest"]])
def test_a_file_or_the_newest_log_and_not_both(arguments: list[str]) -> None:
    """Else it says so."""
    result = run("inspect", *arguments)
    assert (result.exit_code, "one of the two" in result.stderr) == (2, True)


def test_a_view_and_a_sub_agent_can_be_asked_for(tmp_path: Path) -> None:
    """The page tells of all views and shows one."""
    path = str(put(tmp_path, "log", CLAUDE, 0))
    page = json.loads(run("inspect", path, "--json").stdout)
    assert (page["entries"], page["log"]["boundaries"][0]["at"]) == (3, 2)
    assert {name: view["entries"] for name, view in page["log"]["views"].items()} == {
        "history": 3,
        "before": 2,
        "after": 2,
    }
    assert json.loads(run("inspect", path, "--json", "--view", "before").stdout)["entries"] == 2
    assert json.loads(run("inspect", path, "--json", "--sidechain", "1").stdout)["entries"] == 1
    refused = run("inspect", path, "--sidechain", "2")
    assert (refused.exit_code, "1 sidechains" in refused.stderr) == (2, True)


def test_provider_json_has_no_sub_agents(tmp_path: Path) -> None:
    """And a view of it is all of it."""
    path = str(write_session(tmp_path / "a.json", agent_session(2)))
    assert json.loads(run("inspect", path, "--json", "--view", "after").stdout)["entries"] == 6
    assert run("inspect", path, "--sidechain", "1").exit_code == 2


def test_the_page_tells_of_damage_and_compactions(tmp_path: Path) -> None:
    """With lines and entries."""
    path = put(tmp_path, "log", CLAUDE + b"{broken\n" * 7, 0)
    page = run("inspect", str(path)).stdout
    assert "Compacted at entry 2, 900 tokens (manual)" in page
    assert "Line 7 cannot be read: no JSON" in page
    assert "7 lines cannot be read in all" in page


def test_of_many_branches_the_page_tells_the_first_few(tmp_path: Path) -> None:
    """And how many more there are; the page in a file tells the same."""
    branches = [claude.prompt(f"b{number}", "go") for number in range(12)]
    path = put(tmp_path, "log", lines(claude.prompt("go", None), *branches), 0)
    page = run("inspect", str(path), "--html", str(tmp_path / "page.html")).stdout
    assert page.count("Branch left at entry 1: 1 entry, line ") == 8
    assert "and 3 more branches\n" in page
    assert "and 3 more branches</p>" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_compact_takes_what_would_be_sent_next(tmp_path: Path) -> None:
    """Of a log with compactions the context behind the last one."""
    long = agent_session(40)
    told = [claude.prompt("p", None)]
    for number, message in enumerate(long[1:]):
        own = {"id": f"m{number}", "model": "claude-x"} if message["role"] == "assistant" else {}
        told.append({**claude.line(f"l{number}", None, message["role"]), "message": {**message, **own}})
        told[-1]["parentUuid"] = told[-2]["uuid"]
    path = put(tmp_path, "log", lines(*told), 0)
    done = json.loads(run("compact", str(path), "--window", "10000", "--json").stdout)
    assert done["tokens_after"] < done["tokens_before"]
    cut = [claude.boundary("cut", told[-1]["uuid"]), claude.prompt("sum", "cut", isCompactSummary=True)]
    path.write_bytes(lines(*told, *cut))
    assert json.loads(run("compact", str(path), "--window", "10000", "--json").stdout)["skipped"]


def test_opencodes_newest_session_counts_and_not_its_files_age(tmp_path: Path) -> None:
    """Its database and its folder hold many sessions; what cannot be read is passed over."""
    home = tmp_path / ".local/share/opencode"
    older = put(tmp_path, ".claude/projects/a/one.jsonl", CLAUDE, 500_000)
    storage = write_folder(home / "storage", [kept("ses_1", 400_000_000)])
    assert newest_log(tmp_path) == older
    database = write_database(home / "opencode.db", [kept("ses_2", 700_000_000), kept("ses_3", 1)])
    os.utime(database, (1, 1))
    (home / "opencode-next.db").write_bytes(b"SQLite format 3\0")
    assert newest_log(tmp_path) == database
    older.unlink()
    database.unlink()
    assert newest_log(tmp_path) == storage


def kept(name: str, updated_ms: int) -> dict[str, Any]:
    """A session of OpenCode's with one message."""
    info = {"role": "user", "id": f"msg_{name}", "time": {"created": 1}}
    part = {"id": f"prt_{name}", "type": "text", "text": "go"}
    return {
        "info": {"id": name, "title": name, "time": {"updated": updated_ms}},
        "messages": [{"info": info, "parts": [part]}],
    }


def test_a_session_of_several_can_be_asked_for(tmp_path: Path) -> None:
    """By its id; a log that holds one session has none to choose from."""
    path = str(write_database(tmp_path / "opencode.db", [kept("ses_1", 1), kept("ses_2", 2)]))
    names = [
        json.loads(run("inspect", path, "--json", *more).stdout)["name"]
        for more in ([], ["--session", "ses_1"])
    ]
    assert names == ["ses_2", "ses_1"]
    refused = run("inspect", path, "--session", "ses_9")
    assert (refused.exit_code, "ses_2, ses_1" in refused.stderr) == (2, True)
    assert json.loads(run("compact", path, "--session", "ses_1", "--json").stdout)["skipped"]
    log = str(put(tmp_path, "log", CLAUDE, 0))
    assert run("inspect", log, "--session", "ses_1").exit_code == 2
