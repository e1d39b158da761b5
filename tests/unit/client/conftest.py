"""Sessions of both shells on the in-memory contract; every scenario runs with each."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterator
from typing import Any, cast

import pytest

from precompact import AsyncClient, Client, Retry, Session
from tests.unit.client.fake_service import FakeService

AT_ONCE = Retry(attempts=3, first_pause_s=0.0, longest_pause_s=0.0)
Open = Callable[..., Session]


class Awaited:
    """An async session called as if it blocked."""

    def __init__(self, session: Any, runner: asyncio.Runner) -> None:
        self._session = session
        self._runner = runner

    def __getattr__(self, name: str) -> Any:
        member = getattr(self._session, name)
        if not inspect.iscoroutinefunction(member):
            return member

        def call(*args: Any, **kwargs: Any) -> Any:
            result = self._runner.run(member(*args, **kwargs))
            return Awaited(result, self._runner) if name == "fork" else result

        return call


@pytest.fixture
def service() -> FakeService:
    """The contract in memory."""
    return FakeService()


@pytest.fixture(params=["blocking", "asyncio"])
def open_session(request: pytest.FixtureRequest, service: FakeService) -> Iterator[Open]:
    """Opens sessions; keyword arguments `key` and `unreachable` go to the client."""
    runner = asyncio.Runner()
    closing: list[Callable[[], Any]] = []

    def opened(
        session_id: str = "s1", *, key: str = "key", unreachable: Any = "continue", **about: Any
    ) -> Session:
        kind: Any = Client if request.param == "blocking" else AsyncClient
        options = {"retry": AT_ONCE, "unreachable": unreachable, "transport": service.transport()}
        client = kind("http://precompact.test", key, **options)
        session = client.session(session_id, **({"format": "anthropic", "window": 100} | about))
        if request.param == "blocking":
            closing.append(client.close)
            return cast("Session", session)
        closing.append(lambda: runner.run(client.close()))
        return cast("Session", Awaited(session, runner))

    yield opened
    for close in closing:
        close()
    runner.close()


@pytest.fixture
def session(open_session: Open) -> Session:
    """One session of format anthropic."""
    return open_session()
