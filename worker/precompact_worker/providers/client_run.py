"""Client-run: the ready-made request waits for the caller, who runs it with its own key and posts the reply."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from precompact_shared.engine.types import Format
from precompact_shared.engine.usage import Usage, anthropic_usage, chat_usage, responses_usage
from precompact_worker.book import Call
from precompact_worker.prompting import Ask
from precompact_worker.providers.anthropic_verdicts import judge_reply
from precompact_worker.providers.openai import texts_of
from precompact_worker.providers.openai_verdicts import judge_choice, judge_response
from precompact_worker.providers.speaking import Said
from precompact_worker.providers.verdicts import Finding, Verdict, retryable

LOOK_EVERY_S = 0.25


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

    async def say(self, ask: Ask, call: Call) -> Said:
        """Waits for the caller's reply. One that is no reply of the protocol is `garbled`."""
        request = dump_request(self.format, self.model, ask)
        request_id = hashlib.sha256(request).hexdigest()[:20]
        try:
            async with asyncio.timeout(self.timeout_s):
                await self.counter.offer(request_id, request)
                raw = await self._wait()
        except TimeoutError:
            call.outcome = "timeout"
            return Said("", retryable("timeout"))
        said, call.usage, call.request_id = read_reply(self.format, raw)
        call.outcome = said.finding.code
        return said

    async def _wait(self) -> bytes:
        """Looks again and again: the reply comes through the store, and this wait is minutes at most."""
        raw = await self.counter.delivered()
        while raw is None:
            await asyncio.sleep(LOOK_EVERY_S)
            raw = await self.counter.delivered()
        return raw


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
    return json.dumps(body, sort_keys=True, separators=(",", ":")).encode()


def read_reply(format: Format, raw: bytes) -> tuple[Said, Usage, str | None]:  # noqa: A002
    """Text and verdict, usage and id of a reply as the provider gave it. Never raises for what a caller sent."""
    try:
        told = json.loads(raw)
        said, usage = _READERS[format](told)
        reply_id = told.get("id")
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
        return Said("", Finding(Verdict.EMPTY, "garbled")), Usage(), None
    usable = isinstance(reply_id, str) and len(reply_id) <= 100 and reply_id.isascii()
    return said, usage, reply_id if usable else None


def _anthropic(told: Mapping[str, Any]) -> tuple[Said, Usage]:
    text = "".join(part["text"] for part in told["content"] if part.get("type") == "text")
    return Said(text, judge_reply(told.get("stop_reason"), text)), anthropic_usage(told.get("usage"))


def _responses(told: Mapping[str, Any]) -> tuple[Said, Usage]:
    text = texts_of(told, "output_text", "text")
    finding = judge_response(
        told.get("status"),
        code=str((told.get("error") or {}).get("code") or ""),
        reason=str((told.get("incomplete_details") or {}).get("reason") or ""),
        text=text,
        refused=bool(texts_of(told, "refusal", "refusal")),
    )
    return Said(text, finding), responses_usage(told.get("usage"))


def _chat(told: Mapping[str, Any]) -> tuple[Said, Usage]:
    choice = told["choices"][0]
    message = choice["message"]
    text = message.get("content") or ""
    finding = judge_choice(choice.get("finish_reason"), text, refused=bool(message.get("refusal")))
    return Said(text, finding), chat_usage(told.get("usage"))


_READERS: dict[Format, Callable[[Mapping[str, Any]], tuple[Said, Usage]]] = {
    Format.ANTHROPIC: _anthropic,
    Format.OPENAI_RESPONSES: _responses,
    Format.OPENAI_CHAT: _chat,
}
