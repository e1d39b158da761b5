"""A summary on the agent's live prefix: its own request with one more message; it reads the agent's cache."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from precompact_shared.engine.mode import Choice
from precompact_shared.engine.tokens import count_text
from precompact_shared.engine.types import Message
from precompact_shared.engine.usage import Usage
from precompact_shared.provider_spec import ProviderName, ProviderSpec
from precompact_worker.book import Book
from precompact_worker.prompting import nudge_text
from precompact_worker.providers.anthropic import AnthropicSpeaker
from precompact_worker.providers.base import Reply, Request
from precompact_worker.providers.clients import Clients
from precompact_worker.providers.live import MODE, LivePrefix
from precompact_worker.providers.openai import OpenAISpeaker
from precompact_worker.providers.prefix_body import body_of, conversation
from precompact_worker.providers.speaking import Said
from precompact_worker.providers.verdicts import Verdict, error_of


@dataclass(frozen=True, slots=True)
class Prefixed:
    """Asks the agent's own model, with the agent's system prompt, tools and parameters."""

    spec: ProviderSpec
    clients: Clients
    prefix: LivePrefix
    model: str
    choice: Choice | None = None
    """Why the live prefix."""
    mask: Callable[[str], str] = str
    """For the record: it is shown to other models when the next one is made."""

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
        body = await asyncio.to_thread(self._body, request, more)
        expected = Usage(input_tokens=self.prefix.prompt_tokens)
        async with book.pay(
            self.name, self.model, mode=MODE, expected=expected, choice=self.choice, place=self.spec.place
        ) as call:
            said: Said = await self._speaker().send(body, call)
        if said.finding.verdict is not Verdict.OK:
            raise error_of(said.finding)
        text = await asyncio.to_thread(self.mask, said.text)
        return Reply(text=text, tokens=count_text(text))

    def _speaker(self) -> AnthropicSpeaker | OpenAISpeaker:
        kind = AnthropicSpeaker if self.spec.name is ProviderName.ANTHROPIC else OpenAISpeaker
        return kind(self.spec, self.clients)

    def _body(self, request: Request, more: tuple[Message, ...]) -> dict[str, Any]:
        talk = conversation(request, more, sends_tail=self.prefix.sends_tail)
        return body_of(self.prefix.content, request, self.model, talk)
