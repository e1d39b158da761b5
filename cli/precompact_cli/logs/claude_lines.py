"""One content block a line becomes one message: blocks of one reply, and the results of its calls."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from precompact_cli.logs.events import Called, Event, Opened, Said, Stamp
from precompact_cli.logs.lines import record, stamp_of, text_of, tokens_of
from precompact_shared.engine.types import Message

_NO_MODEL = "<synthetic>"
"""Claude Code's own replies carry it; no model was called."""


class Merger:
    """Puts the lines of one thread together. `said`: messages so far; `length`: with the one that is still open."""

    def __init__(self, thread: str) -> None:
        self._thread = thread
        self._reply: _Reply | None = None
        self._results: list[dict[str, Any]] = []
        self._results_at: tuple[Stamp, int] = (None, 0)
        self._called_as: str | None = None
        """Id of the newest reply: text that came in between divides it, and its sizes are told with each half."""
        self.said = 0
        self.place = 0
        """Of the message that the line fed last is part of."""

    @property
    def length(self) -> int:
        """Places up to the end of what is open."""
        return self.said + (self._reply is not None) + bool(self._results)

    def feed(self, number: int, line: dict[str, Any]) -> Iterator[Event]:
        """One line whose `is_message` holds; what it completes."""
        message, at = line["message"], stamp_of(line.get("timestamp"))
        content = message["content"]
        if line["type"] == "assistant":
            yield from self._replied(number, message, at)
            self.place = self.said
        elif _only_results(content):
            if not self._results:
                self._results_at = (at, number)
            self._results += content
            self.place = self.length - 1
        else:
            yield from self.flush()
            self.place = self.said
            yield self._say({"role": "user", "content": content}, at, number)

    def flush(self) -> Iterator[Event]:
        """The reply that is open, the call that made it, and its results."""
        reply, self._reply = self._reply, None
        if reply is not None:
            yield self._say({"role": "assistant", "content": reply.content}, reply.at, reply.line)
            yield from self._called(reply)
        if self._results:
            results, self._results = self._results, []
            yield self._say({"role": "user", "content": results}, *self._results_at)

    def _replied(self, number: int, message: dict[str, Any], at: Stamp) -> Iterator[Event]:
        if self._reply is None or self._reply.id is None or self._reply.id != text_of(message.get("id")):
            yield from self.flush()
            self._reply = _Reply(message, at, number)
        else:
            self._reply.add(message)

    def _say(self, message: Message, at: Stamp, line: int) -> Said:
        self.said += 1
        return Said(message, at, line, self._thread)

    def _called(self, reply: _Reply) -> Iterator[Event]:
        goes_on = reply.id is not None and reply.id == self._called_as
        if reply.model is None or reply.model == _NO_MODEL or goes_on:
            return
        self._called_as = reply.id
        yield Opened(model=reply.model, thread=self._thread)
        call = Called(
            prefix=self.said - 1,
            produced=(self.said - 1,),
            input=tokens_of(reply.usage.get("input_tokens")),
            cache_read=tokens_of(reply.usage.get("cache_read_input_tokens")),
            cache_write=tokens_of(reply.usage.get("cache_creation_input_tokens")),
            output=tokens_of(reply.usage.get("output_tokens")),
            thread=self._thread,
        )
        if call.total_input:
            yield call


class _Reply:
    """The blocks of one reply as they come in; its usage is that of its last line."""

    def __init__(self, message: dict[str, Any], at: Stamp, line: int) -> None:
        self.id = text_of(message.get("id"))
        self.model = text_of(message.get("model"))
        self.at, self.line = at, line
        self.content: Any = message["content"]
        self.usage = record(message.get("usage"))

    def add(self, message: dict[str, Any]) -> None:
        """The next line of the same reply."""
        if isinstance(self.content, list) and isinstance(message["content"], list):
            self.content = [*self.content, *message["content"]]
        self.usage = record(message.get("usage")) or self.usage


def told_from_queue(line: dict[str, Any]) -> dict[str, Any]:
    """The line of a prompt that was delivered from the queue as the user's; any other line as it is."""
    attached = record(line.get("attachment"))
    prompt = attached.get("prompt")
    if attached.get("type") != "queued_command" or not isinstance(prompt, str | list):
        return line
    return {**line, "type": "user", "message": {"role": "user", "content": prompt}}


def is_message(line: dict[str, Any]) -> bool:
    """Whether the line holds something said."""
    if text_of(line.get("type")) not in {"user", "assistant"}:
        return False
    return isinstance(record(line.get("message")).get("content"), str | list)


def _only_results(content: Any) -> bool:
    return (
        isinstance(content, list)
        and bool(content)
        and all(record(one).get("type") == "tool_result" for one in content)
    )
