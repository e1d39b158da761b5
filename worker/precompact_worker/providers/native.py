"""A provider's own compaction: asked for on demand, its block kept as the bytes that came."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from precompact_shared.engine.edits import apply_context
from precompact_shared.engine.in_band import ON_DEMAND_BETA
from precompact_shared.engine.native import NativeFault, family_of, native_fault
from precompact_shared.engine.projection import merge_edits, repair_edits
from precompact_shared.engine.tokens import count_message
from precompact_shared.engine.types import Entry, Format, Message
from precompact_shared.engine.usage import Usage, anthropic_usage, responses_usage
from precompact_shared.errors import PrecompactError
from precompact_shared.provider_spec import ProviderName, ProviderSpec
from precompact_worker.book import Book, Call
from precompact_worker.providers import anthropic_verdicts, openai_verdicts
from precompact_worker.providers.base import NativeReply, Reply, Request
from precompact_worker.providers.clients import Clients
from precompact_worker.providers.extractive import render_facts
from precompact_worker.providers.speaking import guarded
from precompact_worker.providers.verdicts import OK, Finding, Verdict, error_of

LEAST_OUTPUT_TOKENS = 4_096
MODE = "native"
_ARRAYS = {Format.ANTHROPIC: "content", Format.OPENAI_RESPONSES: "output"}


class _Raw(msgspec.Struct, frozen=True):
    """A reply as far as it is read here; the parts keep their bytes."""

    content: list[msgspec.Raw] = []
    output: list[msgspec.Raw] = []
    stop_reason: str | None = None
    usage: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Native:
    """Compaction by the provider; beside the block stands the summary made by code, for every other model."""

    spec: ProviderSpec
    clients: Clients

    @property
    def name(self) -> str:
        """As policies name it."""
        return self.spec.name.value

    async def summarise(self, request: Request, book: Book) -> Reply:
        """The block and its readable companion. Raises an error of `verdicts`."""
        reply = await asyncio.to_thread(render_facts, request)
        model = request.model or self.spec.writer
        messages = await asyncio.to_thread(sendable, request)
        with book.open(self.name, model, mode=MODE) as call:
            size = sum(count_message(request.format, one, model) for one in messages)
            call.expected = Usage(input_tokens=size)
            if book.note is not None:
                await book.note()
            try:
                items = await self._compact(model, messages, request, call)
            except PrecompactError as failure:
                call.outcome = failure.facts.get("reason") or failure.code  # type: ignore[assignment]
                raise
            call.outcome = "ok"
        native = NativeReply(family=family_of(model), items=items)
        return Reply(text=reply.text, tokens=reply.tokens, native=native)

    async def _compact(
        self, model: str, messages: list[Message], request: Request, call: Call
    ) -> tuple[bytes, ...]:
        is_anthropic = self.spec.name is ProviderName.ANTHROPIC
        judge = anthropic_verdicts.judge_failure if is_anthropic else openai_verdicts.judge_failure
        send: Callable[[], Any] = (
            (lambda: self._anthropic(model, messages, request))
            if is_anthropic
            else (lambda: self._openai(model, messages))
        )
        got = await guarded(send, judge, timeout_s=self.spec.call_timeout_s)
        if isinstance(got, Finding):
            raise error_of(got)
        raw, call.request_id = got
        reply = read_raw(raw)
        call.usage = anthropic_usage(reply.usage) if is_anthropic else responses_usage(reply.usage)
        finding, items = opened(request.format, reply)
        if finding.verdict is not Verdict.OK:
            raise error_of(finding)
        return items

    async def _anthropic(
        self, model: str, messages: list[Message], request: Request
    ) -> tuple[bytes, str | None]:
        client = self.clients.anthropic(self.spec).with_options(timeout=self.spec.call_timeout_s)
        answer = await client.beta.messages.with_raw_response.create(
            model=model,
            max_tokens=max(LEAST_OUTPUT_TOKENS, request.max_tokens),
            messages=messages,
            betas=[ON_DEMAND_BETA],
            compaction={"type": "summarize"},
        )
        return answer.http_response.content, answer.headers.get("request-id")

    async def _openai(self, model: str, items: list[Message]) -> tuple[bytes, str | None]:
        client = self.clients.openai(self.spec).with_options(timeout=self.spec.call_timeout_s)
        answer = await client.responses.with_raw_response.compact(model=model, input=items)
        return answer.http_response.content, answer.headers.get("x-request-id")


def sendable(request: Request, *, keeps_pinned: bool = False) -> list[Message]:
    """What stands before the cut, as the context has it; pinned entries, which are never covered, only if wanted."""
    entries = [entry for entry in request.covered if keeps_pinned or not entry.pinned]
    placed = [Entry(place, entry.message, entry.tokens) for place, entry in enumerate(entries)]
    places = {entry.seq: place for place, entry in enumerate(entries)}
    shown = [replace(edit, seq=places[edit.seq]) for edit in request.edits if edit.seq in places]
    edits = merge_edits(placed, shown, repair_edits(request.format, placed))
    kept = apply_context([entry.message for entry in placed], (), 0, edits)
    return [*request.opening, *kept]


def read_raw(raw: bytes) -> _Raw:
    """The reply's parts with their own bytes. What is no such reply becomes an error of `verdicts`."""
    try:
        return msgspec.json.decode(raw, type=_Raw)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        raise error_of(Finding(Verdict.RETRYABLE, "garbled", 1.0)) from None


def opened(format: Format, reply: _Raw) -> tuple[Finding, tuple[bytes, ...]]:  # noqa: A002
    """The messages or items that open the next context, or why there are none."""
    if format is Format.ANTHROPIC:
        if reply.stop_reason != "compaction":
            return anthropic_verdicts.judge_reply(reply.stop_reason, "", wants="compaction"), ()
        content = b",".join(bytes(part) for part in reply.content)
        items: tuple[bytes, ...] = (b'{"role":"assistant","content":[' + content + b"]}",)
    else:
        items = tuple(bytes(item) for item in reply.output)
    fault = native_fault(format, [json.loads(item) for item in items])
    if fault is None:
        return OK, items
    verdict = Verdict.EMPTY if fault in {NativeFault.NO_BLOCK, NativeFault.EMPTY} else Verdict.PERMANENT
    return Finding(verdict, fault.value), ()
