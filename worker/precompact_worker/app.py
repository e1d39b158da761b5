"""The Celery app of the worker process: `celery -A precompact_worker.app worker`."""

from __future__ import annotations

from typing import Any

from celery import Celery, signals

from precompact_shared.courier import make_app
from precompact_shared.errors import Configuration
from precompact_shared.logging import configure_logging, get_logger
from precompact_shared.settings import Settings, load_settings
from precompact_worker.runtime import Runtime
from precompact_worker.tasks import register


class Process:
    """The life of one worker process, told by Celery's signals."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._runtime: Runtime | None = None

    def runtime(self) -> Runtime:
        """The process's runtime."""
        if self._runtime is None:
            raise Configuration("This task runs in a worker only; send it by name.")
        return self._runtime

    def connect(self) -> None:
        """Listens to Celery for as long as this object lives."""
        signals.setup_logging.connect(self.on_logging)
        signals.worker_init.connect(self.on_init)
        signals.worker_ready.connect(self.on_ready)
        signals.worker_shutting_down.connect(self.on_shutting_down)
        signals.worker_shutdown.connect(self.on_shutdown)

    def on_logging(self, **_: Any) -> None:
        """Our logs, not Celery's: its lines could quote arguments and errors."""
        configure_logging(
            process="worker", level=self._settings.log_level, log_format=self._settings.log_format
        )

    def on_init(self, **_: Any) -> None:
        """Before the first task: the loop, the clients, the tokenizer."""
        self._runtime = Runtime(self._settings)

    def on_ready(self, **_: Any) -> None:
        """The consumer is up."""
        get_logger().info("worker ready")

    def on_shutting_down(self, **_: Any) -> None:
        """SIGTERM: what runs goes back to the ledger, so that the warm shutdown is a short one."""
        if self._runtime is not None:
            self._runtime.drain()

    def on_shutdown(self, **_: Any) -> None:
        """The last task has ended."""
        if self._runtime is not None:
            self._runtime.close()


def build(settings: Settings) -> tuple[Celery, Process]:
    """App and process for these settings. Raises `Configuration` without a broker."""
    if settings.broker_url is None:
        raise Configuration("Set PRECOMPACT_STATE_REDIS_URL and PRECOMPACT_BROKER_URL for a worker.")
    process = Process(settings)
    built = make_app(settings.broker_url, client_name="precompact-worker")
    register(built, process.runtime)
    process.connect()
    return built, process


app, process = build(load_settings())
