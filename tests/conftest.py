"""Fixtures and rules of the whole run."""

from __future__ import annotations

import signal
from collections.abc import Generator
from typing import TYPE_CHECKING

import pytest

from tests.support import recordings as recorded
from tests.support import tally
from tests.support.redis import broker_url, embedded_redis, redis_client, redis_url, tenant
from tests.support.service import api_process, http, service, start_api
from tests.support.stack import stack
from tests.support.standin import (
    async_claude,
    async_gpt,
    claude,
    claude_client,
    gpt,
    gpt_client,
    play,
    standin,
    standin_server,
)

if TYPE_CHECKING:
    from xdist.workermanage import WorkerController

__all__ = [
    "api_process",
    "async_claude",
    "async_gpt",
    "broker_url",
    "claude",
    "claude_client",
    "embedded_redis",
    "gpt",
    "gpt_client",
    "http",
    "play",
    "redis_client",
    "redis_url",
    "service",
    "stack",
    "standin",
    "standin_server",
    "start_api",
    "tenant",
]


def pytest_configure() -> None:
    """SIGTERM, and Ctrl-C from a script's background job, end the run so that fixtures stop what they started."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """With the recordings at hand, a test of them that skips itself has failed."""
    report = yield
    if (
        report.skipped
        and not hasattr(report, "wasxfail")
        and item.get_closest_marker("recordings")
        and recorded.data_dir() is not None
    ):
        report.outcome = "failed"
        report.longrepr = f"skipped although the recordings are there: {report.longreprtext}"
    return report


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A process that runs a share of the tests gives away what it counted."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["tally"] = tally.part()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: WorkerController) -> None:
    """The one that reports adds it to its own; a process that crashed has given nothing, and its tests have failed."""
    told = getattr(node, "workeroutput", {}).get("tally")
    if told:
        tally.put_together(told)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Says how many recordings the run has used, and what else its tests counted."""
    for line in tally.lines():
        terminalreporter.write_line(line)
