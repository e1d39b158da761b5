"""A provider that answers from a script, over real HTTP, and refuses what the real ones refuse.

Speaks Anthropic Messages, OpenAI Responses and Chat Completions, each in its smallest body. Every request is
checked by the engine's rules of its format first: a broken history gets the 400 it would get outside.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from precompact_shared.engine.types import Format
from precompact_shared.engine.validate import Severity, validate


@dataclass(frozen=True)
class Turn:
    """One scripted reply: text, and calls as (name, arguments)."""

    text: str = ""
    calls: Sequence[tuple[str, dict[str, Any]]] = ()


@dataclass
class ScriptedProvider:
    """The script, where it stands, and what was asked."""

    script: Sequence[Turn]
    requests: list[dict[str, Any]] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    url: str = ""

    def answer(self, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Status and body for one request."""
        wire, messages = _asked(path, body)
        errors = [found.id for found in validate(wire, messages) if found.severity is Severity.ERROR]
        if errors:
            self.refusals.append(",".join(errors))
            return 400, _refusal(wire, f"invalid history: {self.refusals[-1]}")
        number = len(self.requests)
        self.requests.append(body)
        tokens = len(json.dumps(messages)) // 3
        return 200, _RENDER[wire](self.script[number], number, tokens)


def _asked(path: str, body: dict[str, Any]) -> tuple[Format, list[Any]]:
    if path.endswith("/messages"):
        return Format.ANTHROPIC, body["messages"]
    if path.endswith("/responses"):
        return Format.OPENAI_RESPONSES, body["input"]
    return Format.OPENAI_CHAT, body["messages"]


def _refusal(wire: Format, text: str) -> dict[str, Any]:
    error = {"type": "invalid_request_error", "message": text, "param": None, "code": None}
    return {"type": "error", "error": error} if wire is Format.ANTHROPIC else {"error": error}


def _anthropic(turn: Turn, number: int, tokens: int) -> dict[str, Any]:
    parts: list[dict[str, Any]] = [{"type": "text", "text": turn.text}] if turn.text else []
    parts += [
        {"type": "tool_use", "id": f"toolu_{number}_{index}", "name": name, "input": arguments}
        for index, (name, arguments) in enumerate(turn.calls)
    ]
    return {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": "scripted",
        "content": parts,
        "stop_reason": "tool_use" if turn.calls else "end_turn",
        "stop_sequence": None,
        # As behind a warm cache: most of the prompt is not in input_tokens.
        "usage": {
            "input_tokens": 5,
            "cache_read_input_tokens": tokens - 5,
            "cache_creation_input_tokens": 0,
            "output_tokens": 7,
        },
    }


def _responses(turn: Turn, number: int, tokens: int) -> dict[str, Any]:
    items: list[dict[str, Any]] = [
        {"id": f"rs_{number}", "type": "reasoning", "summary": [], "encrypted_content": "e"}
    ]
    items += [
        {
            "id": f"fc_{number}_{index}",
            "type": "function_call",
            "status": "completed",
            "call_id": f"call_{number}_{index}",
            "name": name,
            "arguments": json.dumps(arguments),
        }
        for index, (name, arguments) in enumerate(turn.calls)
    ]
    if turn.text:
        part = {"type": "output_text", "text": turn.text, "annotations": []}
        said = {"id": f"msg_{number}", "type": "message", "role": "assistant", "status": "completed"}
        items.append({**said, "content": [part]})
    return {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": 1,
        "model": "scripted",
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "output": items,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": tokens,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": 7,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": tokens + 7,
        },
    }


def _chat(turn: Turn, number: int, tokens: int) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": turn.text or None, "refusal": None}
    if turn.calls:
        message["tool_calls"] = [
            {
                "id": f"call_{number}_{index}",
                "type": "function",
                "function": {"name": name, "arguments": json.dumps(arguments)},
            }
            for index, (name, arguments) in enumerate(turn.calls)
        ]
    reason = "tool_calls" if turn.calls else "stop"
    choice = {"index": 0, "message": message, "finish_reason": reason, "logprobs": None}
    return {
        "id": f"chat_{number}",
        "object": "chat.completion",
        "created": 1,
        "model": "scripted",
        "choices": [choice],
        "usage": {"prompt_tokens": tokens, "completion_tokens": 7, "total_tokens": tokens + 7},
    }


_RENDER = {Format.ANTHROPIC: _anthropic, Format.OPENAI_RESPONSES: _responses, Format.OPENAI_CHAT: _chat}


@contextmanager
def scripted_provider(script: Sequence[Turn]) -> Iterator[ScriptedProvider]:
    """A `ScriptedProvider` that listens on a free local port (`url`, without `/v1`) until the block ends."""
    provider = ScriptedProvider(script)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
            status, answer = provider.answer(self.path.partition("?")[0], asked)
            payload = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload)

        def log_message(self, *_: object) -> None:
            """Say nothing: the requests are in `provider.requests`."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    provider.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
