"""The engine's small values: what an entry is, what is known of it, and what an edit does to it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import msgspec

Message = dict[str, Any]
"""One message or item as the caller sent it, parsed from JSON."""


class Format(StrEnum):
    """The wire formats. A session has one for life."""

    ANTHROPIC = "anthropic"
    OPENAI_CHAT = "openai-chat"
    OPENAI_RESPONSES = "openai-responses"


class Role(StrEnum):
    """Who an entry speaks for."""

    SYSTEM = "system"
    """System or developer text."""
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"
    """An entry that holds nothing but results of calls."""
    OTHER = "other"
    """An item type this version does not know: kept untouched, stays with its neighbours."""


class Call(msgspec.Struct, frozen=True):
    """A request to run a tool. Ids repeat across turns in real data: pair by position."""

    id: str
    kind: str
    name: str
    arguments: str
    """JSON text for function calls, raw text for custom ones."""


class Result(msgspec.Struct, frozen=True):
    """The answer to a call. `part` is its index in the entry's content, None when the whole entry is the result."""

    id: str
    kind: str
    part: int | None
    is_error: bool


class Facts(msgspec.Struct, frozen=True):
    """What the engine knows of one entry without looking at its neighbours."""

    role: Role
    calls: tuple[Call, ...] = ()
    results: tuple[Result, ...] = ()
    user_turn: bool = False
    """A genuine user message: it holds more than results."""
    thinking: tuple[int, ...] = ()
    """Indexes of thinking and redacted_thinking parts."""
    reasoning: bool = False
    """A Responses reasoning item."""
    blank: bool = False
    """Nothing a model could read: no parts, or blank text alone."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a history with its place (`seq`, from 0) and its estimated size in tokens."""

    seq: int
    message: Message
    tokens: int
    pinned: bool = False


@dataclass(frozen=True, slots=True)
class Edit:
    """A change to one kept entry in the projection, in history coordinates; history itself is untouched.

    Three forms: `part` given = that part becomes `value` (None removes it); no `part` and no `after` = the whole
    message becomes `value` (None leaves it out); `after` given = these messages stand right behind the entry.
    Part indexes are those of the entry as sent.
    """

    seq: int
    part: int | None = None
    value: Any = None
    after: tuple[Message, ...] = ()
