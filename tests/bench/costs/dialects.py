"""How an agent speaks to its provider: the talk's messages in that protocol, the request with its marks, the usage."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from precompact_shared.provider_spec import ProviderName
from tests.bench.costs.sums import Tokens
from tests.bench.costs.talk import Message, Talk

MAX_OUTPUT = 8_000


class Dialect(Protocol):
    """One protocol."""

    provider: ProviderName
    format: str
    """Of the session."""
    path: str
    """Of a model call."""
    headers: Mapping[str, str]

    def entries(self, message: Message) -> list[Message]:
        """What a message of the talk is in a history."""
        ...

    def prefix(self, talk: Talk, ttl: str) -> dict[str, Any]:
        """What the service is told of the requests: system prompt, tools, parameters."""
        ...

    def body(self, model: str, talk: Talk, messages: Sequence[Any], ttl: str) -> dict[str, Any]:
        """One request. `ttl`: the life of what the agent's marks keep; "" for none."""
        ...

    def tokens(self, usage: Mapping[str, Any]) -> Tokens:
        """What a reply says that it used."""
        ...


class Messages:
    """Anthropic's: cached up to marks, one behind the system prompt and one on the last part."""

    provider = ProviderName.ANTHROPIC
    format = "anthropic"
    path = "/v1/messages"
    headers: Mapping[str, str] = {"anthropic-version": "2023-06-01"}

    def entries(self, message: Message) -> list[Message]:
        """As the talk has them."""
        return [message]

    def prefix(self, talk: Talk, ttl: str) -> dict[str, Any]:
        """With the mark behind the system prompt."""
        system = [_with_mark({"type": "text", "text": talk.system}, ttl)]
        return {"system": system, "tools": talk.tools, "params": {"max_tokens": MAX_OUTPUT}}

    def body(self, model: str, talk: Talk, messages: Sequence[Any], ttl: str) -> dict[str, Any]:
        """With the mark on the last part."""
        front = self.prefix(talk, ttl)
        *parts, last = messages[-1]["content"]
        marked = {**messages[-1], "content": [*parts, _with_mark(last, ttl)]}
        return {"model": model, **front.pop("params"), **front, "messages": [*messages[:-1], marked]}

    def tokens(self, usage: Mapping[str, Any]) -> Tokens:
        """What is neither read nor written comes apart; a compaction's stands in `iterations` alone."""
        entries = usage.get("iterations") or [usage]
        return sum((self._entry(one) for one in entries), Tokens())

    def _entry(self, usage: Mapping[str, Any]) -> Tokens:
        written = usage["cache_creation"]
        return Tokens(
            input=usage["input_tokens"],
            read=usage["cache_read_input_tokens"],
            write=written["ephemeral_5m_input_tokens"],
            write_hour=written["ephemeral_1h_input_tokens"],
            output=usage["output_tokens"],
        )


class Responses:
    """OpenAI's: cached without marks."""

    provider = ProviderName.OPENAI
    format = "openai-responses"
    path = "/v1/responses"
    headers: Mapping[str, str] = {}

    def entries(self, message: Message) -> list[Message]:
        """An item for each part."""
        return list(self._items(message))

    def prefix(self, talk: Talk, ttl: str) -> dict[str, Any]:
        """Functions in place of tools."""
        tools = [
            {
                "type": "function",
                "name": tool["name"],
                "description": tool["description"],
                "parameters": tool["input_schema"],
                "strict": False,
            }
            for tool in talk.tools
        ]
        return {"system": talk.system, "tools": tools, "params": {"max_output_tokens": MAX_OUTPUT}}

    def body(self, model: str, talk: Talk, messages: Sequence[Any], ttl: str) -> dict[str, Any]:
        """Nothing of it is kept by the provider."""
        front = self.prefix(talk, ttl)
        rest = {"instructions": front["system"], "tools": front["tools"], "input": messages, "store": False}
        return {"model": model, **front["params"], **rest}

    def tokens(self, usage: Mapping[str, Any]) -> Tokens:
        """The input includes what was read and written."""
        details = usage["input_tokens_details"]
        read, written = details["cached_tokens"], details["cache_write_tokens"]
        plain = usage["input_tokens"] - read - written
        return Tokens(input=plain, read=read, write=written, output=usage["output_tokens"])

    def _items(self, message: Message) -> Iterator[Message]:
        for part in message["content"]:
            match part["type"]:
                case "text":
                    yield {"role": message["role"], "content": part["text"]}
                case "tool_use":
                    arguments = json.dumps(part["input"])
                    yield {
                        "type": "function_call",
                        "call_id": part["id"],
                        "name": part["name"],
                        "arguments": arguments,
                    }
                case _:
                    output = part["content"]
                    yield {"type": "function_call_output", "call_id": part["tool_use_id"], "output": output}


def dialect_of(model: str) -> Dialect:
    """The protocol that an agent of this model speaks."""
    return Messages() if model.startswith("claude") else Responses()


def _with_mark(part: Mapping[str, Any], ttl: str) -> dict[str, Any]:
    return {**part, "cache_control": {"type": "ephemeral", "ttl": ttl}} if ttl else dict(part)
