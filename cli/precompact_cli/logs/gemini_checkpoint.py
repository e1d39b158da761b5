"""Gemini CLI's checkpoints: the bare history of its API, as `/chat save` and the restore points write it."""

from __future__ import annotations

import io
from collections import deque
from collections.abc import Iterator
from typing import Any, BinaryIO

from precompact_cli.logs.document import Found, document_head, read_document, read_list
from precompact_cli.logs.events import Damaged, Event, Head, Said, Skipped
from precompact_cli.logs.gemini_messages import messages_of
from precompact_cli.logs.lines import listed, read_head, record, text_of
from precompact_shared.engine.types import Format

_LISTS = ("history", "clientHistory")
_BLANK = b" \t\r\n\xef\xbb\xbf"


class GeminiCheckpoint:
    """Reads a list of turns, alone or as the history of an object. It tells no sizes, times or model."""

    tool = "gemini-cli"
    format = Format.OPENAI_CHAT

    def recognise(self, head: Head) -> bool:
        """A list whose first element is a turn of Gemini's API."""
        if head.raw.lstrip(_BLANK)[:1] == b"[":
            return _is_turn(next(_items(head), None))
        return any(_is_turn(found.value) for found in document_head(head, *_LISTS) if found.is_item)

    def read(self, stream: BinaryIO) -> Iterator[Event]:
        """The turns; calls without ids get one, and results without take that of the oldest call that waits."""
        is_list = read_head(stream).raw.lstrip(_BLANK)[:1] == b"["
        reading = _Reading()
        for found in read_list(stream) if is_list else read_document(stream, *_LISTS):
            if isinstance(found, Damaged):
                yield found
            elif found.is_item:
                yield from reading.turn(found)


class _Reading:
    def __init__(self) -> None:
        self._calls = 0
        self._open: deque[str] = deque()

    def turn(self, found: Found) -> Iterator[Event]:
        """One turn."""
        if not _is_turn(found.value):
            yield Skipped("shown")
            return
        kind = "user" if found.value["role"] == "user" else "gemini"
        told = {"type": kind, "content": [self._named(record(one)) for one in found.value["parts"]]}
        for message in messages_of(told):
            yield Said(message, None, found.line)

    def _named(self, part: dict[str, Any]) -> dict[str, Any]:
        call, answer = record(part.get("functionCall")), record(part.get("functionResponse"))
        if call:
            self._calls += 1
            name = text_of(call.get("id")) or f"call_{self._calls}"
            self._open.append(name)
            return {**part, "functionCall": {**call, "id": name}}
        if answer:
            oldest = self._open.popleft() if self._open else f"call_{self._calls}"
            return {**part, "functionResponse": {**answer, "id": text_of(answer.get("id")) or oldest}}
        return part


def _items(head: Head) -> Iterator[Any]:
    return (one.value for one in read_list(io.BytesIO(head.raw)) if isinstance(one, Found))


def _is_turn(value: Any) -> bool:
    told = record(value)
    return told.get("role") in {"user", "model"} and bool(listed(told.get("parts")))
