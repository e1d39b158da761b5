"""A summary on the agent's live prefix: its own request up to the cut, with one more message; it reads the agent's cache."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from precompact_shared.engine.tokens import count_message, count_text, family_factor
from precompact_shared.engine.types import Format, Message
from precompact_shared.engine.usage import Usage
from precompact_shared.errors import PrecompactError
from precompact_shared.provider_spec import ProviderName, ProviderSpec
from precompact_worker.book import Book
from precompact_worker.prompting import nudge_text, prefix_task
from precompact_worker.providers.anthropic import AnthropicSpeaker
from precompact_worker.providers.base import Reply, Request
from precompact_worker.providers.clients import Clients
from precompact_worker.providers.native import sendable
from precompact_worker.providers.openai import OpenAISpeaker
from precompact_worker.providers.speaking import Said
from precompact_worker.providers.verdicts import Verdict, error_of

MODE = "prefix"
LEAST_OUTPUT_TOKENS = 1_024
OURS = frozenset(
    {
        "model",
        "messages",
        "input",
        "stream",
        "max_tokens",
        "max_output_tokens",
        "max_completion_tokens",
        "stream_options",
        "system",
        "instructions",
        "tools",
    }
)
"""Parameters that we set, whatever the caller's request says."""
CLASHING = frozenset(
    {
        "stop",
        "stop_sequences",
        "response_format",
        "text",
        "context_management",
        "n",
        "previous_response_id",
        "store",
    }
)
"""Parameters that would spoil a summary, or belong to the caller's own call."""


@dataclass(frozen=True, slots=True)
class Prefixed:
    """Asks the agent's own model, with the agent's system prompt, tools and parameters."""

    spec: ProviderSpec
    clients: Clients
    prefix: Mapping[str, Any]
    model: str

    @property
    def name(self) -> str:
        """As policies name it."""
        return self.spec.name.value

    async def summarise(self, request: Request, book: Book) -> Reply:
        """The record. Raises an error of `verdicts`."""
        return await self._say(request, (), book)

    async def amend(self, request: Request, reply: Reply, problem: str, book: Book) -> Reply:
        """The same request with its answer and what is wrong with it."""
        told = nudge_text(problem, request.max_tokens)
        return await self._say(
            request, ({"role": "assistant", "content": reply.text}, {"role": "user", "content": told}), book
        )

    async def _say(self, request: Request, more: tuple[Message, ...], book: Book) -> Reply:
        body, size = await asyncio.to_thread(self._body, request, more)
        with book.open(self.name, self.model, mode=MODE) as call:
            call.expected = Usage(input_tokens=size)
            if book.note is not None:
                await book.note()
            try:
                said: Said = await self._speaker().send(body, call)
            except PrecompactError as failure:
                call.outcome = failure.code
                raise
        if said.finding.verdict is not Verdict.OK:
            raise error_of(said.finding)
        return Reply(text=said.text, tokens=count_text(said.text))

    def _speaker(self) -> AnthropicSpeaker | OpenAISpeaker:
        kind = AnthropicSpeaker if self.spec.name is ProviderName.ANTHROPIC else OpenAISpeaker
        return kind(self.spec, self.clients)

    def _body(self, request: Request, more: tuple[Message, ...]) -> tuple[dict[str, Any], int]:
        """The body and its estimated size; the caller's system prompt, tools and parameters word for word."""
        task = {"role": "user", "content": prefix_task(request.preset, request.focus, request.max_tokens)}
        messages = [*sendable(request, keeps_pinned=True), task, *more]
        size = sum(count_message(request.format, one, self.model) for one in messages)
        size += int(count_text(str(dict(self.prefix))) * family_factor(self.model))
        params = dict(self.prefix.get("params") or {})
        kept = {name: value for name, value in params.items() if name not in OURS | CLASHING}
        body = {**_unforced(kept), "model": self.model, **self._front(request.format)}
        most = max(LEAST_OUTPUT_TOKENS, int(request.max_tokens * family_factor(self.model)))
        thinking = kept.get("thinking")
        if isinstance(thinking, Mapping):
            budget = thinking.get("budget_tokens")
            most += budget if isinstance(budget, int) else 0
        return {**body, **_sized(request.format, messages, most)}, size

    def _front(self, wire: Format) -> dict[str, Any]:
        """System prompt and tools under the protocol's own names."""
        system = "instructions" if wire is Format.OPENAI_RESPONSES else "system"
        front = {system: self.prefix.get("system"), "tools": self.prefix.get("tools")}
        if wire is Format.OPENAI_CHAT:  # its system message stands in the history
            del front[system]
        return {name: value for name, value in front.items() if value}


def _unforced(params: dict[str, Any]) -> dict[str, Any]:
    """A forced tool call is no summary; any other choice stays, since changing it costs the cache."""
    choice = params.get("tool_choice")
    forced = choice in {"any", "required"} if isinstance(choice, str) else isinstance(choice, Mapping)
    if isinstance(choice, Mapping) and choice.get("type") in {"auto", "none"}:
        forced = False
    return {name: value for name, value in params.items() if not (forced and name == "tool_choice")}


def _sized(wire: Format, messages: list[Message], most: int) -> dict[str, Any]:
    match wire:
        case Format.ANTHROPIC:
            return {"messages": messages, "max_tokens": most}
        case Format.OPENAI_RESPONSES:
            return {"input": messages, "max_output_tokens": most, "store": False}
        case Format.OPENAI_CHAT:
            return {
                "messages": messages,
                "max_completion_tokens": most,
                "stream_options": {"include_usage": True},
            }
