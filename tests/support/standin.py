"""The stand-in for providers, served from a thread of this process on a free port."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.waiting import eventually

if TYPE_CHECKING:  # the SDKs and the server are slow to import, and most tests need neither
    from anthropic import Anthropic, AsyncAnthropic
    from openai import AsyncOpenAI, OpenAI

    from precompact_standin import Scenario
    from precompact_standin.app import StandIn

LONG_WAIT_S = 20.0
STRICT: dict[str, Any] = {"api_key": "sk-test", "max_retries": 0, "_strict_response_validation": True}


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
    import uvicorn

    from precompact_standin import create_app

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
    from precompact_standin import Scenario

    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    standin_server.play(Scenario())
    return standin_server


@pytest.fixture
def play(standin: Served) -> Callable[..., Served]:
    """Begin a scenario given by its fields."""
    from precompact_standin import Scenario

    def begin(**fields: Any) -> Served:
        standin.play(Scenario(**fields))
        return standin

    return begin


@pytest.fixture(scope="session")
def claude_client(standin_server: Served) -> Iterator[Anthropic]:
    """Built once: a client's TLS context takes longer than most tests."""
    from anthropic import Anthropic

    with _past_proxies(), Anthropic(base_url=standin_server.url, **STRICT) as client:
        yield client


@pytest.fixture
def claude(standin: Served, claude_client: Anthropic) -> Anthropic:
    """Anthropic's own client, strict, without retries."""
    return claude_client


@pytest.fixture
async def async_claude(standin: Served) -> AsyncIterator[AsyncAnthropic]:
    """The same, asynchronous."""
    from anthropic import AsyncAnthropic

    async with AsyncAnthropic(base_url=standin.url, **STRICT) as client:
        yield client


@pytest.fixture(scope="session")
def gpt_client(standin_server: Served) -> Iterator[OpenAI]:
    """Built once, as the other."""
    from openai import OpenAI

    with _past_proxies(), OpenAI(base_url=standin_server.openai_url, **STRICT) as client:
        yield client


@pytest.fixture
def gpt(standin: Served, gpt_client: OpenAI) -> OpenAI:
    """OpenAI's own client, strict, without retries."""
    return gpt_client


@pytest.fixture
async def async_gpt(standin: Served) -> AsyncIterator[AsyncOpenAI]:
    """The same, asynchronous."""
    from openai import AsyncOpenAI

    async with AsyncOpenAI(base_url=standin.openai_url, **STRICT) as client:
        yield client


@contextmanager
def _past_proxies() -> Iterator[None]:
    """Proxy variables count even for 127.0.0.1; a client reads them when it is built."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NO_PROXY", "127.0.0.1")
        yield
