"""Codex rollouts: each line has a type and a payload; items of the Responses API stand in `response_item`, or bare."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
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
from precompact_cli.logs.lines import (
    Line,
    count_of,
    listed,
    read_head,
    read_objects,
    record,
    stamp_of,
    text_of,
    tokens_of,
)
from precompact_shared.engine.types import Format, Message

_TYPES = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted"})
_NO_ITEMS = frozenset({"ghost_snapshot"})
"""Items that Codex keeps for itself."""
_BARE = frozenset(
    {"message", "reasoning", "function_call", "function_call_output", "local_shell_call", "web_search_call"}
)
"""Items that stood in a line of their own before autumn 2025, behind a line that opens the session."""
_HOLDERS = frozenset({"payload", "message"})
"""What holds the item in other lines, of Codex and of others."""


class Codex:
    """Reads rollouts with a payload, as Codex writes them since autumn 2025, bare ones from before, and the first, one object."""

    tool = "codex"
    format = Format.OPENAI_RESPONSES

    def recognise(self, head: Head) -> bool:
        """Two lines of the known types with a payload, or one that opens a session."""
        known = [
            one
            for one in head.objects
            if text_of(one.get("type")) in _TYPES and isinstance(one.get("payload"), dict)
        ]
        opened = any(one["type"] == "session_meta" for one in known)
        return opened or len(known) > 1 or _is_bare(head) or _is_document(head)

    def read(self, stream: BinaryIO) -> Iterator[Event]:
        """Items as they stand; a call for each new count of tokens; `compacted` with what replaced the history."""
        reading = _Reading()
        for found in _document(stream) if _is_document(read_head(stream)) else read_objects(stream):
            if isinstance(found, Damaged):
                yield found
            else:
                yield from reading.line(*found)


class _Reading:
    def __init__(self) -> None:
        self._said = 0
        self._turns: list[int] = []
        """Places of the user's turns, for taking some back."""
        self._produced: list[int] = []
        self._total: Any = None
        self._call: tuple[Any, str | None] = (None, None)
        """Type and call id of the item before: a line that stands there twice would call or answer twice."""

    def line(self, number: int, line: dict[str, Any]) -> Iterator[Event]:
        kind, payload, at = text_of(line.get("type")), line.get("payload"), stamp_of(line.get("timestamp"))
        if kind in _BARE and "payload" not in line:
            yield from self._item(number, line, at)
        elif kind is None and _opens(line):
            yield _opened(line)
        elif not isinstance(payload, dict):
            yield Damaged(number, "no payload") if kind in _TYPES else Skipped(_kind_of(line))
        elif kind == "response_item":
            yield from self._item(number, payload, at)
        elif kind == "event_msg":
            yield from self._event(number, payload)
        elif kind == "compacted":
            yield self._compacted(number, payload, at)
        elif kind == "session_meta":
            yield _opened(payload)
        elif kind == "turn_context":
            yield Opened(model=text_of(payload.get("model")))
        else:
            yield Skipped(_kind_of(line))

    def _item(self, number: int, item: Message, at: Any) -> Iterator[Event]:
        if text_of(item.get("type")) in _NO_ITEMS:
            yield Skipped(str(item["type"]))
            return
        call = text_of(item.get("call_id"))
        before, self._call = self._call, (item.get("type"), call)
        if call is not None and self._call == before:
            yield Skipped("repeated")
            return
        if _is_made(item):
            self._produced.append(self._said)
        self._said += 1
        yield Said(_named(item), at, number)

    def _event(self, number: int, payload: dict[str, Any]) -> Iterator[Event]:
        kind = payload.get("type")
        if kind == "token_count":
            yield from self._counted(record(payload.get("info")))
        elif kind == "turn_aborted":
            yield Counted(Happened.INTERRUPTED, number)
        elif kind == "thread_rolled_back":
            yield from self._rolled_back(number, count_of(payload.get("num_turns")))
        elif kind == "task_started":
            self._produced = []
            yield Skipped("event_msg")
        elif kind == "user_message":
            self._turns.append(max(0, self._said - 1))
            yield Skipped("event_msg")
        else:
            yield Skipped("event_msg")

    def _counted(self, info: dict[str, Any]) -> Iterator[Event]:
        # A turn begins by telling the last count again; its total has not moved. News of rate limits tell none.
        total, usage = info.get("total_token_usage"), record(info.get("last_token_usage"))
        if not usage or total == self._total or not self._produced:
            return
        self._total = total
        produced, self._produced = tuple(self._produced), []
        whole, cached = tokens_of(usage.get("input_tokens")), tokens_of(usage.get("cached_input_tokens"))
        yield Called(
            prefix=produced[0],
            produced=produced,
            input=max(0, whole - cached),
            cache_read=min(cached, whole),
            output=tokens_of(usage.get("output_tokens")),
            reasoning=tokens_of(usage.get("reasoning_output_tokens")),
        )

    def _rolled_back(self, number: int, turns: int) -> Iterator[Event]:
        if not 0 < turns <= len(self._turns):
            return
        self._said = self._turns[-turns]
        del self._turns[-turns:]
        self._produced = []
        yield Rewound(self._said, number)

    def _compacted(self, number: int, payload: dict[str, Any], at: Any) -> Compacted:
        self._produced = []
        replaced = payload.get("replacement_history")
        items = [
            one
            for one in listed(replaced)
            if isinstance(one, dict) and text_of(one.get("type")) not in _NO_ITEMS
        ]
        if not isinstance(replaced, list):
            items = [_summary(text_of(payload.get("message")) or "")]
        return Compacted(insert=tuple(items), kept_from=self._said, line=number, at=at)


def _is_document(head: Head) -> bool:
    """An object that begins with what opens a session, and goes on with items."""
    found = list(islice(document_head(head, "items"), 2))
    return [one.key for one in found] == ["session", "items"] and _opens(record(found[0].value))


def _document(stream: BinaryIO) -> Iterator[Line | Damaged]:
    for found in read_document(stream, "items"):
        if isinstance(found, Damaged):
            yield found
        elif isinstance(found.value, dict):
            yield found.line, found.value
        elif found.is_item:
            yield Damaged(found.line, "no JSON object")


def _named(item: Message) -> Message:
    """The item; a call of the local shell that only has an id is called by it, as its output does."""
    bare = item.get("type") == "local_shell_call" and item.get("call_id") is None
    return {**item, "call_id": item.get("id")} if bare else item


def _is_bare(head: Head) -> bool:
    """Two of these: a line that opens a session with neither type nor payload, a mark of its state, a bare item."""
    seen = (
        any(map(_opens, head.objects)),
        any(one.get("record_type") == "state" for one in head.objects),
        any(text_of(one.get("type")) in _BARE and one.keys().isdisjoint(_HOLDERS) for one in head.objects),
    )
    return sum(seen) > 1 or (seen[0] and "instructions" in head.objects[0])


def _opens(line: Mapping[str, Any]) -> bool:
    return "type" not in line and text_of(line.get("id")) is not None and "timestamp" in line


def _kind_of(line: Message) -> str:
    return str(line.get("type") or line.get("record_type"))[:60]


def _is_made(item: Message) -> bool:
    kind = item.get("type")
    if kind == "message":
        return item.get("role") == "assistant"
    return kind == "reasoning" or str(kind).endswith("_call")


def _opened(payload: dict[str, Any]) -> Opened:
    base = record(payload.get("base_instructions")).get("text") or payload.get("instructions")
    return Opened(text_of(payload.get("id")), None, text_of(base), None)


def _summary(text: str) -> Message:
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
