"""Client-run: the ready-made request waits for the caller, who runs it with its own key and posts the reply."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from precompact_shared.engine.native import family_of
from precompact_shared.engine.types import Format
from precompact_shared.engine.usage import Usage
from precompact_worker.book import Book, Call
from precompact_worker.prompting import Ask
from precompact_worker.providers.base import NativeReply, Reply, Request
from precompact_worker.providers.compacting import ON_DEMAND, TRIGGERED, Opened, Way
from precompact_worker.providers.extractive import render_facts
from precompact_worker.providers.failures import Garbled
from precompact_worker.providers.native import MODE, talk_of
from precompact_worker.providers.replies import read_whole
from precompact_worker.providers.speaking import Said
from precompact_worker.providers.verdicts import Finding, Verdict, error_of, retryable

LOOK_EVERY_S = 0.25
NATIVE_WAYS = {Format.ANTHROPIC: ON_DEMAND, Format.OPENAI_RESPONSES: TRIGGERED}
"""Those whose request is an ordinary one of the protocol's, so that a caller can send it as it is."""


class Counter(Protocol):
    """Where a request is laid out and its reply comes in."""

    async def offer(self, request_id: str, request: bytes) -> None:
        """Lays it out; the same one again changes nothing. Raises `LeaseLost`."""
        ...

    async def delivered(self) -> bytes | None:
        """The reply, when it has come."""
        ...


@dataclass(frozen=True, slots=True)
class ClientSpeaker:
    """A model that the caller runs; `model` is the session's, or what the policy names."""

    format: Format
    model: str
    counter: Counter
    timeout_s: float
    name: str = "client"
    place: None = None

    async def say(self, ask: Ask, call: Call) -> Said:
        """Waits for the caller's reply. One that is no reply of the protocol is `garbled`."""
        request = dump_request(self.format, self.model, ask)
        call.expected = Usage()  # nobody knows whether the caller has sent it: nothing is made up
        raw = await run_by_caller(self.counter, request, self.timeout_s)
        if raw is None:
            call.outcome = "timeout"
            return Said("", retryable("timeout"))
        try:
            said, call.usage, call.request_id = read_whole(self.format, raw)
        except Garbled:
            said = Said("", Finding(Verdict.EMPTY, "garbled"))
        call.outcome = said.finding.code
        return said


@dataclass(frozen=True, slots=True)
class ClientNative:
    """The provider's own compaction, run by the caller; the reply comes back as the provider gave it."""

    way: Way
    model: str
    counter: Counter
    timeout_s: float
    prefix: Mapping[str, Any] = field(default_factory=dict)
    name: str = "client"

    async def summarise(self, request: Request, book: Book) -> Reply:
        """The block and its readable companion. Raises an error of `verdicts`."""
        readable = await asyncio.to_thread(render_facts, request)
        talk = await asyncio.to_thread(talk_of, request, self.model, self.prefix)
        body = await asyncio.to_thread(dumped, self.way.body(talk))
        async with book.pay(self.name, self.model, mode=MODE, expected=Usage()) as call:
            outcome = self._read(await run_by_caller(self.counter, body, self.timeout_s), call)
            call.outcome = outcome.finding.code
        if outcome.finding.verdict is not Verdict.OK:
            raise error_of(outcome.finding)
        native = NativeReply(family=family_of(self.model), items=outcome.items)
        return replace(readable, native=native)

    def _read(self, raw: bytes | None, call: Call) -> Opened:
        if raw is None:
            return Opened(retryable("timeout"), (), Usage())
        try:
            opened = self.way.open(raw)
        except Garbled:
            return Opened(Finding(Verdict.EMPTY, "garbled"), (), Usage())
        call.usage = opened.usage
        return opened


async def run_by_caller(counter: Counter, request: bytes, timeout_s: float) -> bytes | None:
    """The reply to a request that is laid out for the caller; None when the time is up.

    Looks again and again: the reply comes through the store, and this wait is minutes at most.
    """
    request_id = hashlib.sha256(request).hexdigest()[:20]
    try:
        async with asyncio.timeout(timeout_s):
            await counter.offer(request_id, request)
            raw = await counter.delivered()
            while raw is None:
                await asyncio.sleep(LOOK_EVERY_S)
                raw = await counter.delivered()
            return raw
    except TimeoutError:
        return None


def dump_request(format: Format, model: str, ask: Ask) -> bytes:  # noqa: A002
    """The body of the caller's request in its own protocol, without streaming; the same ask gives the same bytes."""
    turns = [{"role": turn.role, "content": turn.text} for turn in ask.turns]
    body: dict[str, Any] = {"model": model} if model else {}
    match format:
        case Format.ANTHROPIC:
            body |= {"max_tokens": ask.max_tokens, "system": ask.system, "messages": turns}
        case Format.OPENAI_RESPONSES:
            body |= {"instructions": ask.system, "input": turns, "max_output_tokens": ask.max_tokens}
            body |= {"store": False}
        case Format.OPENAI_CHAT:
            body |= {"messages": [{"role": "system", "content": ask.system}, *turns]}
            body |= {"max_completion_tokens": ask.max_tokens}
    return dumped(body)


def dumped(body: Mapping[str, Any]) -> bytes:
    """The bytes of a request: the same for the same one."""
    return json.dumps(body, sort_keys=True, separators=(",", ":")).encode()
