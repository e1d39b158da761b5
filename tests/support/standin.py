"""The stand-in for providers, served from a thread of this process on a free port."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
import uvicorn

from precompact_standin import Scenario, create_app
from precompact_standin.app import StandIn
from tests.support.waiting import eventually

LONG_WAIT_S = 20.0


@dataclass(frozen=True, slots=True)
class Served:
    """A stand-in that answers at `url`; OpenAI's clients want `openai_url`."""

    url: str
    app: StandIn

    @property
    def openai_url(self) -> str:
        """The base URL with its `/v1`."""
        return f"{self.url}/v1"

    @property
    def requests(self) -> list[dict[str, Any]]:
        """What came in since the scenario began."""
        return self.app.state.log.entries

    def play(self, scenario: Scenario) -> None:
        """Begin another scenario."""
        self.app.state.play(scenario)

    def advance(self, duration_s: float) -> None:
        """Move the clock."""
        self.app.state.clock.advance(duration_s)


@contextmanager
def serve_standin(scenario: Scenario | None = None) -> Iterator[Served]:
    """Serve until the block is left."""
    app = create_app(scenario)
    config = uvicorn.Config(app, port=0, log_level="critical", timeout_graceful_shutdown=0)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        eventually(lambda: server.started, LONG_WAIT_S, "the stand-in")
        port = server.servers[0].sockets[0].getsockname()[1]
        yield Served(f"http://127.0.0.1:{port}", app)
    finally:
        server.should_exit = True
        server.force_exit = True
        thread.join(LONG_WAIT_S)


@pytest.fixture(scope="session")
def standin_server() -> Iterator[Served]:
    """One server for the whole run; a test takes `standin`."""
    with serve_standin() as served:
        yield served


@pytest.fixture
def standin(standin_server: Served, monkeypatch: pytest.MonkeyPatch) -> Served:
    """The server with a fresh default scenario, reached past any proxy."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    standin_server.play(Scenario())
    return standin_server


@pytest.fixture
def play(standin: Served) -> Callable[..., Served]:
    """Begin a scenario given by its fields."""

    def begin(**fields: Any) -> Served:
        standin.play(Scenario(**fields))
        return standin

    return begin
