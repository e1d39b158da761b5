"""An agent that caches its prompt: one prepare and one model call for each step of a talk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from precompact.splice import apply_context
from precompact_standin.scenario import Reply, ToolCall
from precompact_standin.scenario import Step as Scripted
from tests.bench.costs.ground import Ground
from tests.bench.costs.rows import Pair, Row
from tests.bench.costs.sums import Tokens
from tests.bench.costs.talk import Message, Step, Talk
from tests.bench.wire import Line

WINDOW = 128_000
MAX_OUTPUT = 8_000
VERSION = {"anthropic-version": "2023-06-01"}


@dataclass(frozen=True, slots=True)
class Called:
    """One call of the agent's: what it used, behind which checkpoint, and whether it is the first one there."""

    tokens: Tokens
    generation: int
    is_first: bool


@dataclass(slots=True)
class Agent:
    """One session against the service and the provider."""

    ground: Ground
    talk: Talk
    pair: Pair
    row: Row
    service: Line
    provider: Line
    session: str
    history: list[Any] = field(default_factory=list)
    insert: list[Any] = field(default_factory=list)
    seen: dict[str, int] = field(default_factory=lambda: {"version": 0, "length": 0})
    usage: dict[str, Any] | None = None
    prefix: str | None = None
    checkpoint: str | None = None
    generation: int = 0
    calls: list[Called] = field(default_factory=list)
    last: dict[str, Any] = field(default_factory=dict)

    def step(self, step: Step) -> None:
        """Prepare, call the model, remember what it used."""
        messages = self._prepared(step.news)
        told = self._asked(messages, step)
        tokens = Tokens.of(told["usage"])
        is_first = len(self.calls) > 0 and self.generation != self.calls[-1].generation
        self.calls.append(Called(tokens, self.generation, is_first))
        self.usage = {
            "input_tokens": tokens.prompt,
            "output_tokens": tokens.output,
            "cache_read_tokens": tokens.read,
            "cache_write_tokens": tokens.written,
            **self.seen,
        }
        self.ground.standin.advance(self.row.seconds_a_call)

    @property
    def limit_share(self) -> float:
        """How near the context is to the limit."""
        context = self.last["context"]
        return float(context["tokens"] / context["limit"])

    def _prepared(self, news: tuple[Message, ...]) -> list[Any]:
        """The messages to send, after the service has got the new ones."""
        body: dict[str, Any] = {
            "format": "anthropic",
            "model": self.pair.agent,
            "window": WINDOW,
            "max_output": MAX_OUTPUT,
            "seen": self.seen,
            "messages": news,
            "prefix": {"digest": self.prefix} if self.prefix else self._front(),
        }
        body |= {"have": self.checkpoint} if self.checkpoint else {}
        body |= {"usage": self.usage} if self.usage else {}
        told = self.last = self.service.call(f"/v1/sessions/{self.session}/prepare", body).json()
        self.history += news
        self.prefix = told["prefix"]
        self.seen = {"version": told["history_version"], "length": told["length"]}
        context = told["context"]
        if context["checkpoint"] != self.checkpoint:
            self.checkpoint, self.insert = context["checkpoint"], context["insert"]
            self.generation += 1
        return apply_context(self.history, self.insert, context["keep_from"], context["edits"])

    def _asked(self, messages: list[Any], step: Step) -> dict[str, Any]:
        """The model's reply: the step's own words, so that the same session is played whatever else happens."""
        calls = tuple(ToolCall(name=name, input=values) for name, values in step.calls)
        deck = self.ground.standin.app.state.deck
        deck._script.append(Scripted(reply=Reply(text=step.text, calls=calls)))
        headers = VERSION | (self.last.get("request", {}).get("headers") or {})
        body = {
            "model": self.pair.agent,
            "max_tokens": MAX_OUTPUT,
            **self._front(),
            "messages": [*messages[:-1], _marked(messages[-1], self.row.agent_marks)],
        }
        body.pop("params")
        return self.provider.call("/v1/messages", body, headers=headers).json()

    def _front(self) -> dict[str, Any]:
        system = {"type": "text", "text": self.talk.system}
        return {
            "system": [_with_mark(system, self.row.agent_marks)],
            "tools": self.talk.tools,
            "params": {"max_tokens": MAX_OUTPUT},
        }


def _marked(message: Mapping[str, Any], ttl: str) -> dict[str, Any]:
    """The message with a mark on its last part."""
    *parts, last = message["content"]
    return {**message, "content": [*parts, _with_mark(last, ttl)]}


def _with_mark(part: Mapping[str, Any], ttl: str) -> dict[str, Any]:
    return {**part, "cache_control": {"type": "ephemeral", "ttl": ttl}} if ttl else dict(part)
