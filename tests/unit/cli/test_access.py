"""How a command finds the running service."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from precompact_cli.access import LOCAL_URL, Access, find_access, told_where
from precompact_cli.exits import InputRefused
from precompact_shared.errors import Configuration
from precompact_shared.settings import load_settings


class Healthy(BaseHTTPRequestHandler):
    """Answers everything with 200."""

    def do_GET(self) -> None:
        """The answer."""
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture
def server() -> Iterator[str]:
    """The address of something that answers."""
    with HTTPServer(("127.0.0.1", 0), Healthy) as served:
        thread = threading.Thread(target=served.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{served.server_port}"
        served.shutdown()
        thread.join()


@pytest.fixture
def data_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of `up`, and an environment that says nothing."""
    for name in ("PRECOMPACT_URL", "PRECOMPACT_KEY", "PRECOMPACT_DATA_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    folder = tmp_path / "precompact"
    folder.mkdir()
    return folder


def test_what_is_given_comes_first_then_the_environment(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both for the address and the key."""
    monkeypatch.setenv("PRECOMPACT_URL", "http://e")
    monkeypatch.setenv("PRECOMPACT_KEY", "from-environment")
    assert find_access("http://o", "given") == Access("http://o", "given")
    assert find_access(None, None) == Access("http://e", "from-environment")
    assert "given" not in repr(find_access("http://o", "given"))


def test_the_address_of_a_running_up_is_found_and_forgotten(data_dir: Path, server: str) -> None:
    """No key is written down."""
    with told_where(data_dir, server):
        assert find_access(None, "k").url == server
        [file] = data_dir.iterdir()
        assert json.loads(file.read_text(encoding="utf-8")) == {"api": server}
    assert find_access(None, "k").url == LOCAL_URL
    assert not list(data_dir.iterdir())


@pytest.mark.parametrize("left", ['{"api": "http://127.0.0.1:9"}', "[]", "{}", "no json"])
def test_what_a_killed_up_left_misleads_nobody(data_dir: Path, left: str) -> None:
    """Where nothing answers the usual address holds."""
    (data_dir / "up.json").write_text(left, encoding="utf-8")
    assert find_access(None, "k").url == LOCAL_URL


def test_without_a_key_and_a_terminal_it_is_said_where_keys_come_from(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody is there to be asked."""
    monkeypatch.setattr("sys.stdin.isatty", lambda: False, raising=False)
    with pytest.raises(InputRefused, match="precompact up"):
        find_access("http://o", None)


def test_the_commands_own_variables_are_no_mistyped_settings(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever exports them can start services too; a neighbour of theirs is still a typo."""
    monkeypatch.setenv("PRECOMPACT_URL", "http://e")
    monkeypatch.setenv("PRECOMPACT_KEY", "k")
    assert load_settings().data_dir == data_dir
    monkeypatch.setenv("PRECOMPACT_KEYS", "k")
    with pytest.raises(Configuration, match="PRECOMPACT_KEYS"):
        load_settings()
