"""`python -m precompact_worker`: becomes a Celery worker with the pool and the queues of this service."""

from __future__ import annotations

import argparse
import os
import sys
from typing import NoReturn

from precompact_shared.courier import Lane
from precompact_shared.errors import PrecompactError
from precompact_shared.settings import environment, load_settings


def main() -> NoReturn:
    """Becomes Celery, or exits with 2 for a configuration that does not work."""
    parser = argparse.ArgumentParser(prog="precompact_worker", description="Makes candidates.")
    parser.add_argument("--concurrency", type=int, default=None, help="jobs at a time (default: the setting)")
    wanted: int | None = parser.parse_args().concurrency
    try:
        settings = load_settings()
    except PrecompactError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(2)
    concurrency = wanted or settings.worker_concurrency
    environment_ = {**environment(), "PRECOMPACT_WORKER_CONCURRENCY": str(concurrency)}
    os.execve(sys.executable, [sys.executable, "-m", "celery", *arguments(concurrency)], environment_)  # noqa: S606


def arguments(concurrency: int) -> list[str]:
    """Celery's arguments: threads around one event loop, our queues by urgency, events for Flower."""
    return [
        "--app=precompact_worker.app",
        "worker",
        "--pool=threads",
        f"--concurrency={concurrency}",
        f"--queues={','.join(Lane)}",
        f"--hostname=worker-{os.getpid()}@%h",
        "--without-gossip",
        "--without-mingle",
        "--task-events",
        "--loglevel=WARNING",
    ]


if __name__ == "__main__":
    main()
