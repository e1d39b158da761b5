"""Answers with the extractive text after a given delay, or fails as it is told: for tests and the demo."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

from precompact_shared.engine.usage import Usage
from precompact_shared.errors import PrecompactError
from precompact_shared.provider_spec import Fault, ProviderSpec
from precompact_worker.book import Book
from precompact_worker.providers.base import Reply, Request, Stop
from precompact_worker.providers.extractive import render_facts
from precompact_worker.providers.verdicts import ProviderFailed, ProviderRefused


class Scripted:
    """A provider that behaves as its spec says."""

    name = "scripted"

    def __init__(self, spec: ProviderSpec) -> None:
        self._spec = spec

    async def summarise(self, request: Request, book: Book) -> Reply:
        """Waits, then answers or fails."""
        with book.open(self.name) as call:
            try:
                reply = await self._answer(request)
            except PrecompactError as failure:
                call.outcome = failure.code
                raise
            call.usage = Usage(input_tokens=request.covered_tokens, output_tokens=reply.tokens)
            call.outcome = "ok"
        return reply

    async def _answer(self, request: Request) -> Reply:
        await asyncio.sleep(self._spec.delay_s)
        fault = self._fault(request.attempt)
        if fault is Fault.HANG:
            await asyncio.Event().wait()
        if fault is Fault.ERROR:
            raise ProviderFailed(retry_after_s=0.05)
        if fault is Fault.REFUSED:
            raise ProviderRefused
        reply = await asyncio.to_thread(render_facts, request)
        return SPOILED[fault](reply, request) if fault else reply

    def _fault(self, attempt: int) -> Fault | None:
        times = self._spec.fault_times
        return self._spec.fault if times == 0 or attempt <= times else None


def _much_too_long(reply: Reply, request: Request) -> Reply:
    """Larger than what it is to replace."""
    size = max(request.covered_tokens, reply.tokens) + 1
    return replace(reply, text=reply.text + " word" * size, tokens=reply.tokens + size)


SPOILED: dict[Fault, Callable[[Reply, Request], Reply]] = {
    Fault.EMPTY: lambda reply, _: replace(reply, text="  \n", tokens=0),
    Fault.CUT_OFF: lambda reply, _: replace(
        reply, text=reply.text[: len(reply.text) // 2], stop=Stop.CUT_OFF
    ),
    Fault.TOOL_CALL: lambda reply, _: replace(reply, text="", tokens=0, stop=Stop.TOOL_CALL),
    Fault.NOT_SMALLER: _much_too_long,
}
