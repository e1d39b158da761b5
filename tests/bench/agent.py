"""An agent as thin as it gets: keeps the pair it has seen and the checkpoint it holds, and sends its next turn."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.bench.turns import FORMAT, MODEL, OPENING, turn
from tests.bench.wire import Answer, Line


@dataclass(slots=True)
class Agent:
    """One session. `usage` is reported as a provider would that counts as the service does."""

    line: Line
    session: str
    window: int
    size_bytes: int
    number: int = 0
    """Of the next turn."""
    version: int = 0
    length: int = 0
    checkpoint: str | None = None
    tokens: int = 0
    last: dict[str, Any] = field(default_factory=dict)

    def prepare(self) -> Answer:
        """Sends what is new (the opening, then a turn a call) and takes the answer over."""
        messages = [OPENING] if not self.length else turn(self.number, self.size_bytes)
        self.number += bool(self.length)
        return self.send(messages)

    def send(self, messages: list[dict[str, Any]], **more: Any) -> Answer:
        """One prepare with these messages."""
        answer = self.line.call(f"/v1/sessions/{self.session}/prepare", self._body(messages) | more)
        self.last = answer.json()
        self.version, self.length = self.last["history_version"], self.last["length"]
        context = self.last["context"]
        self.checkpoint, self.tokens = context["checkpoint"], context["tokens"]
        return answer

    @property
    def status(self) -> str:
        """Of the last answer."""
        return str(self.last["status"])

    def _body(self, messages: list[dict[str, Any]]) -> dict[str, Any]:
        body: dict[str, Any] = {
            "format": FORMAT,
            "model": MODEL,
            "window": self.window,
            "max_output": 8_000,
            "seen": {"version": self.version, "length": self.length},
            "messages": messages,
        }
        if self.checkpoint is not None:
            body["have"] = self.checkpoint
        if self.tokens:
            place = {"version": self.version, "length": self.length}
            body["usage"] = {"input_tokens": self.tokens, "output_tokens": 250, **place}
        return body
