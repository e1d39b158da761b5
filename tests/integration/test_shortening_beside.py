"""Huge texts are cut and counted beside the event loop when a summary is adopted: small calls go on meanwhile."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from precompact_api.clearing import Held
from precompact_api.service import Service as Api
from precompact_api.shortening import shorten_tail
from precompact_shared.engine.preset import load_preset
from precompact_shared.engine.tokens import count_message
from precompact_shared.engine.types import Format
from tests.support.candidates import view_of
from tests.support.service import Service
from tests.support.talk import assistant, user

RULE = load_preset("precompact").cut
HUGE = "the log goes on and on; " * 10_000
PATIENCE_S = 5.0


def appended(service: Service, text: str) -> None:
    """A session whose last text but one is this."""
    with service.client() as http:
        made = {"id": "s", "format": "anthropic", "model": "claude-sonnet-4-6", "window": 1_000_000}
        assert http.post("/v1/sessions", json=made).status_code == 201
        body = {"seen": {"version": 0, "length": 0}, "messages": [user(text), assistant("Read.")]}
        assert http.post("/v1/sessions/s/messages", json=body).status_code == 200


def test_the_loop_goes_on_while_a_huge_text_is_counted(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counting waits for another call on the same loop here; on the loop itself it would wait in vain."""
    appended(service, HUGE)
    counting, other_call, waited = threading.Event(), threading.Event(), list[bool]()

    def count_after_the_other(format: Format, message: Any, model: str | None) -> int:  # noqa: A002
        counting.set()
        waited.append(other_call.wait(PATIENCE_S))
        return count_message(format, message, model)

    monkeypatch.setattr("precompact_api.shortening.count_message", count_after_the_other)

    async def shorten(api: Api) -> Held:
        return await shorten_tail(api, view_of(service, "s"), 0, Held(), RULE)

    async def call_meanwhile(api: Api) -> None:
        while not counting.is_set():
            assert await api.is_ready()
        assert await api.is_ready()
        other_call.set()

    async def both() -> Held:
        api = Api(service.settings)
        await api.open()
        try:
            held, _ = await asyncio.gather(shorten(api), call_meanwhile(api))
        finally:
            await api.close()
        return held

    held = asyncio.run(both())
    assert held.saved[0] > 25_000
    assert len(waited) >= 2
    assert all(waited)
