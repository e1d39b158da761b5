"""Gemini CLI's chats: one object with `messages`, in newer versions one line for each change; they become chat messages."""

from __future__ import annotations

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
from precompact_cli.logs.gemini_known import Known
from precompact_cli.logs.gemini_messages import call_ids, is_answer_alone, messages_of
from precompact_cli.logs.lines import listed, read_head, read_objects, record, stamp_of, text_of, tokens_of
from precompact_shared.engine.types import Format

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
    """Marks in one of many lines; they stand in the first, but that may be damaged."""
    return b"\n" in head.raw.strip() and any(
        one.keys() >= _MARKS or "$set" in one or "$rewindTo" in one for one in head.objects
    )


class _Reading:
    def __init__(self) -> None:
        self._said = 0
        self._known = Known()
        self._held: tuple[int, dict[str, Any]] | None = None
        """The newest message: it is written again whenever a result comes in."""

    def change(self, line: int, told: dict[str, Any]) -> Iterator[Event]:
        """One line of the newer form."""
        if isinstance(told.get("$rewindTo"), str):
            yield from self.flush()
            self._said = self._known.take_back(told["$rewindTo"])
            yield Rewound(self._said, line)
        elif "type" in told and "id" in told:
            yield from self.record(line, told)
        else:
            patch = record(told["$set"]) if "$set" in told else told
            yield from self._patch(line, patch)

    def record(self, line: int, told: dict[str, Any]) -> Iterator[Event]:
        """One message; the same id again replaces the newest."""
        if not _is_talk(told):
            yield from _aside(line, told)
            return
        if self._held is not None and self._held[1].get("id") != told.get("id"):
            yield from self.flush()
        if str(told.get("id")) in self._known:
            yield Skipped("late change")
        elif self._is_echo(told):
            yield Skipped("result told again")
        else:
            self._held = (line, told)

    def flush(self) -> Iterator[Event]:
        """The newest message, now that it will not change."""
        held, self._held = self._held, None
        if held is None:
            return
        line, told = held
        self._known.add(told, self._said)
        at = stamp_of(told.get("timestamp"))
        for number, message in enumerate(messages_of(told)):
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

    def _is_echo(self, told: dict[str, Any]) -> bool:
        """Whether a record only tells results again that stand with their calls."""
        content = told.get("content")
        answered = call_ids(content, "functionResponse") if is_answer_alone(content) else []
        return bool(answered) and self._known.has_results(answered)

    def _patch(self, line: int, patch: dict[str, Any]) -> Iterator[Event]:
        yield Opened(text_of(patch.get("sessionId")))
        talk = [one for told in listed(patch.get("messages")) if _is_talk(one := record(told))]
        if not talk:
            return
        yield from self.flush()
        yield from self._replaced(line, talk)

    def _replaced(self, line: int, talk: list[dict[str, Any]]) -> Iterator[Event]:
        """A list in place of all messages. It may hold no more than was known: then nothing was compacted."""
        change = self._known.compare([one for one in talk if not self._is_echo(one)])
        if change.goes_on:
            yield from [Counted(Happened.CLEARED, line)] * change.cleared
            for one in change.new:
                yield from self.record(line, one)
        elif change.shortened_to is not None:
            self._said = self._known.take_back(change.shortened_to)
            yield Rewound(self._said, line)
        else:
            insert = tuple(message for one in change.new for message in messages_of(one))
            kept = self._said if change.kept_from is None else change.kept_from
            yield Compacted(insert=insert, kept_from=kept, line=line)
            self._known.replace(change, kept)


def _is_talk(told: dict[str, Any]) -> bool:
    return text_of(told.get("type")) in {"user", "gemini"}


def _aside(line: int, told: dict[str, Any]) -> Iterator[Event]:
    if str(told.get("content", "")).startswith(_CANCELLED):
        yield Counted(Happened.INTERRUPTED, line)
    else:
        yield Skipped(str(told.get("type"))[:60])
