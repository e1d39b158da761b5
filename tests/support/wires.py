"""The three protocols of providers as a test speaks them: one good reply, and every bad one, of each."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Protocol

from precompact_shared.provider_spec import Api, ProviderName, ProviderSpec
from tests.support.fake_llm import Answer, events, failing, streaming


class Wire(Protocol):
    """One protocol."""

    @property
    def name(self) -> str:
        """Of the protocol."""
        ...

    def spec(self, url: str, **fields: Any) -> ProviderSpec:
        """A provider on this server."""
        ...

    def reply(self, text: str, *, stop: str = "end", ends: str = "well", **headers: str) -> Answer:
        """A streamed reply; `stop`: end, length, tool, refusal, filter, none (the stream says no end)."""
        ...

    def error_event(self, kind: str) -> Answer:
        """A stream that begins well and then says `overloaded`."""
        ...

    def error(self, status: int, kind: str, text: str = "no", **headers: str) -> Answer:
        """An error with the protocol's envelope."""
        ...

    def asked(self, body: dict[str, Any]) -> str:
        """All text of a request."""
        ...


@dataclass(frozen=True)
class AnthropicWire:
    """Messages."""

    name: str = "anthropic"

    def spec(self, url: str, **fields: Any) -> ProviderSpec:
        """A provider on this server."""
        return ProviderSpec(name=ProviderName.ANTHROPIC, model="claude-haiku-4-5", base_url=url, **fields)

    def _begin(self, text: str) -> list[tuple[str, dict[str, Any]]]:
        usage = {"input_tokens": 900, "cache_read_input_tokens": 50, "output_tokens": 1}
        message: dict[str, Any] = {
            "id": "msg_a",
            "type": "message",
            "role": "assistant",
            "model": "claude-haiku-4-5",
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": usage,
        }
        block = {"type": "text", "text": ""}
        delta = {"type": "text_delta", "text": text}
        return [
            ("message_start", {"type": "message_start", "message": message}),
            ("content_block_start", {"type": "content_block_start", "index": 0, "content_block": block}),
            ("ping", {"type": "ping"}),
            ("content_block_delta", {"type": "content_block_delta", "index": 0, "delta": delta}),
        ]

    def reply(self, text: str, *, stop: str = "end", ends: str = "well", **headers: str) -> Answer:
        """A streamed reply."""
        told = self._begin(text)
        reasons = {
            "end": "end_turn",
            "length": "max_tokens",
            "tool": "tool_use",
            "refusal": "refusal",
            "filter": "refusal",
        }
        if stop != "none":
            delta = {"stop_reason": reasons[stop], "stop_sequence": None}
            told += [
                ("content_block_stop", {"type": "content_block_stop", "index": 0}),
                ("message_delta", {"type": "message_delta", "delta": delta, "usage": {"output_tokens": 70}}),
                ("message_stop", {"type": "message_stop"}),
            ]
        return streaming(events(told), ends=ends, request_id="req_a", **headers)

    def error_event(self, kind: str) -> Answer:
        """After some text."""
        error = {"type": "error", "error": {"type": f"{kind}_error", "message": "Overloaded"}}
        return streaming(events([*self._begin("half a"), ("error", error)]))

    def error(self, status: int, kind: str, text: str = "no", **headers: str) -> Answer:
        """The envelope."""
        kinds = {
            "overflow": "invalid_request_error",
            "rate": "rate_limit_error",
            "key": "authentication_error",
        }
        said = {"overflow": "prompt is too long: 200001 tokens > 200000 maximum"}.get(kind, text)
        body = {
            "type": "error",
            "error": {"type": kinds.get(kind, kind), "message": said},
            "request_id": "req_b",
        }
        return failing(status, body, **headers)

    def asked(self, body: dict[str, Any]) -> str:
        """All text of a request."""
        return "\n".join([str(body["system"]), *(str(one["content"]) for one in body["messages"])])


@dataclass(frozen=True)
class ResponsesWire:
    """OpenAI Responses."""

    name: str = "responses"

    def spec(self, url: str, **fields: Any) -> ProviderSpec:
        """A provider on this server."""
        return ProviderSpec(name=ProviderName.OPENAI, model="gpt-4.1-mini", base_url=f"{url}/v1", **fields)

    def _response(self, status: str, **fields: Any) -> dict[str, Any]:
        base = {
            "id": "resp_a",
            "object": "response",
            "created_at": 1,
            "model": "gpt-4.1-mini",
            "status": status,
        }
        rest: dict[str, Any] = {
            "error": None,
            "incomplete_details": None,
            "output": [],
            "parallel_tool_calls": True,
        }
        return {**base, **rest, "tool_choice": "auto", "tools": [], "usage": None, **fields}

    def _begin(self, text: str) -> list[tuple[str, dict[str, Any]]]:
        at = {"item_id": "msg_a", "output_index": 0, "content_index": 0, "logprobs": []}
        return [
            ("response.created", {"type": "response.created", "response": self._response("in_progress")}),
            ("response.output_text.delta", {"type": "response.output_text.delta", "delta": text, **at}),
        ]

    def reply(self, text: str, *, stop: str = "end", ends: str = "well", **headers: str) -> Answer:
        """A streamed reply."""
        told = self._begin(text)
        if stop != "none":
            told.append(self._end(text, stop))
        for number, (_, data) in enumerate(told):
            data["sequence_number"] = number
        return streaming(events(told), ends=ends, x_request_id="req_a", **headers)

    def _end(self, text: str, stop: str) -> tuple[str, dict[str, Any]]:
        part: dict[str, Any] = {"type": "output_text", "text": text, "annotations": []}
        if stop == "refusal":
            part = {"type": "refusal", "refusal": text}
        item = {
            "id": "msg_a",
            "type": "message",
            "role": "assistant",
            "status": "completed",
            "content": [part],
        }
        call = {"id": "f", "type": "function_call", "name": "t", "arguments": "{}", "call_id": "c"}
        details = {"cached_tokens": 50, "cache_write_tokens": 0}
        usage = {
            "input_tokens": 950,
            "input_tokens_details": details,
            "output_tokens": 70,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 1020,
        }
        incomplete = {"length": "max_output_tokens", "filter": "content_filter"}.get(stop)
        status = "incomplete" if incomplete else "completed"
        why = {"reason": incomplete} if incomplete else None
        output = [call] if stop == "tool" else [item]
        body = self._response(status, output=output, usage=usage, incomplete_details=why)
        return (f"response.{status}", {"type": f"response.{status}", "response": body})

    def error_event(self, kind: str) -> Answer:
        """A failed response after some text."""
        error = {"code": "server_error", "message": "Overloaded"}
        told = [*self._begin("half a")]
        told.append(
            (
                "response.failed",
                {"type": "response.failed", "response": self._response("failed", error=error)},
            )
        )
        for number, (_, data) in enumerate(told):
            data["sequence_number"] = number
        return streaming(events(told))

    def error(self, status: int, kind: str, text: str = "no", **headers: str) -> Answer:
        """The envelope."""
        codes = {
            "overflow": "context_length_exceeded",
            "rate": "rate_limit_exceeded",
            "key": "invalid_api_key",
        }
        error = {
            "message": text,
            "type": "invalid_request_error",
            "param": None,
            "code": codes.get(kind, kind),
        }
        return failing(status, {"error": error}, **headers)

    def asked(self, body: dict[str, Any]) -> str:
        """All text of a request."""
        return "\n".join([body["instructions"], *(str(one["content"]) for one in body["input"])])


@dataclass(frozen=True)
class ChatWire(ResponsesWire):
    """OpenAI Chat Completions."""

    name: str = "chat"

    def spec(self, url: str, **fields: Any) -> ProviderSpec:
        """A provider on this server."""
        return super().spec(url, api=Api.CHAT, **fields)

    def _chunk(self, delta: dict[str, Any] | None, finish: str | None = None, **fields: Any) -> bytes:
        choices = (
            [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}]
        )
        base = {"id": "chat_a", "object": "chat.completion.chunk", "created": 1, "model": "gpt-4.1-mini"}
        return b"data: " + json.dumps({**base, "choices": choices, **fields}).encode() + b"\n\n"

    def reply(self, text: str, *, stop: str = "end", ends: str = "well", **headers: str) -> Answer:
        """A streamed reply; usage comes in a chunk of its own."""
        raw = self._chunk({"role": "assistant", "content": "" if stop == "tool" else text})
        if stop == "refusal":
            raw = self._chunk({"role": "assistant", "refusal": text})
        if stop != "none":
            reasons = {
                "end": "stop",
                "refusal": "stop",
                "length": "length",
                "tool": "tool_calls",
                "filter": "content_filter",
            }
            usage = {
                "prompt_tokens": 950,
                "completion_tokens": 70,
                "total_tokens": 1020,
                "prompt_tokens_details": {"cached_tokens": 50},
            }
            raw += self._chunk({}, reasons[stop]) + self._chunk(None, usage=usage) + b"data: [DONE]\n\n"
        return streaming(raw, ends=ends, x_request_id="req_a", **headers)

    def error_event(self, kind: str) -> Answer:
        """As compatible servers do it: an error object in place of a chunk."""
        error = {"error": {"message": "Overloaded", "type": "server_error", "code": "server_error"}}
        raw = self._chunk({"role": "assistant", "content": "half a"})
        return streaming(raw + b"data: " + json.dumps(error).encode() + b"\n\n")

    def asked(self, body: dict[str, Any]) -> str:
        """All text of a request."""
        return "\n".join(str(one["content"]) for one in body["messages"])


WIRES: tuple[Wire, ...] = (AnthropicWire(), ResponsesWire(), ChatWire())
