"""Anthropic's Messages through its SDK: streamed, so that silence is noticed; nothing of the SDK's leaves this module."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from precompact_shared.engine.types import Format
from precompact_shared.engine.usage import anthropic_usage
from precompact_shared.provider_spec import Platform, ProviderSpec
from precompact_worker.book import Call
from precompact_worker.prompting import Ask
from precompact_worker.providers.anthropic_verdicts import judge_failure, judge_reply
from precompact_worker.providers.clients import Clients
from precompact_worker.providers.replies import read_whole
from precompact_worker.providers.speaking import Said, guarded, heard, named, plain, shaped
from precompact_worker.providers.verdicts import Finding

NAMED = frozenset({"model", "max_tokens", "messages", "system", "service_tier", "extra_body"})
BEDROCK_VERSION = "bedrock-2023-05-31"
THINKERS_WRITE_TOKENS = 32_000
"""Every model that thinks by a budget writes as much."""


class AnthropicSpeaker:
    """A Claude model that writes text."""

    name = "anthropic"

    def __init__(self, spec: ProviderSpec, clients: Clients) -> None:
        self._spec = spec
        self._clients = clients

    @property
    def model(self) -> str:
        """As the policy names it."""
        return self._spec.writer

    @property
    def place(self) -> str:
        """Whose server, and by which key."""
        return self._spec.place

    async def say(self, ask: Ask, call: Call) -> Said:
        """One message, streamed."""
        return await self.send(self._body(ask), call)

    async def send(self, body: dict[str, Any], call: Call) -> Said:
        """The same for a body as it goes out; what the SDK does not name goes along with it."""
        arguments = named({**body, **platform_fields(self._spec)}, NAMED)
        work = self._stream if self._spec.stream else self._whole
        said = await guarded(
            lambda: work(arguments, call), judge_failure, timeout_s=self._spec.call_timeout_s
        )
        said = Said("", said) if isinstance(said, Finding) else said
        call.outcome = said.finding.code
        return said

    async def _stream(self, arguments: dict[str, Any], call: Call) -> Said:
        client, reading = self._clients.anthropic(self._spec), _Reading(call)
        stream = await client.messages.create(stream=True, **arguments)
        call.request_id = request_id_of(stream.response.headers)
        async with heard(stream, self._spec.idle_timeout_s) as events:
            async for event in events:
                reading.take(plain(event))
        return Said(reading.text, judge_reply(reading.stop_reason, reading.text))

    async def _whole(self, arguments: dict[str, Any], call: Call) -> Said:
        # A time limit of the call's own lifts the SDK's guard against long calls without a stream.
        client = self._clients.anthropic(self._spec)
        answer = await client.messages.with_raw_response.create(
            timeout=self._spec.call_timeout_s, **arguments
        )
        call.request_id = request_id_of(answer.headers)
        said, call.usage, _ = read_whole(Format.ANTHROPIC, answer.http_response.content)
        return said

    def _body(self, ask: Ask) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self._spec.writer,
            "max_tokens": ask.max_tokens,
            "system": ask.system,
            "messages": [{"role": turn.role, "content": turn.text} for turn in ask.turns],
        }
        if self._spec.service_tier:
            body["service_tier"] = self._spec.service_tier
        return body


def platform_fields(spec: ProviderSpec) -> dict[str, Any]:
    """What a platform wants in the body: Bedrock's older models do not know the version that the SDK writes there."""
    return {"anthropic_version": BEDROCK_VERSION} if spec.platform is Platform.BEDROCK else {}


def room_to_think(record_tokens: int, params: Mapping[str, Any]) -> int:
    """`max_tokens` of a record by a model that thinks by a budget: both have room, the budget is less than all of it.

    Not more than the model can write, as far as that is known: the agent's own limit was accepted, and so is what every
    model takes that thinks.
    """
    thinking, own = params.get("thinking"), params.get("max_tokens")
    budget = thinking.get("budget_tokens") if isinstance(thinking, Mapping) else None
    if not isinstance(budget, int):
        return record_tokens
    both = record_tokens + budget
    return min(both, max(own, THINKERS_WRITE_TOKENS)) if isinstance(own, int) and own > budget else both


def request_id_of(headers: Mapping[str, str]) -> str | None:
    """The provider's id of a call, or AWS's."""
    return headers.get("request-id") or headers.get("x-amzn-requestid")


class _Reading:
    """A message as its events tell it. Without `message_stop` there is no stop reason: the stream was cut off."""

    def __init__(self, call: Call) -> None:
        self.call = call
        self.text = ""
        self.stop_reason: str | None = None
        self._told_stop: str | None = None
        self._usage: dict[str, Any] = {}

    @shaped
    def take(self, event: dict[str, Any]) -> None:
        """The next event. Raises `Garbled` for one of another shape."""
        match event.get("type"):
            case "message_start":
                self.call.is_open = True
                self._count(event.get("message", {}).get("usage"))
            case "content_block_start" | "content_block_delta":
                part = event.get("content_block") or event.get("delta") or {}
                if part.get("type") in {"text", "text_delta"}:
                    self.text += part.get("text") or ""
                self.call.heard += part.get("text") or part.get("thinking") or ""
            case "message_delta":
                self._told_stop = event.get("delta", {}).get("stop_reason")
                self._count(event.get("usage"))
                self.call.heard = ""
            case "message_stop":
                self.call.is_open = False
                self.stop_reason = self._told_stop

    def _count(self, told: Any) -> None:
        """Later figures replace earlier ones; what they leave out stays."""
        if isinstance(told, dict):
            self._usage |= {name: value for name, value in told.items() if value is not None}
            self.call.usage = anthropic_usage(self._usage)
