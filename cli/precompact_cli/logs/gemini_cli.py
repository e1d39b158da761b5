"""Gemini CLI's chats: one object with `messages`, in newer versions one line for each change; they become chat messages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, BinaryIO

from precompact_cli.logs.document import document_head, read_document
from precompact_cli.logs.events import (
    Called,
    Compacted,
    Counted,
    Damaged,
    Event,
    Happened,
    Head,
    Opened,
    Rewound,
    Said,
    Skipped,
)
from precompact_cli.logs.lines import listed, read_head, read_objects, record, stamp_of, text_of, tokens_of
from precompact_shared.engine.types import Format, Message

_MARKS = frozenset({"sessionId", "projectHash"})
_CANCELLED = "Request cancelled"


class GeminiCli:
    """Reads both forms."""

    tool = "gemini-cli"
    format = Format.OPENAI_CHAT

    def recognise(self, head: Head) -> bool:
        """An object that opens with a session's id and its project's hash."""
        if _has_lines(head):
            return True
        keys: set[str] = set()
        for found in document_head(head):
            keys.add(found.key)
            if keys >= _MARKS:
                return True
        return False

    def read(self, stream: BinaryIO) -> Iterator[Event]:
        """A reply with its calls, then their results; a list that replaces the messages is a boundary."""
        reading = _Reading()
        if _has_lines(read_head(stream)):
            for line in read_objects(stream):
                yield from [line] if isinstance(line, Damaged) else reading.change(*line)
        else:
            for found in read_document(stream, "messages"):
                if isinstance(found, Damaged):
                    yield found
                elif found.is_item:
                    yield from reading.record(found.line, record(found.value))
                elif found.key == "sessionId":
                    yield Opened(text_of(found.value))
        yield from reading.flush()


def _has_lines(head: Head) -> bool:
    return bool(head.objects) and head.objects[0].keys() >= _MARKS and b"\n" in head.raw.strip()


class _Reading:
    def __init__(self) -> None:
        self._said = 0
        self._places: dict[str, int] = {}
        self._held: tuple[int, dict[str, Any]] | None = None
        """The newest message: it is written again whenever a result comes in."""

    def change(self, line: int, told: dict[str, Any]) -> Iterator[Event]:
        """One line of the newer form."""
        if isinstance(told.get("$rewindTo"), str):
            yield from self.flush()
            self._said = self._places.get(told["$rewindTo"], 0)
            yield Rewound(self._said, line)
        elif "type" in told and "id" in told:
            yield from self.record(line, told)
        else:
            patch = record(told["$set"]) if "$set" in told else told
            yield from self._patch(line, patch)

    def record(self, line: int, told: dict[str, Any]) -> Iterator[Event]:
        """One message; the same id again replaces the newest."""
        if text_of(told.get("type")) not in {"user", "gemini"}:
            yield from _aside(line, told)
            return
        if self._held is not None and self._held[1].get("id") != told.get("id"):
            yield from self.flush()
        if str(told.get("id")) in self._places:
            yield Skipped("late change")
        else:
            self._held = (line, told)

    def flush(self) -> Iterator[Event]:
        """The newest message, now that it will not change."""
        held, self._held = self._held, None
        if held is None:
            return
        line, told = held
        self._places[str(told.get("id"))] = self._said
        at, messages = stamp_of(told.get("timestamp")), _messages(told)
        for number, message in enumerate(messages):
            self._said += 1
            yield Said(message, at, line)
            if told["type"] == "gemini" and not number:
                yield from self._called(told)

    def _called(self, told: dict[str, Any]) -> Iterator[Event]:
        tokens = record(told.get("tokens"))
        whole, cached = tokens_of(tokens.get("input")), tokens_of(tokens.get("cached"))
        yield Opened(model=text_of(told.get("model")))
        yield Called(
            prefix=self._said - 1,
            produced=(self._said - 1,),
            input=max(0, whole - cached),
            cache_read=min(cached, whole),
            output=tokens_of(tokens.get("output")),
            reasoning=tokens_of(tokens.get("thoughts")),
        )

    def _patch(self, line: int, patch: dict[str, Any]) -> Iterator[Event]:
        yield Opened(text_of(patch.get("sessionId")))
        records = [record(one) for one in listed(patch.get("messages"))]
        if not records:
            return
        yield from self.flush()
        if not self._said:
            for one in records:
                yield from self.record(line, one)
            return
        talk = (one for one in records if text_of(one.get("type")) in {"user", "gemini"})
        insert = tuple(message for one in talk for message in _messages(one))
        yield Compacted(insert=insert, kept_from=self._said, line=line)


def _aside(line: int, told: dict[str, Any]) -> Iterator[Event]:
    if str(told.get("content", "")).startswith(_CANCELLED):
        yield Counted(Happened.INTERRUPTED, line)
    else:
        yield Skipped(str(told.get("type"))[:60])


def _messages(told: dict[str, Any]) -> list[Message]:
    text = _text(told.get("content"))
    if told.get("type") == "user":
        return [{"role": "user", "content": text}]
    calls = [record(one) for one in listed(told.get("toolCalls"))]
    reply: Message = {"role": "assistant", "content": text or None}
    if calls:
        reply["tool_calls"] = [_call(one) for one in calls]
    return [reply if text or calls else {**reply, "content": ""}, *map(_result, calls)]


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = listed(content) or [content]
    return "\n".join(one if isinstance(one, str) else text_of(record(one).get("text")) or "" for one in parts)


def _call(call: dict[str, Any]) -> Message:
    function = {"name": str(call.get("name")), "arguments": json.dumps(call.get("args"), ensure_ascii=False)}
    return {"id": str(call.get("id")), "type": "function", "function": function}


def _result(call: dict[str, Any]) -> Message:
    told = call.get("result")
    content = told if isinstance(told, str) else json.dumps(told, ensure_ascii=False)
    return {"role": "tool", "tool_call_id": str(call.get("id")), "content": content}
