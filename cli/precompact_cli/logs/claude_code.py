"""Claude Code's logs: lines that name their parents, one content block a line, sub-agents as sidechains."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

from precompact_cli.logs.claude_context import cleared_by
from precompact_cli.logs.claude_lines import Merger, is_message, told_from_queue
from precompact_cli.logs.claude_tree import Live, index_lines
from precompact_cli.logs.events import (
    Compacted,
    Counted,
    Damaged,
    Event,
    Happened,
    Head,
    Left,
    Skipped,
    Stamp,
)
from precompact_cli.logs.lines import listed, read_objects, record, stamp_of, text_of, tokens_of
from precompact_shared.engine.types import Format, Message

_LINKED = frozenset({"user", "assistant", "system", "progress", "attachment"})
_BARE = frozenset({"file-history-snapshot", "queue-operation", "last-prompt", "permission-mode", "ai-title"})
_INTERRUPTED = "[Request interrupted"


class ClaudeCode:
    """Reads the live branch: the one that ends last. Twice over the file: once for the tree, once for the text."""

    tool = "claude-code"
    format = Format.ANTHROPIC

    def recognise(self, head: Head) -> bool:
        """A line with a `uuid` and a parent (or null) of a known type, or one that only Claude Code writes."""
        return any(_is_linked(one) for one in head.objects) or (
            bool(head.objects) and all(_is_bare(one) for one in head.objects)
        )

    def read(self, stream: BinaryIO) -> Iterator[Event]:
        """Messages of the live branch and of each sidechain; branches it left; boundaries with their summaries."""
        live = index_lines(stream)
        reading = _Reading(live)
        for found in read_objects(stream):
            if isinstance(found, Damaged):
                yield found
            else:
                yield from reading.line(*found)
        yield from reading.end()


class _Reading:
    def __init__(self, live: Live) -> None:
        self._live = live
        self._mergers: dict[str, Merger] = {"": Merger("")}
        self._left: dict[int, Merger] = {}
        self._left_at: dict[int, tuple[int, int]] = {}
        """Of each branch the place it leaves at and its first line."""
        self._summary: list[Message] = []
        self._summary_at: Stamp = None
        self._boundary: tuple[int, dict[str, Any]] | None = None

    def line(self, number: int, line: dict[str, Any]) -> Iterator[Event]:
        line = told_from_queue(line)
        kind = text_of(line.get("type")) or "untyped"
        if self._live.is_repeat(number):
            yield Skipped("repeated")
        elif kind == "system" and line.get("subtype") == "compact_boundary":
            yield from self._bound(number, line)
        elif is_message(line):
            yield from self._message(number, line)
        elif kind == "queue-operation":
            yield from self._queued(number, line)
        elif kind in {"user", "assistant"}:
            yield Damaged(number, "a message without content")
        else:
            yield Skipped(kind[:60])
            yield from [Counted(Happened.CLEARED, number)] * cleared_by(line)

    def end(self) -> Iterator[Event]:
        """What is still open."""
        for merger in self._mergers.values():
            yield from merger.flush()
        yield from self._close_boundary()
        for root, merger in self._left.items():
            list(merger.flush())
            at, line = self._left_at[root]
            yield Left(at, merger.said, line)

    def _message(self, number: int, line: dict[str, Any]) -> Iterator[Event]:
        thread = self._live.thread(number)
        main = self._mergers[""]
        if thread:
            yield from self._mergers.setdefault(thread, Merger(thread)).feed(number, line)
        elif not self._live.is_live(number):
            root = self._live.branch(number)
            self._left_at.setdefault(root, (self._live.place(root), number))
            list(self._left.setdefault(root, Merger("")).feed(number, line))
        elif line.get("isCompactSummary"):
            yield from self._summarised(number, line)
        else:
            yield from self._close_boundary()
            yield from main.feed(number, line)
            if _says(line, _INTERRUPTED):
                yield Counted(Happened.INTERRUPTED, number)
        if not thread:
            self._live.note_place(number, main.length, main.place)

    def _queued(self, number: int, line: dict[str, Any]) -> Iterator[Event]:
        if line.get("operation") == "enqueue":
            yield Counted(Happened.QUEUED, number)
        else:
            yield Skipped("queue-operation")

    def _bound(self, number: int, line: dict[str, Any]) -> Iterator[Event]:
        if not self._live.is_live(number):
            yield Skipped("system")
            return
        yield from self._mergers[""].flush()
        yield from self._close_boundary()
        self._boundary = (number, line)

    def _summarised(self, number: int, line: dict[str, Any]) -> Iterator[Event]:
        yield from self._mergers[""].flush()
        if self._boundary is None:
            self._boundary = (number, line)
        self._summary.append({"role": "user", "content": line["message"]["content"]})
        self._summary_at = self._summary_at or stamp_of(line.get("timestamp"))

    def _close_boundary(self) -> Iterator[Event]:
        if self._boundary is None:
            return
        number, line = self._boundary
        if not self._summary:  # broken off: the next request would still be sent as before
            self._boundary = None
            yield Skipped("compact_boundary")
            return
        told, kept = record(line.get("compactMetadata")), self._live.kept_from(number)
        yield Compacted(
            insert=tuple(self._summary),
            kept_from=self._mergers[""].said if kept is None else kept,
            line=number,
            at=self._summary_at,
            trigger=text_of(told.get("trigger")),
            tokens_before=tokens_of(told.get("preTokens")) or None,
        )
        self._boundary, self._summary, self._summary_at = None, [], None


def _says(line: dict[str, Any], start: str) -> bool:
    content = record(line.get("message")).get("content")
    texts = [content] if isinstance(content, str) else [record(one).get("text") for one in listed(content)]
    return any(isinstance(text, str) and text.startswith(start) for text in texts)


def _is_linked(line: Any) -> bool:
    return text_of(line.get("type")) in _LINKED and "uuid" in line and "parentUuid" in line


def _is_bare(line: Any) -> bool:
    return text_of(line.get("type")) in _BARE or (line.get("type") == "summary" and "leafUuid" in line)
