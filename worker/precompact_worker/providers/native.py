"""A provider's own compaction: asked for on demand, its block kept as the bytes that came."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from precompact_shared.engine.edits import apply_context
from precompact_shared.engine.native import family_of
from precompact_shared.engine.projection import merge_edits, repair_edits
from precompact_shared.engine.tokens import count_message
from precompact_shared.engine.types import Entry, Message
from precompact_shared.engine.usage import Usage
from precompact_shared.provider_spec import ProviderName, ProviderSpec
from precompact_worker.book import Book, Call
from precompact_worker.providers.base import NativeReply, Reply, Request
from precompact_worker.providers.clients import Clients
from precompact_worker.providers.compacting import WAYS, Opened, Talk, Way
from precompact_worker.providers.extractive import render_facts
from precompact_worker.providers.marking import marked
from precompact_worker.providers.speaking import guarded
from precompact_worker.providers.verdicts import Failure, Finding, Verdict, error_of

MODE = "native"


@dataclass(frozen=True, slots=True)
class Native:
    """Compaction by the provider; beside the block stands the summary made by code, for every other model."""

    spec: ProviderSpec
    clients: Clients
    prefix: Mapping[str, Any] = field(default_factory=dict)
    """What the agent's requests begin with, as far as it is known."""

    @property
    def name(self) -> str:
        """As policies name it."""
        return self.spec.name.value

    async def summarise(self, request: Request, book: Book) -> Reply:
        """The block and its readable companion. Raises an error of `verdicts`."""
        reply = await asyncio.to_thread(render_facts, request)
        model = called(self.spec, request.model)
        talk = await asyncio.to_thread(talk_of, request, model, self.prefix)
        size = await asyncio.to_thread(size_of, request, talk)
        missing = self.clients.unknown_ways(self.spec)
        ways = [way for way in WAYS[request.format] if way.name not in missing]
        found = Finding(Verdict.CONFIG, "no_way")
        for way in ways:
            outcome = await self._go(way, talk, size, book)
            if isinstance(outcome, Opened):
                native = NativeReply(family=family_of(model), items=outcome.items)
                return Reply(text=reply.text, tokens=reply.tokens, native=native)
            found = outcome
            if way.name not in missing:
                break
        raise error_of(found)

    async def _go(self, way: Way, talk: Talk, size: int, book: Book) -> Opened | Finding:
        """One call, on record."""
        async with book.pay(
            self.name, talk.model, mode=MODE, expected=Usage(input_tokens=size), place=self.spec.place
        ) as call:
            outcome = await self._ask(way, talk, call)
            finding = outcome.finding if isinstance(outcome, Opened) else outcome
            call.outcome = finding.code
            return outcome if finding.verdict is Verdict.OK else finding

    async def _ask(self, way: Way, talk: Talk, call: Call) -> Opened | Finding:
        is_anthropic = self.spec.name is ProviderName.ANTHROPIC
        client = self.clients.anthropic(self.spec) if is_anthropic else self.clients.openai(self.spec)

        def judge(failure: Failure) -> Finding:
            if way.is_missing(failure):
                self.clients.unknown_ways(self.spec).add(way.name)
            return way.judge(failure)

        async def work() -> Opened:
            opened = way.open(await way.send(client, self.spec, way.body(talk), call))
            call.usage, call.is_open = opened.usage, False
            return opened

        return await guarded(work, judge, timeout_s=self.spec.call_timeout_s)


def size_of(request: Request, talk: Talk) -> int:
    """Tokens of the messages that are sent."""
    return sum(count_message(request.format, one, talk.model) for one in talk.messages)


def called(spec: ProviderSpec, model: str | None) -> str:
    """The session's model as the provider's platform calls it: the policy's name for it, where that is the same one."""
    is_same = spec.writer and family_of(spec.writer) == family_of(model)
    return spec.writer if is_same else model or spec.writer


def talk_of(request: Request, model: str, prefix: Mapping[str, Any]) -> Talk:
    """What stands before the cut, with what the agent's requests have around it."""
    params = prefix.get("params")
    front = {name: prefix[name] for name in ("system", "tools") if prefix.get(name)}
    return Talk(
        model=model,
        messages=marked(request.format, sendable(request), (), front),
        max_tokens=request.max_tokens,
        front={**(params if isinstance(params, Mapping) else {}), **front},
    )


def sendable(request: Request, *, keeps_pinned: bool = False) -> list[Message]:
    """What stands before the cut, as the context has it; pinned entries, which are never covered, only if wanted."""
    entries = [entry for entry in request.covered if keeps_pinned or not entry.pinned]
    placed = [Entry(place, entry.message, entry.tokens) for place, entry in enumerate(entries)]
    places = {entry.seq: place for place, entry in enumerate(entries)}
    shown = [replace(edit, seq=places[edit.seq]) for edit in request.edits if edit.seq in places]
    edits = merge_edits(placed, shown, repair_edits(request.format, placed))
    kept = apply_context([entry.message for entry in placed], (), 0, edits)
    return [*request.opening, *kept]
