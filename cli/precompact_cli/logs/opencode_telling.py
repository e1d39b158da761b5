"""OpenCode's messages, each `{info, parts}`, as events: what it sends to a model, and what it did to its context."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from precompact_cli.logs.chat_media import shown_by_tools
from precompact_cli.logs.events import (
    Called,
    Compacted,
    Counted,
    Damaged,
    Event,
    Happened,
    Opened,
    Rewound,
    Said,
    Skipped,
    Stamp,
)
from precompact_cli.logs.lines import listed, record, stamp_of, text_of, tokens_of
from precompact_cli.logs.opencode_parts import call_of, images_of, is_sent, outcome_of, texts_of, user_content
from precompact_shared.engine.types import Message

_SEEN = frozenset({"text", "tool", "subtask", "file", "compaction"})
"""Parts that a model sees; reasoning, steps, patches and snapshots are OpenCode's own."""
_MASKED = "REDACTED"
"""What stands in place of an id in logs that were cleaned of secrets."""
_ROLES = frozenset({"user", "assistant", "system", "checkpoint", "stopped"})


def opened(info: dict[str, Any], name: str | None, thread: str = "") -> Opened:
    """What a session's `info` says of it."""
    return Opened(text_of(info.get("title")) or name, thread=thread)


class Telling:
    """One session, message by message, in order; `line` is where in its log a message stands."""

    def __init__(self, thread: str = "") -> None:
        self._thread = thread
        self._said = 0
        self._calls = 0
        self._asked: tuple[Message, str | None] | None = None
        """The user's side of a compaction whose summary comes next, and the first message it keeps."""
        self._places: dict[str, int] = {}
        """Of each message the place it begins at."""
        self._line = 0
        self._was_stopped = False
        """Whether the reply since the user last spoke said that it was stopped."""

    def message(self, line: int, told: dict[str, Any]) -> Iterator[Event]:
        """One message. Besides user and assistant, `system`, `checkpoint` (a finished compaction) and `stopped` are roles."""
        self._line = line
        info = record(told.get("info"))
        parts = [record(one) for one in listed(told.get("parts"))]
        role = text_of(info.get("role"))
        if role not in _ROLES:
            yield Damaged(line, "a message without a role")
            return
        if (name := text_of(info.get("id"))) is not None and name != _MASKED:
            self._places.setdefault(name, self._said)
        yield from _skipped(parts)
        at = stamp_of(record(info.get("time")).get("created"))
        if role == "user":
            self._was_stopped = False
            yield from self._user(line, parts, at)
        elif role == "stopped":
            yield from () if self._was_stopped else (Counted(Happened.INTERRUPTED, line),)
        elif role == "system":
            yield self._say({"role": "system", "content": texts_of(parts)}, at, line)
        elif role == "checkpoint":
            yield self._compacted(line, ({"role": "user", "content": texts_of(parts)},), None, info, at)
        elif info.get("summary") is True:
            yield self._summarised(line, parts, info, at)
        else:
            yield from self._reply(line, parts, info, at)

    def revert(self, told: dict[str, Any]) -> Iterator[Event]:
        """The messages that the user took back last; OpenCode deletes them only when a new prompt comes."""
        place = self._places.get(text_of(told.get("messageID")) or "")
        if place is not None and place < self._said:
            self._said = place
            yield Rewound(place, self._line, self._thread)

    def _user(self, line: int, parts: list[dict[str, Any]], at: Stamp) -> Iterator[Event]:
        message: Message = {"role": "user", "content": user_content(parts)}
        asked = next((part for part in parts if part.get("type") == "compaction"), None)
        if asked is not None:
            self._asked = message, text_of(asked.get("tail_start_id"))
        elif message["content"]:
            yield self._say(message, at, line)

    def _reply(
        self, line: int, parts: list[dict[str, Any]], info: dict[str, Any], at: Stamp
    ) -> Iterator[Event]:
        tools = [part for part in parts if part.get("type") == "tool"]
        calls = [self._named(part, tools) for part in tools]
        text = texts_of(parts)
        if not is_sent(info) or not (text or calls):
            yield from self._stopped(line, info)
            return
        message: Message = {"role": "assistant", "content": text or None}
        if calls:
            message["tool_calls"] = [call_of(name, part) for name, part in calls]
        yield self._say(message, at, line)
        yield from self._called(info)
        for name, part in calls:
            state = record(part.get("state"))
            yield self._say({"role": "tool", "tool_call_id": name, "content": outcome_of(state)}, at, line)
            if record(state.get("time")).get("compacted"):
                yield Counted(Happened.CLEARED, line)
        shown = [image for _, part in calls for image in images_of(record(part.get("state")))]
        yield from (self._say(message, at, line) for message in shown_by_tools(shown))
        yield from self._stopped(line, info)

    def _stopped(self, line: int, info: dict[str, Any]) -> Iterator[Event]:
        if record(info.get("error")).get("name") == "MessageAbortedError":
            self._was_stopped = True
            yield Counted(Happened.INTERRUPTED, line)

    def _called(self, info: dict[str, Any]) -> Iterator[Event]:
        tokens = record(info.get("tokens"))
        cache = record(tokens.get("cache"))
        yield Opened(model=text_of(info.get("modelID")), thread=self._thread)
        call = Called(
            prefix=self._said - 1,
            produced=(self._said - 1,),
            input=tokens_of(tokens.get("input")),
            cache_read=tokens_of(cache.get("read")),
            cache_write=tokens_of(cache.get("write")),
            output=tokens_of(tokens.get("output")),
            reasoning=tokens_of(tokens.get("reasoning")),
            thread=self._thread,
        )
        if call.total_input:
            yield call

    def _summarised(
        self, line: int, parts: list[dict[str, Any]], info: dict[str, Any], at: Stamp
    ) -> Compacted:
        asked, self._asked = self._asked, None
        summary: Message = {"role": "assistant", "content": texts_of(parts)}
        if asked is None:
            return self._compacted(line, (summary,), None, info, at)
        before = {**asked[0], "content": asked[0]["content"] or "What did we do so far?"}
        return self._compacted(line, (before, summary), asked[1], info, at)

    def _compacted(
        self, line: int, insert: tuple[Message, ...], tail: str | None, info: dict[str, Any], at: Stamp
    ) -> Compacted:
        tokens = record(info.get("tokens"))
        size = tokens_of(tokens.get("input")) + tokens_of(record(tokens.get("cache")).get("read"))
        return Compacted(
            insert=insert,
            kept_from=self._places.get(tail or "", self._said),
            line=line,
            at=at,
            trigger=text_of(info.get("reason")),
            tokens_before=size or None,
            thread=self._thread,
        )

    def _named(self, part: dict[str, Any], beside: list[dict[str, Any]]) -> tuple[str, dict[str, Any]]:
        """A call with an id; one that is masked, or like that of a call beside it, is numbered."""
        self._calls += 1
        name = text_of(part.get("callID"))
        alone = sum(one.get("callID") == name for one in beside) == 1
        return (name if name and alone and name != _MASKED else f"call_redacted_{self._calls}", part)

    def _say(self, message: Message, at: Stamp, line: int) -> Said:
        self._said += 1
        return Said(message, at, line, self._thread)


def _skipped(parts: list[dict[str, Any]]) -> Iterator[Skipped]:
    kinds = Counter(str(part.get("type"))[:60] for part in parts if text_of(part.get("type")) not in _SEEN)
    return (Skipped(f"part {kind}") for kind, count in kinds.items() for _ in range(count))
