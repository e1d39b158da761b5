"""Sending an answer: at its pace, and with what goes wrong on the way."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from starlette.types import Receive, Scope, Send

from precompact_standin.answers import Answer, Event
from precompact_standin.scenario import Fault, FaultKind, Pace

ABORT = "standin.abort"
"""Key of the scope under which the outermost application keeps how to reset the connection."""
PING_EVERY_S = 0.05
_STREAM_ENDS = frozenset({FaultKind.CUT_STREAM, FaultKind.ERROR_EVENT, FaultKind.FLAT_ERROR_EVENT})


@dataclass(frozen=True, slots=True)
class Delivery:
    """An ASGI response."""

    answer: Answer
    pace: Pace
    fault: Fault | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        kind = self.fault.kind if self.fault else None
        if kind is FaultKind.RESET:
            scope[ABORT]()
            return
        await self._wait_first(receive)
        self.answer.on_begin()
        await send({"type": "http.response.start", "status": self.answer.status, "headers": self._headers()})
        if self.answer.events is None:
            await self._send_body(scope, receive, send)
        else:
            await self._send_events(self.answer.events, scope, receive, send)

    async def _wait_first(self, receive: Receive) -> None:
        wait_s = self.pace.first_byte_s
        if self.answer.events is None:
            wait_s += self.pace.per_token_s * self.answer.tokens
        if wait_s:
            await asyncio.sleep(wait_s)
        if self.fault and self.fault.kind is FaultKind.SLOW_FIRST_BYTE:
            await _stall(receive, self.fault.duration_s)

    def _headers(self) -> list[tuple[bytes, bytes]]:
        answer = self.answer
        own = {"content-type": answer.media_type if answer.events is None else "text/event-stream"}
        if answer.events is None:
            own["content-length"] = str(len(answer.body))
        return [(name.encode(), value.encode()) for name, value in {**own, **answer.headers}.items()]

    async def _send_body(self, scope: Scope, receive: Receive, send: Send) -> None:
        body, fault = self.answer.body, self.fault
        if fault and fault.kind in {FaultKind.RESET_STREAM, FaultKind.STALLED_STREAM}:
            half = len(body) // 2
            await send({"type": "http.response.body", "body": body[:half], "more_body": True})
            if fault.kind is FaultKind.RESET_STREAM:
                scope[ABORT]()
                return
            await _stall(receive, fault.duration_s)
            body = body[half:]
        await send({"type": "http.response.body", "body": body})

    async def _send_events(self, events: Sequence[Event], scope: Scope, receive: Receive, send: Send) -> None:
        last = len(events) - self.answer.closing_events
        at = min(self.fault.after_events, last) if self.fault else -1
        for number, event in enumerate(events):
            if self.fault and number == at and await self._went_wrong(self.fault, scope, receive, send):
                return
            if self.pace.per_token_s and event.tokens:
                await asyncio.sleep(self.pace.per_token_s * event.tokens)
            await send({"type": "http.response.body", "body": event.data, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    async def _went_wrong(self, fault: Fault, scope: Scope, receive: Receive, send: Send) -> bool:
        """Let the fault happen, here in mid-stream; true when nothing more may follow."""
        if fault.kind is FaultKind.RESET_STREAM:
            scope[ABORT]()
            return True
        if fault.kind in _STREAM_ENDS:
            last = self.answer.error_events.get(fault.kind, b"")
            await send({"type": "http.response.body", "body": last})
            return True
        if fault.kind is FaultKind.STALLED_STREAM:
            await _stall(receive, fault.duration_s)
        if fault.kind is FaultKind.PINGED_STREAM:
            await self._ping(fault.duration_s, send)
        return False

    async def _ping(self, duration_s: float, send: Send) -> None:
        """Signs of life, and nothing else; a client that has gone makes no difference."""
        for _ in range(max(1, int(duration_s / PING_EVERY_S))):
            await send({"type": "http.response.body", "body": self.answer.ping, "more_body": True})
            await asyncio.sleep(PING_EVERY_S)


async def _stall(receive: Receive, duration_s: float) -> None:
    """Send nothing for so long, or until the client has gone."""
    try:
        await asyncio.wait_for(receive(), duration_s)
    except TimeoutError:
        return
