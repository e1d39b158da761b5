"""Cache marks (`cache_control`) on a projected list: kept, stripped or placed, and always as the provider allows (A13).

At most four marks in the whole request, none on thinking or empty text, and none of one hour behind one of five minutes.
Marks on tools and system prompt are the caller's: they take slots and come first. Nothing given is changed in place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from precompact_shared.engine.types import Format, Message

MOST_MARKS = 4
MARK = "cache_control"
_UNMARKABLE = frozenset({"thinking", "redacted_thinking"})


class Marking(StrEnum):
    """What a policy wants with the marks."""

    KEEP = "keep"
    """Those that came with the messages, as far as they are allowed; of too many the last ones."""
    STRIP = "strip"
    PLACE = "place"
    """None of those that came; one behind what stays equal from request to request, one at the end."""


class Ttl(StrEnum):
    """How long a provider keeps what stands in front of a mark."""

    MINUTES_5 = "5m"
    HOUR = "1h"


@dataclass(frozen=True, slots=True)
class Outside:
    """Marks on tools and system prompt, which stand in front of all messages."""

    marks: int = 0
    shortest: Ttl = Ttl.HOUR
    """The shortest of their lives; what follows may not live longer."""


NOTHING_OUTSIDE = Outside()


def apply_marks(
    format: Format,  # noqa: A002 - the word of the design
    messages: Sequence[Message],
    marking: Marking,
    *,
    insert_length: int = 0,
    ttl: Ttl = Ttl.MINUTES_5,
    outside: Outside = NOTHING_OUTSIDE,
) -> list[Message]:
    """The list with its marks as wanted. `insert_length` messages of it stand in for what was compacted.

    Placed marks stand on the last part that may have one, of what was inserted and of the whole list; only Anthropic's
    format has them, for the others `place` strips. Applied twice it changes nothing more.
    """
    if marking is Marking.KEEP:
        return _lawful(format, messages, outside)
    bare = strip_marks(messages)
    if marking is Marking.STRIP or format is not Format.ANTHROPIC:
        return bare
    room = max(0, MOST_MARKS - outside.marks)
    mark = {"type": "ephemeral", "ttl": min(ttl, outside.shortest, key=_life).value}
    for index, part in _spots(bare, insert_length)[:room]:
        bare[index] = _marked(bare[index], part, mark)
    return bare


def strip_marks(messages: Iterable[Message]) -> list[Message]:
    """The same list without any mark, also inside results; messages without one are the same objects."""
    return [_walked(message, _unmarked) for message in messages]


def count_marks(messages: Iterable[Message]) -> int:
    """How many marks there are."""
    number = 0

    def look(owner: Message) -> Message:
        nonlocal number
        number += _is_marked(owner)
        return owner

    for message in messages:
        _walked(message, look)
    return number


def _lawful(wire: Format, messages: Sequence[Message], outside: Outside) -> list[Message]:
    """Marks in forbidden places go, then the first of those that are too many, then lives get in order."""
    allowed = [
        _walked(one, lambda owner: owner if _may_have_mark(wire, owner) else _unmarked(owner))
        for one in messages
    ]
    surplus = max(0, count_marks(allowed) - max(0, MOST_MARKS - outside.marks))
    life = outside.shortest

    def settle(owner: Message) -> Message:
        nonlocal surplus, life
        if not _is_marked(owner):
            return owner
        if surplus:
            surplus -= 1
            return _unmarked(owner)
        longest, life = life, min(life, _ttl_of(owner[MARK]), key=_life)
        return (
            owner if life is _ttl_of(owner[MARK]) else {**owner, MARK: {**owner[MARK], "ttl": longest.value}}
        )

    return [_walked(message, settle) for message in allowed]


def _walked(owner: Message, change: Callable[[Message], Message], levels: int = 2) -> Message:
    """The message with `change` done to all that can hold a mark: parts of parts first, the message last."""
    content = owner.get("content")
    if isinstance(content, list) and levels:
        parts = [_walked(part, change, levels - 1) if isinstance(part, dict) else part for part in content]
        if any(new is not old for new, old in zip(parts, content, strict=True)):
            owner = {**owner, "content": parts}
    return change(owner)


def _is_marked(owner: Message) -> bool:
    return owner.get(MARK) is not None


def _unmarked(owner: Message) -> Message:
    return {key: value for key, value in owner.items() if key != MARK} if MARK in owner else owner


def _may_have_mark(wire: Format, owner: Message) -> bool:
    if not isinstance(owner.get(MARK, {}), dict):
        return False
    if "role" in owner:
        return wire is not Format.ANTHROPIC
    if owner.get("type") in _UNMARKABLE:
        return False
    return owner.get("type") != "text" or bool(str(owner.get("text") or "").strip())


def _ttl_of(mark: Any) -> Ttl:
    return Ttl.HOUR if isinstance(mark, dict) and mark.get("ttl") == Ttl.HOUR else Ttl.MINUTES_5


def _life(ttl: Ttl) -> int:
    return list(Ttl).index(ttl)


def _spots(messages: Sequence[Message], insert_length: int) -> list[tuple[int, int]]:
    """Message and part of the two marks, the one at the end first: where there is room for one, it is that."""
    spans = (range(insert_length, len(messages)), range(min(insert_length, len(messages))))
    return [spot for span in spans if (spot := _last_spot(messages, span)) is not None]


def _last_spot(messages: Sequence[Message], span: range) -> tuple[int, int] | None:
    for index in reversed(span):
        parts = _parts(messages[index])
        for part in reversed(range(len(parts))):
            if _may_have_mark(Format.ANTHROPIC, parts[part]):
                return index, part
    return None


def _parts(message: Message) -> list[dict[str, Any]]:
    """The parts of Anthropic content; a string is one text part."""
    content = message.get("content")
    if isinstance(content, list):
        return content
    return [{"type": "text", "text": content}] if isinstance(content, str) else []


def _marked(message: Message, index: int, mark: Message) -> Message:
    parts = list(_parts(message))
    parts[index] = {**parts[index], MARK: mark}
    return {**message, "content": parts}
