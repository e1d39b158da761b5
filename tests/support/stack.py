"""The whole service as processes: two Redis servers of its own, APIs, schedulers and workers, each to be killed by name.

State lies in an embedded Redis with an append-only file, the broker in a second one. Times are short (`QUICK`), so that
what a killed process left behind is found again within seconds. `stack` is the run's own; a test that needs other
settings opens a `Stack` itself. Calls that start something may be made from any thread.
"""

from __future__ import annotations

import itertools
import os
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Self, TypeVar

import pytest
import redis

from precompact_shared.policy import Policy
from precompact_shared.processes import Child, Program, Supervisor, free_port
from precompact_shared.redis_server import EmbeddedRedis
from precompact_shared.settings import Settings, as_environment
from precompact_shared.store import Layout, SessionOps, SyncStore, fix_layout, sync_client, tenants
from precompact_shared.store.keys import SessionKeys
from tests.support.waiting import eventually

Kind = Literal["api", "scheduler", "worker"]
T = TypeVar("T")

KINDS: tuple[Kind, ...] = ("api", "scheduler", "worker")
QUICK: Mapping[str, Any] = {"lease_s": 3.0, "sweep_s": 0.5, "lag_s": 0.5, "resend_s": 2.0}
"""Seconds; a killed worker's job is found again within lease + sweep, a lost message within resend + sweep."""
SCOPES = frozenset({tenants.Scope.AGENT, tenants.Scope.OPS})
READY_DEADLINE_S = 60.0
_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Shape:
    """How many processes of each kind, and settings that differ from `QUICK`."""

    apis: int = 2
    schedulers: int = 2
    workers: int = 2
    settings: Mapping[str, Any] = field(default_factory=dict)

    def count(self, kind: Kind) -> int:
        """How many of a kind."""
        return {"api": self.apis, "scheduler": self.schedulers, "worker": self.workers}[kind]


class Stack:
    """A running service; a context manager. `folder` gets its files and logs (`api-0.log`, …)."""

    def __init__(self, folder: Path, shape: Shape | None = None) -> None:
        self.folder = folder
        self.shape = shape or Shape()
        self.state = EmbeddedRedis(folder / "state", appendonly=True)
        self.broker = EmbeddedRedis(folder / "broker", appendonly=False)
        self._supervisor = Supervisor()
        self._children: dict[tuple[Kind, int], Child] = {}
        self._ports: list[int] = []
        # A child ends when the thread that started it does: all are started by this one, which lives as long as we.
        self._starter = ThreadPoolExecutor(1, "stack-starter")

    def __enter__(self) -> Self:
        try:
            self._in_starter(self._start_all)
            self.wait_ready()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends every process and server."""
        self._supervisor.stop()
        for server in (self.broker, self.state):
            server.stop()
        self._starter.shutdown()

    # ------------------------------------------------------------------------------------------------ what there is
    @property
    def api_urls(self) -> list[str]:
        """Base URL of each API process; they stay the same over kills and restarts."""
        return [f"http://127.0.0.1:{port}" for port in self._ports]

    @property
    def names(self) -> list[tuple[Kind, int]]:
        """Kind and number of every process."""
        return list(self._children)

    def child(self, kind: Kind, number: int = 0) -> Child:
        """One process: `pid`, `exit_code`, `starts`."""
        return self._children[kind, number]

    def is_running(self, kind: Kind, number: int = 0) -> bool:
        """Whether the process lives."""
        return self.child(kind, number).exit_code is None

    def log(self, kind: Kind, number: int = 0) -> str:
        """What the process has written so far, over all its starts."""
        return self._log_path(kind, number).read_text(encoding="utf-8", errors="replace")

    def session(self, tenant: str, session: str) -> SessionKeys:
        """Keys of a session, for reads."""
        return self.layout.session(tenant, session)

    def ops(self, tenant: str, session: str) -> SessionOps:
        """Operations on a session, for `store.run`."""
        return SessionOps(self.session(tenant, session))

    def new_tenant(self, policy: Policy | None = None) -> tuple[str, str]:
        """A tenant nobody else uses, and a key of it."""
        tenant = f"s{os.getpid()}x{next(_numbers)}"
        issued = tenants.issue_key(tenant, SCOPES)
        saved = tenants.save_policy(tenant, policy or Policy())
        self.store.run_all([tenants.create_tenant(tenant), saved, issued.op])
        return tenant, issued.secret

    # ----------------------------------------------------------------------------------------------- what goes wrong
    def kill(self, kind: Kind, number: int = 0) -> None:
        """SIGKILL to a process and all it started; nobody starts it again but `restart`."""
        self.child(kind, number).kill()

    def restart(self, kind: Kind, number: int = 0, *, wait: bool = True) -> None:
        """Starts a process anew (ends it first if it lives); with `wait` returns when it works."""
        self._in_starter(self.child(kind, number).restart)
        if wait:
            self.wait_ready()

    def kill_redis(self) -> None:
        """SIGKILL to the state's server."""
        self.state.kill()

    def restart_redis(self) -> None:
        """Starts the state's server again on its port, from its append-only file."""
        self._in_starter(self.state.start)

    def flush_broker(self) -> None:
        """Every message and queue of the broker is gone."""
        with redis.Redis.from_url(self.broker.url) as client:
            client.flushall()

    def heal(self) -> None:
        """Starts whatever does not run and waits until all work again."""
        self._in_starter(self.state.start)
        self._in_starter(self.broker.start)
        for kind, number in self.names:
            if not self.is_running(kind, number):
                self.restart(kind, number, wait=False)
        self.wait_ready()

    def wait_ready(self) -> None:
        """Returns when every process that runs does its work: APIs answer, schedulers and workers listen."""
        for number, url in enumerate(self.api_urls):
            if self.is_running("api", number):
                eventually(lambda url=url: _answers(url), READY_DEADLINE_S, f"api {number} is ready")  # type: ignore[misc]
        self._wait_listening("scheduler", self.state.url, "xreadgroup")
        self._wait_listening("worker", self.broker.url, "brpop")

    # ----------------------------------------------------------------------------------------------------- internals
    def _start_all(self) -> None:
        self.state.start()
        self.broker.start()
        self._settings = Settings(
            state_redis_url=self.state.url,
            broker_url=self.broker.url,
            data_dir=self.folder,
            log_format="json",
            worker_concurrency=8,
            **{**QUICK, **self.shape.settings},
        )
        self.client = sync_client(self.state.url)
        self.layout: Layout = fix_layout(self.client, self._settings.shards)
        self.store = SyncStore(self.client)
        self.store.load()
        for kind in KINDS:
            for number in range(self.shape.count(kind)):
                self._start(kind, number)

    def _start(self, kind: Kind, number: int) -> None:
        own: dict[str, str] = {}
        if kind == "api":
            self._ports.append(free_port())
            own["PRECOMPACT_API_PORT"] = str(self._ports[-1])
        program = Program(
            name=f"{kind}-{number}",
            argv=(sys.executable, "-m", f"precompact_{kind}"),
            env={**as_environment(self._settings), **own},
            cwd=self.folder,
            grace_s=5.0,
        )
        self._children[kind, number] = self._supervisor.start(program, log=self._log_path(kind, number))

    def _log_path(self, kind: Kind, number: int) -> Path:
        return self.folder / f"{kind}-{number}.log"

    def _in_starter(self, work: Callable[[], T]) -> T:
        return self._starter.submit(work).result()

    def _wait_listening(self, kind: Kind, url: str, verb: str) -> None:
        """Counts the clients that block on a server: told by the server, whatever the process logs."""
        running = [number for number in range(self.shape.count(kind)) if self.is_running(kind, number)]

        def listening() -> bool:
            for number in running:
                assert self.is_running(kind, number), (
                    f"{kind}-{number} ended; its log:\n{self.log(kind, number)}"
                )
            with redis.Redis.from_url(url) as client:
                return sum(_verb(told) == verb for told in client.client_list()) >= len(running)

        eventually(listening, READY_DEADLINE_S, f"{len(running)} {kind}s listen")


def _verb(told: Mapping[str, Any]) -> str:
    return str(told.get("cmd", "")).lower()


def _answers(base_url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{base_url}/readyz", timeout=2) as answer:  # noqa: S310 - loopback
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """The run's service: two processes of each kind. Whoever kills one starts it again (`heal`)."""
    with Stack(tmp_path_factory.mktemp("stack")) as service:
        yield service
