"""Nodes for pytest-celery that are processes of this machine: no container engine is asked for.

`ProcessContainer` stands where pytest-celery expects a container: the same surface, on a child process. Everything
above it (nodes, clusters, `CeleryTestSetup`) is pytest-celery as it comes.
"""

from __future__ import annotations

import signal
import socket
import sys
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import psutil
import redis
from celery import Celery
from pytest_celery import CeleryTestWorker  # type: ignore[import-untyped]
from pytest_celery.api.container import CeleryTestContainer  # type: ignore[import-untyped]
from pytest_celery.vendors.redis.container import RedisContainer  # type: ignore[import-untyped]
from pytest_celery.vendors.worker.container import CeleryWorkerContainer  # type: ignore[import-untyped]

from precompact_shared.clock import monotonic_s
from precompact_shared.processes import Child, Program
from precompact_shared.redis_server import EmbeddedRedis
from tests.support.waiting import eventually

READY_DEADLINE_S = 60.0


class _Facade:
    """What is asked of a container object itself."""

    def __init__(self, owner: ProcessContainer) -> None:
        self._owner = owner
        self.id = uuid.uuid4().hex
        self.name = f"{type(owner).__name__.lower()}-{self.id[:6]}"

    @property
    def status(self) -> str:
        return "running" if self._owner.is_alive else "exited"

    @property
    def attrs(self) -> dict[str, Any]:
        return {
            "Config": {"Hostname": "127.0.0.1", "Env": []},
            "State": {"Status": self.status},
            "NetworkSettings": {"Networks": {"local": {"IPAddress": "127.0.0.1"}}, "Ports": {}},
            "HostConfig": {"PortBindings": {}},
        }

    def reload(self) -> None:
        """A process has no state to fetch."""


class ProcessContainer(CeleryTestContainer):  # type: ignore[misc]  # the plugin is untyped
    """A child process behind the surface of a test container."""

    def __init__(self) -> None:
        super().__init__(_Facade(self))

    @property
    def is_alive(self) -> bool:
        """Whether the process runs."""
        raise NotImplementedError

    def logs(self) -> str:
        """All it has written, over all its starts."""
        raise NotImplementedError

    def ready(self) -> bool:
        """Whether it does its work."""
        raise NotImplementedError

    def exec_run(self, _command: object, **_: object) -> tuple[int, bytes]:
        """Nothing is run beside it."""
        return 0, b""

    def teardown(self) -> None:
        """Its fixture ends it."""

    def remove(self, *_: object, **__: object) -> None:
        """Its fixture ends it."""


class RedisProcess(ProcessContainer, RedisContainer):  # type: ignore[misc]
    """An embedded Redis as pytest-celery's broker."""

    def __init__(self, server: EmbeddedRedis, database: int) -> None:
        self._server = server
        self._database = database
        super().__init__()

    @property
    def hostname(self) -> str:
        """Address and port."""
        return f"127.0.0.1:{self._server.port}"

    @property
    def port(self) -> int:
        """Port of the server."""
        return self._server.port

    @property
    def url(self) -> str:
        """URL of the broker's database."""
        return self._server.url_of(self._database)

    host_url = url

    @property
    def is_alive(self) -> bool:
        """Whether the server runs."""
        return self._server.is_running

    def logs(self) -> str:
        """The server's log."""
        return self._server.log.read_text(encoding="utf-8", errors="replace")

    def ready(self) -> bool:
        """It answers PING."""
        with redis.Redis.from_url(self.url) as client:
            return bool(client.ping())


class WorkerProcess(ProcessContainer, CeleryWorkerContainer):  # type: ignore[misc]
    """`python -m precompact_worker`, as it runs in production."""

    def __init__(self, env: Mapping[str, str], log: Path, arguments: Sequence[str] = ()) -> None:
        self._log = log
        argv = (sys.executable, "-m", "precompact_worker", *arguments)
        self.child = Child(Program(name="worker", argv=argv, env=env, grace_s=10), log)
        super().__init__()
        self.wait_ready()

    @property
    def is_alive(self) -> bool:
        """Whether the worker runs."""
        return self.child.exit_code is None

    def logs(self) -> str:
        """The worker's log, over all its starts."""
        return self._log.read_text(encoding="utf-8", errors="replace") if self._log.exists() else ""

    def ready(self) -> bool:
        """Its consumer is up, in this start of it."""
        return self.is_alive and self.logs().count("worker ready") >= self.child.starts

    def wait_ready(self) -> None:
        """Returns when it is ready."""
        eventually(self.ready, READY_DEADLINE_S, "a ready worker")

    def kill(self, signal: str | int | None = "SIGKILL") -> None:
        """SIGKILL to the worker and all it started."""
        self.child.kill()

    def terminate(self) -> float:
        """SIGTERM; returns how many seconds it took to end."""
        begun = psutil.Process(self.child.pid)
        begun.send_signal(signal.SIGTERM)
        return _seconds_until_gone(begun)

    def restart(self, timeout: int = 10) -> None:
        """Another start of it, ready."""
        self.child.restart()
        self.wait_ready()

    def teardown(self) -> None:
        """Ends it."""
        self.child.stop()


class WorkerNode(CeleryTestWorker):  # type: ignore[misc]
    """The worker as pytest-celery's cluster holds it."""

    def __init__(self, container: WorkerProcess, app: Celery) -> None:
        super().__init__(container, app=app)

    def hostname(self) -> str:
        """Name of the node: `worker-<pid>@<host>`."""
        return f"worker-{self.container.child.pid}@{socket.gethostname()}"

    def get_running_processes_info(
        self, columns: list[str] | None = None, filters: dict[str, str] | None = None
    ) -> list[dict[str, Any]]:
        """This worker's own processes."""
        own = psutil.Process(self.container.child.pid)
        found = [process.as_dict(columns) for process in (own, *own.children(recursive=True))]
        return [one for one in found if all(one.get(key) == value for key, value in (filters or {}).items())]


def _seconds_until_gone(process: psutil.Process) -> float:
    begun_s = monotonic_s()
    process.wait(30)
    return monotonic_s() - begun_s
