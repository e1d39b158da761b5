"""Logs of any size, as each tool writes them: calls with results, what the tool notes for itself, compactions."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

CONTEXT_STEPS = 300
"""Calls between two compactions."""
_OWN_CHARS = 9_000
"""Of what the tool notes down for itself beside each result."""
_AT = "2026-01-01T00:00:00.000Z"


@dataclass(frozen=True, slots=True)
class Told:
    """What was written."""

    steps: int
    boundaries: int
    entries: int


@dataclass(frozen=True, slots=True)
class Shape:
    """How one tool writes. Each function gives the text of one thing; `entries_a_step` are read back of a step."""

    opening: str
    step: Callable[[int, str], str]
    compaction: Callable[[int, str], str]
    prompt: Callable[[str, str], str]
    entries_a_step: int = 2
    between: str = ""
    closing: str = ""


def write_log(path: Path, tool: str, *, log_bytes: int, largest_bytes: int) -> Told:
    """A log of so many bytes, with one prompt in its middle of the size of the largest."""
    shape, written, steps, is_large = SHAPES[tool](), 0, 0, False
    texts = _texts()
    with path.open("w", encoding="utf-8") as out:
        out.write(shape.opening + shape.prompt("first", "go"))
        while written < log_bytes:
            steps += 1
            written += out.write(shape.between + shape.step(steps, f"{steps} {texts[steps % len(texts)]}"))
            if not is_large and written > log_bytes / 2:
                written += out.write(shape.between + shape.prompt("large", "word " * (largest_bytes // 5)))
                is_large = True
            if steps % CONTEXT_STEPS == 0:
                written += out.write(shape.between + shape.compaction(steps, texts[0]))
        out.write(shape.closing)
    return Told(steps, steps // CONTEXT_STEPS, 2 + shape.entries_a_step * steps)


def _texts() -> list[str]:
    rng = random.Random(1)
    words = ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(2, 9))) for _ in range(4_000)]
    return [" ".join(rng.choices(words, k=rng.randint(50, 2_000))) for _ in range(100)]


def _lines(*objects: dict[str, Any]) -> str:
    return "".join(json.dumps(one) + "\n" for one in objects)


def _own() -> str:
    return "x" * _OWN_CHARS


def _size(step: int) -> int:
    return 20_000 + step % CONTEXT_STEPS * 500


@dataclass(slots=True)
class _Chain:
    """Lines that name the one before."""

    name: str
    parent: str
    last: str | None = field(default=None)
    count: int = 0

    def line(self, **more: Any) -> dict[str, Any]:
        self.count += 1
        parent, self.last = self.last, f"{self.count:08x}"
        return {self.parent: parent, self.name: self.last, "timestamp": _AT, **more}


def _claude() -> Shape:
    chain = _Chain("uuid", "parentUuid")

    def line(kind: str, **more: Any) -> dict[str, Any]:
        return chain.line(type=kind, isSidechain=False, **more)

    def step(number: int, text: str) -> str:
        call = {
            "type": "tool_use",
            "id": f"t{number}",
            "name": "Read",
            "input": {"file_path": f"m{number % 50}.py"},
        }
        usage = {"input_tokens": 3, "cache_read_input_tokens": _size(number)}
        reply = {"id": f"m{number}", "role": "assistant", "model": "claude-opus-4-6", "usage": usage}
        result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": text}
        return _lines(
            line("assistant", message={**reply, "content": [{"type": "text", "text": f"Step {number}."}]}),
            line("assistant", message={**reply, "content": [call]}),
            line("user", message={"role": "user", "content": [result]}, toolUseResult={"file": text}),
            line("progress", data={"own": _own()}),
        )

    def compaction(number: int, text: str) -> str:
        mark = line("system", subtype="compact_boundary")
        return _lines(mark, line("user", isCompactSummary=True, message={"role": "user", "content": text}))

    def prompt(_: str, text: str) -> str:
        return _lines(line("user", message={"role": "user", "content": text}))

    return Shape("", step, compaction, prompt)


def _codex() -> Shape:
    def line(kind: str, **payload: Any) -> dict[str, Any]:
        return {"timestamp": _AT, "type": kind, "payload": payload}

    def said(text: str) -> dict[str, Any]:
        return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}

    def step(number: int, text: str) -> str:
        call = {
            "name": "shell",
            "call_id": f"c{number}",
            "arguments": json.dumps({"command": ["cat", "a.py"]}),
        }
        usage = {"input_tokens": _size(number), "cached_input_tokens": 9_000, "output_tokens": 40}
        info = {"total_token_usage": {"input_tokens": 20_000 * number}, "last_token_usage": usage}
        return _lines(
            line("response_item", type="function_call", **call),
            line("event_msg", type="exec_command_output_delta", own=_own()),
            line("event_msg", type="token_count", info=info),
            line("response_item", type="function_call_output", call_id=f"c{number}", output=text),
        )

    def compaction(_: int, text: str) -> str:
        return _lines(line("compacted", message=text, replacement_history=[said(text)] * 8))

    opening = _lines(line("session_meta", id="s"), line("turn_context", model="gpt-5.3-codex"))
    return Shape(opening, step, compaction, lambda _, text: _lines(line("response_item", **said(text))))


def _pi() -> Shape:
    chain = _Chain("id", "parentId")

    def message(**told: Any) -> dict[str, Any]:
        return chain.line(type="message", message=told)

    def step(number: int, text: str) -> str:
        call = {
            "type": "toolCall",
            "id": f"t{number}",
            "name": "read",
            "arguments": {"path": f"m{number % 50}.py"},
        }
        usage = {"input": 3, "cacheRead": _size(number)}
        return _lines(
            message(role="assistant", model="claude-opus-4-6", content=[call], usage=usage),
            message(role="toolResult", toolCallId=f"t{number}", content=[{"type": "text", "text": text}]),
            chain.line(type="custom", customType="own", data=_own()),
        )

    def compaction(_: int, text: str) -> str:
        return _lines(chain.line(type="compaction", summary=text, firstKeptEntryId=f"{chain.count - 4:08x}"))

    opening = _lines({"type": "session", "version": 3, "id": "s", "timestamp": _AT, "cwd": "/"})
    return Shape(opening, step, compaction, lambda _, text: _lines(message(role="user", content=text)))


def _opencode() -> Shape:
    def told(name: str, role: str, *parts: dict[str, Any], **info: Any) -> str:
        return json.dumps(
            {"info": {"id": name, "role": role, "time": {"created": 1}, **info}, "parts": parts}
        )

    def step(number: int, text: str) -> str:
        state = {
            "status": "completed",
            "input": {"filePath": "a.py"},
            "output": text,
            "metadata": {"own": _own()},
        }
        tokens = {"input": _size(number), "output": 40, "cache": {"read": 10}}
        call = {"type": "tool", "callID": f"c{number}", "tool": "read", "state": state}
        return told(f"m{number}", "assistant", call, modelID="gpt-5.3-codex", tokens=tokens)

    def compaction(number: int, text: str) -> str:
        asked = told(f"u{number}", "user", {"type": "compaction"})
        return f"{asked},\n" + told(f"v{number}", "assistant", {"type": "text", "text": text}, summary=True)

    def prompt(name: str, text: str) -> str:
        return told(name, "user", {"type": "text", "text": text})

    opening = '{"info": {"id": "ses_1"}, "messages": [\n'
    return Shape(opening, step, compaction, prompt, between=",\n", closing="]}")


def _gemini_record(number: int, text: str) -> dict[str, Any]:
    gave = [{"functionResponse": {"id": f"c{number}", "name": "read_file", "response": {"output": text}}}]
    call = {"id": f"c{number}", "name": "read_file", "args": {}, "result": gave, "resultDisplay": _own()}
    tokens = {"input": _size(number), "output": 40, "cached": 10, "thoughts": 3}
    told = {"id": f"g{number}", "timestamp": _AT, "type": "gemini", "content": "", "model": "gemini-3-pro"}
    return {**told, "tokens": tokens, "toolCalls": [call]}


def _gemini_prompt(name: str, text: str) -> dict[str, Any]:
    return {"id": name, "timestamp": _AT, "type": "user", "content": text}


def _gemini() -> Shape:
    kept: list[dict[str, Any]] = []

    def step(number: int, text: str) -> str:
        kept[:] = [*kept[-3:], _gemini_record(number, text)]
        return _lines(kept[-1], {"$set": {"lastUpdated": _AT}})

    def compaction(number: int, text: str) -> str:
        return _lines({"$set": {"messages": [_gemini_prompt(f"s{number}", text), *kept]}})

    opening = _lines({"sessionId": "s", "projectHash": "h"})
    return Shape(opening, step, compaction, lambda name, text: _lines(_gemini_prompt(name, text)))


def _gemini_document() -> Shape:
    opening = '{"sessionId": "s", "projectHash": "h", "messages": [\n'
    return Shape(
        opening,
        lambda number, text: json.dumps(_gemini_record(number, text)),
        lambda number, text: json.dumps({"id": f"i{number}", "type": "info", "content": text}),
        lambda name, text: json.dumps(_gemini_prompt(name, text)),
        between=",\n",
        closing="]}",
    )


SHAPES: dict[str, Callable[[], Shape]] = {
    "claude-code": _claude,
    "codex": _codex,
    "pi": _pi,
    "opencode": _opencode,
    "gemini-cli": _gemini,
    "gemini-cli-document": _gemini_document,
}
COMPACTED_BY_NOBODY = frozenset({"gemini-cli-document"})
"""Their form has no mark for it."""
