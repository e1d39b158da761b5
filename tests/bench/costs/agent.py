"""An agent that caches its prompt: one prepare and one model call for each step of a talk."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from precompact.splice import apply_context
from precompact_standin.scenario import Reply, ToolCall
from precompact_standin.scenario import Step as Scripted
from tests.bench.costs.dialects import MAX_OUTPUT, Dialect
from tests.bench.costs.ground import Ground
from tests.bench.costs.rows import Pair, Row
from tests.bench.costs.sums import Tokens
from tests.bench.costs.talk import Message, Step, Talk
from tests.bench.wire import Line

WINDOW = 128_000
"""What the agent allows itself, as many do, of a window that may be larger."""


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
    dialect: Dialect
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

    def reconnect(self) -> None:
        """New connections: servers close those on which nothing was said for a while."""
        self.close()
        self.service, self.provider = Line(self.service.place), Line(self.provider.place)

    def close(self) -> None:
        """Ends the connections."""
        for line in (self.service, self.provider):
            line.__exit__(None, None, None)

    def step(self, step: Step) -> None:
        """Prepare, call the model, remember what it used."""
        messages = self._prepared([entry for message in step.news for entry in self.dialect.entries(message)])
        tokens = self.dialect.tokens(self._asked(messages, step)["usage"])
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

    def _prepared(self, news: list[Message]) -> list[Any]:
        """The messages to send, after the service has got the new ones."""
        body: dict[str, Any] = {
            "format": self.dialect.format,
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
        headers = {**self.dialect.headers, **(self.last.get("request", {}).get("headers") or {})}
        body = self.dialect.body(self.pair.agent, self.talk, messages, self.row.agent_marks)
        return self.provider.call(self.dialect.path, body, headers=headers).json()

    def _front(self) -> dict[str, Any]:
        return self.dialect.prefix(self.talk, self.row.agent_marks)
