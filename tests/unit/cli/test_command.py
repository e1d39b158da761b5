"""The command itself: help, exit codes, what is imported for nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from precompact_cli.doctor import Level, judge_eviction, judge_persistence, judge_version
from precompact_cli.main import app
from precompact_cli.service_records import discarded

HEAVY = ("tiktoken", "httpx", "redis", "celery", "pydantic", "rich", "precompact")


def test_help_imports_nothing_heavy() -> None:
    """Whoever asks for help gets it at once."""
    code = (
        "import sys\nfrom typer.testing import CliRunner\nfrom precompact_cli.main import app\n"
        "assert 'inspect' in CliRunner().invoke(app, ['--help']).stdout\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"


@pytest.mark.parametrize(
    "command", ["up", "demo", "replay", "inspect", "compact", "why", "standin", "doctor"]
)
def test_every_command_has_help_and_json(command: str) -> None:
    """`--json` works on everything."""
    told = CliRunner().invoke(app, [command, "--help"])
    assert told.exit_code == 0
    assert "--json" in told.stdout


@pytest.mark.parametrize("command", ["inspect", "compact"])
def test_a_file_that_is_no_recording_is_exit_code_two(command: str, tmp_path: Path) -> None:
    """One line on stderr, nothing on stdout, no traceback."""
    told = CliRunner().invoke(app, [command, str(tmp_path / "none.json"), "--json"])
    assert (told.exit_code, told.stdout) == (2, "")
    assert told.stderr.startswith("precompact: The file cannot be read")
    assert told.stderr.count("\n") == 1


def test_a_service_that_is_not_there_is_exit_code_one() -> None:
    """And says what to look at."""
    told = CliRunner().invoke(app, ["why", "s", "--url", "http://127.0.0.1:9", "--key", "k"])
    assert told.exit_code == 1
    assert "is `precompact up` running" in told.stderr


def test_discarded_work_is_counted_by_reason() -> None:
    """Candidates that closed, jobs that died; what is open, adopted, done or a replaced floor is no waste."""
    candidates = [
        {"state": "closed", "reason": "version_changed"},
        {"state": "closed", "reason": "version_changed"},
        {"state": "closed", "reason": "superseded", "slot": "floor"},
        {"state": "open"},
        {"state": "adopted"},
    ]
    jobs = [{"state": "dead", "reason": "provider_error"}, {"state": "cancelled"}, {"state": "done"}]
    assert discarded(candidates, jobs) == {"cancelled": 1, "provider_error": 1, "version_changed": 2}


@pytest.mark.parametrize(
    ("info", "levels"),
    [
        ({"valkey_version": "9.1.2", "aof_enabled": 1, "maxmemory_policy": "noeviction"}, "ok ok ok"),
        (
            {"redis_version": "6.0.16", "aof_enabled": 0, "maxmemory_policy": "allkeys-lru"},
            "broken loses loses",
        ),
    ],
)
def test_doctor_knows_what_loses_data(info: dict[str, Any], levels: str) -> None:
    """Version, eviction, persistence."""
    found = (judge_version("s", info), judge_eviction("s", info), judge_persistence("s", info))
    assert [finding.level for finding in found] == [Level[level.upper()] for level in levels.split()]


def test_doctor_looks_at_an_embedded_server_when_none_is_configured(monkeypatch: pytest.MonkeyPatch) -> None:
    """It starts one, asks it and ends it."""
    for name in ("STATE_REDIS_URL", "BROKER_URL"):
        monkeypatch.delenv(f"PRECOMPACT_{name}", raising=False)
    told = CliRunner().invoke(app, ["doctor"])
    assert told.exit_code == 0, told.stdout
    assert "append-only file on" in told.stdout


def test_doctor_names_a_setting_that_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """A typo is found, not ignored."""
    monkeypatch.setenv("PRECOMPACT_LEESE_S", "3")
    told = CliRunner().invoke(app, ["doctor"])
    assert told.exit_code == 1
    assert "LEASE_S" in told.stdout


def test_up_with_a_redis_that_is_not_there_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """And names the setting; nothing is started."""
    monkeypatch.setenv("PRECOMPACT_STATE_REDIS_URL", "redis://127.0.0.1:9/0")
    monkeypatch.setenv("PRECOMPACT_BROKER_URL", "redis://127.0.0.1:9/1")
    told = CliRunner().invoke(app, ["up"])
    assert told.exit_code == 1
    assert "PRECOMPACT_STATE_REDIS_URL" in told.stderr
    assert told.stderr.count("\n") == 1
