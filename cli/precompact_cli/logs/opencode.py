"""OpenCode's exported sessions: `{info, messages}`, each message with parts; they become chat messages."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any, BinaryIO

from precompact_cli.logs.document import Found, document_head, read_document
from precompact_cli.logs.events import (
    Called,
    Compacted,
    Counted,
    Damaged,
    Event,
    Happened,
    Head,
    Opened,
    Said,
    Skipped,
    Stamp,
)
from precompact_cli.logs.lines import count_of, listed, record, stamp_of, text_of
from precompact_shared.engine.types import Format, Message

_SEEN = frozenset({"text", "tool", "subtask", "file", "compaction"})
"""Parts that a model sees; reasoning, steps, patches and snapshots are OpenCode's own."""

_MASKED = "REDACTED"
"""What stands in place of an id in logs that were cleaned of secrets."""


class OpenCode:
    """Reads what `opencode export` writes."""

    tool = "opencode"
    format = Format.OPENAI_CHAT

    def recognise(self, head: Head) -> bool:
        """An `info` with OpenCode's session id, or a first message made of `info` and `parts`."""
        for found in document_head(head):
            if found.key == "info" and str(record(found.value).get("id", "")).startswith("ses_"):
                return True
            if found.is_item:
                return isinstance(record(found.value).get("parts"), list) and "info" in found.value
        return False

    def read(self, stream: BinaryIO) -> Iterator[Event]:
        """One chat message a step with its results behind it; `compaction` parts with the summary as a boundary."""
        reading = _Reading()
        for found in read_document(stream, "messages"):
            if isinstance(found, Damaged):
                yield found
            elif found.is_item:
                yield from reading.message(found)
            elif found.key == "info":
                yield Opened(
                    text_of(record(found.value).get("title")) or text_of(record(found.value).get("id"))
                )


class _Reading:
    def __init__(self) -> None:
        self._said = 0
        self._calls = 0
        self._asked: Message | None = None
        """The user's side of a compaction whose summary comes next."""

    def message(self, found: Found) -> Iterator[Event]:
        info = record(record(found.value).get("info"))
        parts = [record(one) for one in listed(record(found.value).get("parts"))]
        if text_of(info.get("role")) not in {"user", "assistant"}:
            yield Damaged(found.line, "a message without a role")
            return
        skipped = Counter(
            str(part.get("type"))[:60] for part in parts if text_of(part.get("type")) not in _SEEN
        )
        yield from (Skipped(f"part {kind}") for kind, count in skipped.items() for _ in range(count))
        at = stamp_of(record(info.get("time")).get("created"))
        if info["role"] == "user":
            yield from self._user(found.line, parts, at)
        elif info.get("summary") is True:
            yield self._compacted(found.line, parts, info, at)
        else:
            yield from self._reply(found.line, parts, info, at)

    def _user(self, line: int, parts: list[dict[str, Any]], at: Stamp) -> Iterator[Event]:
        message: Message = {"role": "user", "content": _user_content(parts)}
        if any(part.get("type") == "compaction" for part in parts):
            self._asked = message
        elif message["content"]:
            yield self._say(message, at, line)

    def _reply(
        self, line: int, parts: list[dict[str, Any]], info: dict[str, Any], at: Stamp
    ) -> Iterator[Event]:
        tools = [part for part in parts if part.get("type") == "tool"]
        calls = [self._named(part, tools) for part in tools]
        text = _texts(parts)
        if not text and not calls:
            yield from self._stopped(line, info)
            return
        message: Message = {"role": "assistant", "content": text or None}
        if calls:
            message["tool_calls"] = [_call(name, part) for name, part in calls]
        yield self._say(message, at, line)
        yield from self._called(info)
        for name, part in calls:
            state = record(part.get("state"))
            yield self._say({"role": "tool", "tool_call_id": name, "content": _outcome(state)}, at, line)
            if record(state.get("time")).get("compacted"):
                yield Counted(Happened.CLEARED, line)
        yield from self._stopped(line, info)

    def _stopped(self, line: int, info: dict[str, Any]) -> Iterator[Event]:
        if record(info.get("error")).get("name") == "MessageAbortedError":
            yield Counted(Happened.INTERRUPTED, line)

    def _called(self, info: dict[str, Any]) -> Iterator[Event]:
        tokens = record(info.get("tokens"))
        cache = record(tokens.get("cache"))
        yield Opened(model=text_of(info.get("modelID")))
        call = Called(
            prefix=self._said - 1,
            produced=(self._said - 1,),
            input=count_of(tokens.get("input")),
            cache_read=count_of(cache.get("read")),
            cache_write=count_of(cache.get("write")),
            output=count_of(tokens.get("output")),
            reasoning=count_of(tokens.get("reasoning")),
        )
        if call.total_input:
            yield call

    def _compacted(
        self, line: int, parts: list[dict[str, Any]], info: dict[str, Any], at: Stamp
    ) -> Compacted:
        asked, self._asked = self._asked, None
        summary: Message = {"role": "assistant", "content": _texts(parts)}
        before = [] if asked is None else [{**asked, "content": asked["content"] or "What did we do so far?"}]
        tokens = record(info.get("tokens"))
        size = count_of(tokens.get("input")) + count_of(record(tokens.get("cache")).get("read"))
        return Compacted(
            insert=(*before, summary), kept_from=self._said, line=line, at=at, tokens_before=size or None
        )

    def _named(self, part: dict[str, Any], beside: list[dict[str, Any]]) -> tuple[str, dict[str, Any]]:
        """A call with an id; one that is masked, or like that of a call beside it, is numbered."""
        self._calls += 1
        name = text_of(part.get("callID"))
        alone = sum(one.get("callID") == name for one in beside) == 1
        return (name if name and alone and name != _MASKED else f"call_redacted_{self._calls}", part)

    def _say(self, message: Message, at: Stamp, line: int) -> Said:
        self._said += 1
        return Said(message, at, line)


def _user_content(parts: list[dict[str, Any]]) -> Any:
    files = [_file(part) for part in parts if part.get("type") == "file"]
    texts = _texts(parts)
    return [*([{"type": "text", "text": texts}] if texts else []), *files] if files else texts


def _texts(parts: list[dict[str, Any]]) -> str:
    return "\n".join(filter(None, map(_text, parts)))


def _text(part: dict[str, Any]) -> str:
    if part.get("type") == "text" and part.get("ignored") is not True:
        return text_of(part.get("text")) or ""
    return f"[subtask] {part.get('prompt')}" if part.get("type") == "subtask" else ""


def _file(part: dict[str, Any]) -> Message:
    url, kind = text_of(part.get("url")) or "", text_of(part.get("mime")) or ""
    if kind.startswith("image/"):
        return {"type": "image_url", "image_url": {"url": url}}
    return {"type": "text", "text": f"[file {text_of(part.get('filename')) or ''}]"}


def _call(name: str, part: dict[str, Any]) -> Message:
    given = record(part.get("state")).get("input")
    function = {
        "name": text_of(part.get("tool")) or "unknown",
        "arguments": json.dumps(given, ensure_ascii=False),
    }
    return {"id": name, "type": "function", "function": function}


def _outcome(state: dict[str, Any]) -> str:
    for key in ("output", "error"):
        if isinstance(state.get(key), str):
            return str(state[key])
    return f"[{state.get('status')}]"
