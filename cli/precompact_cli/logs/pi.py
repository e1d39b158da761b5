"""pi's logs: a header, then messages of its own form, which become Anthropic ones; newer ones name their parents."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

from precompact_cli.logs.events import (
    Called,
    Compacted,
    Counted,
    Damaged,
    Event,
    Happened,
    Head,
    Left,
    Opened,
    Said,
    Skipped,
    Stamp,
)
from precompact_cli.logs.lines import read_objects, record, stamp_of, text_of, tokens_of
from precompact_cli.logs.pi_messages import reply_of, result_of, user_of
from precompact_cli.logs.tree import NOWHERE, Tree
from precompact_shared.engine.types import Format, Message


class Pi:
    """Reads both kinds of session: plain lists, and trees of which the branch that ends last is live."""

    tool = "pi"
    format = Format.ANTHROPIC

    def recognise(self, head: Head) -> bool:
        """A `session` header with a working folder, or a message whose role only pi has."""
        return any(
            (one.get("type") == "session" and "cwd" in one and "id" in one and "payload" not in one)
            or (one.get("type") == "message" and record(one.get("message")).get("role") == "toolResult")
            for one in head.objects
        )

    def read(self, stream: BinaryIO) -> Iterator[Event]:
        """Messages with the usage their replies carry; `compaction` entries as boundaries."""
        reading = _Reading(_dead_lines(stream))
        for found in read_objects(stream):
            if isinstance(found, Damaged):
                yield found
            else:
                yield from reading.line(*found)
        yield from reading.end()


class _Reading:
    def __init__(self, dead: dict[int, int]) -> None:
        self._dead = dead
        self._said = 0
        self._places: list[int] = []
        """Of each entry, the place of what it says or of what comes next: compactions name entries by number."""
        self._by_id: dict[str, int] = {}
        self._results: list[Message] = []
        self._results_at: tuple[Stamp, int] = (None, 0)
        self._left: dict[int, list[int]] = {}
        self._key: tuple[str, str] | None = None

    def line(self, number: int, line: dict[str, Any]) -> Iterator[Event]:
        kind, message = text_of(line.get("type")), record(line.get("message"))
        before, self._key = self._key, _key(line)
        if self._key is not None and self._key == before:
            yield Skipped("repeated")
            return
        if number in self._dead:
            self._leave(number, is_message=kind in {"message", "custom_message"})
            return
        if not (kind == "message" and message.get("role") == "toolResult"):
            yield from self.flush()
        self._note(line)
        if kind == "message":
            yield from self._message(number, message, stamp_of(line.get("timestamp")))
        elif kind == "compaction":
            yield self._compacted(number, line)
        elif kind == "branch_summary":
            yield self._say(user_of(line.get("summary")), stamp_of(line.get("timestamp")), number)
        elif kind == "custom_message":
            yield self._say(
                user_of({"content": line.get("content")}), stamp_of(line.get("timestamp")), number
            )
        elif kind == "session":
            yield Opened(text_of(line.get("id")))
        else:
            yield Skipped(str(kind)[:60])

    def flush(self) -> Iterator[Event]:
        """The results that stand together."""
        results, self._results = self._results, []
        if results:
            yield self._say({"role": "user", "content": results}, *self._results_at)

    def end(self) -> Iterator[Event]:
        """What is still open, and the branches."""
        yield from self.flush()
        for first, (at, messages) in self._left.items():
            yield Left(at, messages, first)

    def _message(self, number: int, message: dict[str, Any], at: Stamp) -> Iterator[Event]:
        role = message.get("role")
        if role == "toolResult":
            if not self._results:
                self._results_at = (at, number)
            self._results.append(result_of(message))
        elif role == "assistant":
            yield self._say(reply_of(message), at, number)
            yield from self._called(number, message)
        elif role == "bashExecution" and message.get("excludeFromContext") is True:
            yield Skipped("bashExecution")
        else:
            yield self._say(user_of(message), at, number)

    def _called(self, number: int, message: dict[str, Any]) -> Iterator[Event]:
        if message.get("stopReason") == "aborted":
            yield Counted(Happened.INTERRUPTED, number)
        usage = record(message.get("usage"))
        yield Opened(model=text_of(message.get("model")))
        call = Called(
            prefix=self._said - 1,
            produced=(self._said - 1,),
            input=tokens_of(usage.get("input")),
            cache_read=tokens_of(usage.get("cacheRead")),
            cache_write=tokens_of(usage.get("cacheWrite")),
            output=tokens_of(usage.get("output")),
        )
        if call.total_input:
            yield call

    def _compacted(self, number: int, line: dict[str, Any]) -> Compacted:
        index, first = line.get("firstKeptEntryIndex"), text_of(line.get("firstKeptEntryId"))
        kept = self._said
        if type(index) is int and 0 <= index < len(self._places):
            kept = self._places[index]
        elif first is not None:
            kept = self._by_id.get(first, self._said)
        summary = user_of(text_of(line.get("summary")) or "")
        return Compacted(
            insert=(summary,),
            kept_from=kept,
            line=number,
            tokens_before=tokens_of(line.get("tokensBefore")) or None,
        )

    def _note(self, line: dict[str, Any]) -> None:
        self._places.append(self._said)
        if (name := text_of(line.get("id"))) is not None:
            self._by_id[name] = self._said

    def _leave(self, number: int, *, is_message: bool) -> None:
        left = self._left.setdefault(self._dead[number], [self._said, 0])
        left[1] += is_message

    def _say(self, message: Message, at: Stamp, line: int) -> Said:
        self._said += 1
        return Said(message, at, line)


def _key(line: dict[str, Any]) -> tuple[str, str] | None:
    """What tells an entry from others, if it has an id and a time: an entry may stand there twice in a row."""
    name, at = text_of(line.get("id")), text_of(line.get("timestamp"))
    return None if name is None or at is None else (name, at)


def _dead_lines(stream: BinaryIO) -> dict[int, int]:
    """Lines beside the live branch, each with the first line of its branch; none where entries name no parents."""
    tree, lines, key = Tree(), list[int](), None
    for found in read_objects(stream):
        if isinstance(found, Damaged) or found[1].get("type") == "session":
            continue
        name, before, key = text_of(found[1].get("id")), key, _key(found[1])
        is_new = key is None or key != before
        if name is not None and is_new and "parentId" in found[1]:
            tree.add(name, text_of(found[1].get("parentId")))
            lines.append(found[0])
    live, node = set[int](), len(tree) - 1
    while node != NOWHERE and node not in live:
        live.add(node)
        node = tree.parent(node)
    dead: dict[int, int] = {}
    for node, number in enumerate(lines):
        if node not in live:
            above = tree.parent(node)
            dead[number] = dead.get(lines[above], number) if above != NOWHERE else number
    return dead
