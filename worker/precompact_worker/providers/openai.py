"""OpenAI's two protocols through its SDK, streamed; events are read here, since the SDK raises for too few of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from precompact_shared.engine.types import Format
from precompact_shared.engine.usage import chat_usage, responses_usage
from precompact_shared.provider_spec import Api, ProviderSpec
from precompact_worker.book import Call
from precompact_worker.prompting import Ask
from precompact_worker.providers.clients import Clients
from precompact_worker.providers.openai_verdicts import judge_choice, judge_failure
from precompact_worker.providers.replies import judge_final, read_whole, texts_of, words_of
from precompact_worker.providers.speaking import Said, guarded, heard, named, plain, shaped
from precompact_worker.providers.verdicts import Failure, Finding

NAMED = frozenset({"model", "messages", "input", "instructions", "extra_body"})
REASONING_TOKENS = 4_096
"""Room for reasoning, which counts as output."""
LEAST_OUTPUT_TOKENS = 16
_REASONS = re.compile(r"^(?:o\d|gpt-[5-9])")


def reasons(model: str) -> bool:
    """Whether a model thinks before it writes, unless it is told not to."""
    return _REASONS.match(model) is not None


class OpenAISpeaker:
    """A model behind Responses or Chat Completions that writes text."""

    name = "openai"

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
        """One reply, streamed."""
        return await self.send(self._chat(ask) if self._spec.api is Api.CHAT else self._respond(ask), call)

    async def send(self, body: dict[str, Any], call: Call) -> Said:
        """The same for a body as it goes out; what the SDK does not name goes along with it."""
        client = self._clients.openai(self._spec)
        part = client.chat.completions if self._spec.api is Api.CHAT else client.responses
        work = self._stream if self._spec.stream else self._whole
        said = await guarded(
            lambda: work(part, body, call), judge_failure, timeout_s=self._spec.call_timeout_s
        )
        said = Said("", said) if isinstance(said, Finding) else said
        call.outcome = said.finding.code
        return said

    async def _stream(self, part: Any, body: dict[str, Any], call: Call) -> Said:
        reading = _ChatReading(call) if self._spec.api is Api.CHAT else _ResponseReading(call)
        stream = await part.create(stream=True, **named(body, NAMED))
        call.request_id = request_id_of(stream.response.headers)
        async with heard(stream, self._spec.idle_timeout_s) as events:
            async for event in events:
                reading.take(plain(event))
        return Said(reading.text, reading.finding())

    async def _whole(self, part: Any, body: dict[str, Any], call: Call) -> Said:
        body = {name: value for name, value in body.items() if name != "stream_options"}
        answer = await part.with_raw_response.create(**named(body, NAMED))
        call.request_id = request_id_of(answer.headers)
        wire = Format.OPENAI_CHAT if self._spec.api is Api.CHAT else Format.OPENAI_RESPONSES
        said, call.usage, _ = read_whole(wire, answer.http_response.content)
        return said

    def _respond(self, ask: Ask) -> dict[str, Any]:
        return {
            "model": self._spec.writer,
            "instructions": ask.system,
            "input": [{"role": turn.role, "content": turn.text} for turn in ask.turns],
            "max_output_tokens": self._room(ask),
            "store": False,
            "truncation": "disabled",
            **self._tier(),
        }

    def _chat(self, ask: Ask) -> dict[str, Any]:
        turns = [{"role": turn.role, "content": turn.text} for turn in ask.turns]
        return {
            "model": self._spec.writer,
            "messages": [{"role": "system", "content": ask.system}, *turns],
            "max_completion_tokens": self._room(ask),
            "stream_options": {"include_usage": True},
            **self._tier(),
        }

    def _room(self, ask: Ask) -> int:
        spare = REASONING_TOKENS if reasons(self._spec.writer) else 0
        wanted = max(LEAST_OUTPUT_TOKENS, ask.max_tokens + spare)
        return min(wanted, self._spec.max_output or wanted)  # more than its limit a server refuses

    def _tier(self) -> dict[str, Any]:
        return {"service_tier": self._spec.service_tier} if self._spec.service_tier else {}


def request_id_of(headers: Mapping[str, str]) -> str | None:
    """The provider's id of a call, Azure's or AWS's."""
    names = ("x-request-id", "apim-request-id", "x-amzn-requestid")
    return next((headers[name] for name in names if name in headers), None)


class _ResponseReading:
    """A response as its events tell it: only a terminal event makes it one."""

    def __init__(self, call: Call) -> None:
        self.call = call
        self.text = ""
        self._final: dict[str, Any] | None = None
        self._error: Finding | None = None

    @shaped
    def take(self, event: dict[str, Any]) -> None:
        """The next event. Raises `Garbled` for one of another shape."""
        match event.get("type"):
            case "response.created":
                self.call.is_open = True
            case "response.output_text.delta":
                self.text += event.get("delta") or ""
                self.call.heard = self.text
            case "response.completed" | "response.failed" | "response.incomplete":
                self._final, self.call.is_open = event.get("response") or {}, False
                self.call.usage, self.call.heard = responses_usage(self._final.get("usage")), ""
                if self._final.get("output"):  # some servers leave it out
                    self.text = texts_of(self._final, "output_text", "text")
            case "error":
                failure = Failure(200, code=str(event.get("code") or ""), text=str(event.get("message")))
                self._error = judge_failure(failure)

    def finding(self) -> Finding:
        """What came of it."""
        if self._error is not None:
            return self._error
        return judge_final(self._final or {}, self.text)


class _ChatReading:
    """A completion as its chunks tell it. The usage chunk comes last and has no choices."""

    def __init__(self, call: Call) -> None:
        self.call = call
        self.text = ""
        self._finish: str | None = None
        self._refused = False

    @shaped
    def take(self, chunk: dict[str, Any]) -> None:
        """The next chunk. Raises `Garbled` for one of another shape."""
        if chunk.get("usage"):
            self.call.usage = chat_usage(chunk["usage"])
        for choice in chunk.get("choices") or []:
            self.call.is_open = not choice.get("finish_reason")
            delta = choice.get("delta") or {}
            self.text += words_of(delta.get("content"))
            self.call.heard = "" if choice.get("finish_reason") else self.text
            self._refused = self._refused or bool(delta.get("refusal"))
            self._finish = choice.get("finish_reason") or self._finish

    def finding(self) -> Finding:
        """What came of it."""
        return judge_choice(self._finish, self.text, refused=self._refused)
