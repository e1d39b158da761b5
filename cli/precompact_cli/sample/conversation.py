"""Writes a conversation down as a provider-JSON file: messages, when each came, what each prompt cost."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from precompact_cli.sample.workbench import Failure, Workbench

CHARS_PER_TOKEN = 2.88  # median of recorded prompts of this model family
CACHE_S = 300.0  # a prompt cache is cold after this long without a call
BEGIN = datetime(2026, 3, 10, 10, 41, 12, tzinfo=UTC)
LONG_AGO_S = -1e9


@dataclass(frozen=True)
class ToolRun:
    """One tool call with what it printed and how long it ran."""

    name: str
    input: dict[str, Any]
    output: str
    took_s: float = 0.4
    is_error: bool = False


@dataclass
class Conversation:
    """Grows by `user`, `work` and `say`; every assistant message is one model call."""

    fixed_tokens: int
    rng: Random
    messages: list[dict[str, Any]] = field(default_factory=list)
    timestamps: list[str] = field(default_factory=list)
    usage: list[dict[str, Any]] = field(default_factory=list)
    now_s: float = 0.0
    _tokens: float = 0.0
    _cached: int = 0
    _last_call_s: float = LONG_AGO_S
    _calls: int = 0

    def user(self, text: str, after_s: float) -> None:
        """What the developer writes, `after_s` seconds later."""
        self.now_s += after_s
        self._add("user", [{"type": "text", "text": text}])

    def say(self, text: str) -> None:
        """A reply without calls."""
        self._reply([{"type": "text", "text": text}])

    def work(self, text: str, *runs: ToolRun) -> None:
        """A reply with calls (several are parallel), and their results."""
        ids = self._call(text, runs)
        self.now_s += max(run.took_s for run in runs)
        self._add("user", [_result(call_id, run) for call_id, run in zip(ids, runs, strict=True)])

    def interrupted(self, text: str, run: ToolRun, words: str) -> None:
        """A call that the developer stops to say something."""
        (call_id,) = self._call(text, (run,))
        self.now_s += run.took_s
        stopped = {"type": "tool_result", "tool_use_id": call_id, "content": run.output, "is_error": True}
        note = {"type": "text", "text": "[Request interrupted by user for tool use]"}
        self._add("user", [stopped, note])
        self.user(words, 24.0)

    def _call(self, text: str, runs: tuple[ToolRun, ...]) -> list[str]:
        parts: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
        ids = []
        for run in runs:
            self._calls += 1
            ids.append(f"toolu_sample{self._calls:04d}")
            parts.append({"type": "tool_use", "id": ids[-1], "name": run.name, "input": run.input})
        self._reply(parts)
        return ids

    def _reply(self, parts: list[dict[str, Any]]) -> None:
        prefix = len(self.messages)
        total = self.fixed_tokens + round(self._tokens)
        warm = self.now_s - self._last_call_s < CACHE_S
        read = self._cached if warm else 0
        fresh = min(3, total - read)
        before = self._tokens
        self.now_s += 2.4 + len(json.dumps(parts)) / 110 + 6.0 * self.rng.random()
        self._add("assistant", parts)
        self.usage.append(
            {
                "prefix": prefix,
                "produced": [prefix],
                "input": fresh,
                "cache_read": read,
                "cache_write": total - read - fresh,
                "output": round(self._tokens - before),
                "total_input": total,
            }
        )
        self._cached, self._last_call_s = total - fresh, self.now_s

    def _add(self, role: str, parts: list[dict[str, Any]]) -> None:
        message = {"role": role, "content": parts}
        self.messages.append(message)
        moment = BEGIN + timedelta(milliseconds=round(self.now_s * 1000))
        self.timestamps.append(moment.isoformat(timespec="milliseconds").replace("+00:00", "Z"))
        self._tokens += len(json.dumps(message, ensure_ascii=False)) / CHARS_PER_TOKEN


def _result(call_id: str, run: ToolRun) -> dict[str, Any]:
    result: dict[str, Any] = {"type": "tool_result", "tool_use_id": call_id, "content": run.output}
    return result | {"is_error": True} if run.is_error else result


@dataclass
class Desk:
    """The agent at work: each method runs one tool on the workbench and gives its run back."""

    bench: Workbench
    talk: Conversation

    def read(self, path: str, start: int | None = None, count: int | None = None) -> ToolRun:
        """Read a file or a part of it."""
        asked: dict[str, Any] = {"file_path": path}
        if start is not None:
            asked |= {"offset": start, "limit": count}
        return ToolRun("Read", asked, self.bench.read(path, start or 1, count or 2_000), 0.1)

    def write(self, path: str, text: str) -> ToolRun:
        """Write a file."""
        return ToolRun("Write", {"file_path": path, "content": text}, self.bench.write(path, text), 0.2)

    def edit(self, path: str, old: str, new: str) -> ToolRun:
        """Replace a passage."""
        asked = {"file_path": path, "old_string": old, "new_string": new}
        return ToolRun("Edit", asked, self.bench.edit(path, old, new), 0.2)

    def grep(self, pattern: str, under: str = "", context: int = 0) -> ToolRun:
        """Search the files."""
        asked: dict[str, Any] = {"pattern": pattern, "path": under or "."}
        if context:
            asked["context"] = context
        return ToolRun("Grep", asked, self.bench.grep(pattern, under, context), 0.3)

    def glob(self, pattern: str) -> ToolRun:
        """Find files by name."""
        return ToolRun("Glob", {"pattern": pattern}, self.bench.glob(pattern), 0.2)

    def bash(
        self, command: str, output: str | Callable[[], str], took_s: float = 1.0, *, failed: bool = False
    ) -> ToolRun:
        """Run a command whose output is given."""
        printed = output if isinstance(output, str) else output()
        return ToolRun("Bash", {"command": command}, printed, took_s, failed)

    def test(
        self, under: str = "tests/", failing: dict[str, Failure] | None = None, took_s: float = 8.0
    ) -> ToolRun:
        """Run tests; a failure makes the command fail, as in life."""
        printed = self.bench.tests(under, failing, took_s=took_s)
        return self.bash(f'make test ARGS="-v {under}"', printed, took_s + 1.4, failed=bool(failing))
