"""The service on this machine: an embedded Redis unless URLs are given, and the three processes, all watched by us."""

from __future__ import annotations

import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from precompact_shared.processes import Program, Supervisor, TextSink, free_port
from precompact_shared.redis_server import EmbeddedRedis
from precompact_shared.settings import Settings, as_environment

Log = TextSink | None
READY_DEADLINE_S = 60.0
PING_S = 0.5
LOG_TAIL_LINES = 15


@dataclass(frozen=True, slots=True)
class Services:
    """Everything that runs, with the settings the processes were given (Redis URLs filled in)."""

    api_url: str
    settings: Settings
    supervisor: Supervisor
    embedded: EmbeddedRedis | None
    log_dir: Path

    def log_tail(self) -> str:
        """The last lines of every process's log; logs hold ids and numbers, never conversation text."""
        tails = (
            "\n".join(f"{log.stem} | {line}" for line in _last_lines(log))
            for log in sorted(self.log_dir.glob("*.log"))
        )
        return "\n".join(tail for tail in tails if tail)


@contextmanager
def redis_of(
    settings: Settings, data_dir: Path, *, appendonly: bool, port: int = 0
) -> Iterator[tuple[Settings, EmbeddedRedis | None]]:
    """Settings that name a running Redis: the given one, or one of our own with database 0 for state, 1 for Celery."""
    if settings.state_redis_url is not None:
        yield settings, None
        return
    with EmbeddedRedis(data_dir / "redis", appendonly=appendonly, port=port) as server:
        yield (
            settings.model_copy(update={"state_redis_url": server.url, "broker_url": server.url_of(1)}),
            server,
        )


@contextmanager
def processes(
    settings: Settings,
    embedded: EmbeddedRedis | None,
    log_dir: Path,
    *,
    log: Log = None,
    restarts: bool = False,
    beside: Sequence[Program] = (),
    env: Mapping[str, str] | None = None,
) -> Iterator[Services]:
    """API, scheduler and worker as children, ready to work; they end with the block, whatever ends it.

    `log` gets their lines with a prefix; without it each writes a file in `log_dir`. `beside` are started first,
    `env` is added to what the three are told.
    """
    port = settings.api_port or free_port()
    settings = settings.model_copy(update={"api_port": port})
    host = "127.0.0.1" if settings.api_host in {"0.0.0.0", "::"} else settings.api_host
    url = f"http://{host}:{port}"
    log_dir.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        supervisor = stack.enter_context(Supervisor())
        services = Services(url, settings, supervisor, embedded, log_dir)
        own = _programs(settings, url, {**as_environment(settings), **(env or {})}, restarts=restarts)
        for program in (*beside, *own):
            supervisor.start(program, log=log or log_dir / f"{program.name}.log")
        yield services


def flower(settings: Settings, port: int, data_dir: Path) -> Program:
    """Flower as a read-only view on the loopback address."""
    argv = (
        *(sys.executable, "-m", "celery", f"--broker={settings.required_broker_url}", "flower"),
        "--address=127.0.0.1",
        f"--port={port}",
        "--read-only=True",
        "--persistent=True",
        f"--db={data_dir / 'flower.db'}",
        "--state-save-interval=10000",
        "--max-tasks=20000",
        "--tasks-columns=name,uuid,state,kwargs,received,runtime,worker",
    )
    # Nobody but this machine reaches it, and it can change nothing.
    env = {"FLOWER_UNAUTHENTICATED_API": "1"}
    return Program(
        name="flower",
        argv=argv,
        env=env,
        ready=lambda: answers(f"http://127.0.0.1:{port}/healthcheck"),
        restarts=True,
    )


def answers(url: str) -> bool:
    """Whether an HTTP GET is answered with 200."""
    try:
        with urllib.request.urlopen(url, timeout=2) as answer:  # noqa: S310 - our own address
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def _programs(settings: Settings, url: str, env: Mapping[str, str], *, restarts: bool) -> Iterator[Program]:
    checks = {"api": lambda: answers(f"{url}/readyz"), "worker": lambda: _worker_answers(settings)}
    for name in ("api", "scheduler", "worker"):
        yield Program(
            name=name,
            argv=(sys.executable, "-m", f"precompact_{name}"),
            env=env,
            ready=checks.get(name),
            ready_deadline_s=READY_DEADLINE_S,
            restarts=restarts,
        )


def _worker_answers(settings: Settings) -> bool:
    """Whether a worker takes commands; it consumes its queues by then."""
    from kombu.exceptions import OperationalError

    from precompact_shared.courier import make_app

    with make_app(settings.required_broker_url, client_name="precompact-cli") as app:
        try:
            return bool(app.control.ping(timeout=PING_S, limit=1))
        except OperationalError:
            return False


def _last_lines(log: Path) -> list[str]:
    return log.read_text(encoding="utf-8", errors="replace").splitlines()[-LOG_TAIL_LINES:]
