"""What a log tells, line by line, and what a reader promises."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, BinaryIO, Protocol

from precompact_shared.engine.types import Format, Message

Stamp = str | int | float | None
"""A time as recorded: ISO text, or seconds or milliseconds since 1970."""


class Happened(StrEnum):
    """Things that are counted."""

    INTERRUPTED = "interrupted"
    """The user stopped a turn."""
    QUEUED = "queued"
    """A prompt was put aside while a turn ran."""
    CLEARED = "cleared"
    """The tool has since taken this result out of its context."""


@dataclass(frozen=True, slots=True)
class Said:
    """The next message of a thread. Its place is the number of those said in that thread before it."""

    message: Message
    at: Stamp
    line: int
    thread: str = ""
    """Empty for the main thread; a name of the log's own for a sub-agent's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Called:
    """A call of the model: it saw the places below `prefix` and produced those listed. Sizes in tokens, as recorded."""

    prefix: int
    produced: tuple[int, ...]
    input: int
    """Neither read from the cache nor written to it."""
    cache_read: int = 0
    cache_write: int = 0
    output: int = 0
    reasoning: int | None = None
    """Of the output; None where the log does not say."""
    thread: str = ""
    model: str | None = None
    """The thread's at the time: what the log had last said of it."""

    @property
    def total_input(self) -> int:
        """The whole prompt."""
        return self.input + self.cache_read + self.cache_write


@dataclass(frozen=True, slots=True, kw_only=True)
class Compacted:
    """The tool replaced what came before by `insert`, and kept the places from `kept_from` on."""

    insert: tuple[Message, ...]
    kept_from: int
    line: int
    at: Stamp = None
    trigger: str | None = None
    tokens_before: int | None = None
    thread: str = ""


@dataclass(frozen=True, slots=True)
class Rewound:
    """The places from `to` on were taken back; what is said next takes their place."""

    to: int
    line: int
    thread: str = ""


@dataclass(frozen=True, slots=True)
class Left:
    """A branch beside the live one: it leaves at place `at` and holds so many messages."""

    at: int
    messages: int
    line: int


@dataclass(frozen=True, slots=True)
class Opened:
    """What the log says of the session as a whole; None: nothing new."""

    name: str | None = None
    model: str | None = None
    system: Any = None
    tools: Any = None
    thread: str = ""


@dataclass(frozen=True, slots=True)
class Counted:
    """Something worth counting."""

    what: Happened
    line: int


@dataclass(frozen=True, slots=True)
class Skipped:
    """A line that holds nothing a model sees, by its type."""

    kind: str


@dataclass(frozen=True, slots=True)
class Damaged:
    """A line that cannot be read, counted from 1, and why. Never any of its text."""

    line: int
    why: str


Event = Said | Called | Compacted | Rewound | Left | Opened | Counted | Skipped | Damaged


@dataclass(frozen=True, slots=True)
class Head:
    """A log's beginning: its first bytes, and those of its first lines that are whole JSON objects."""

    raw: bytes
    objects: tuple[Mapping[str, Any], ...]


class Reader(Protocol):
    """Reads the logs of one tool."""

    @property
    def tool(self) -> str:
        """The tool's name."""

    @property
    def format(self) -> Format:
        """The wire format its messages are turned into."""

    def recognise(self, head: Head) -> bool:
        """Whether a log that begins like this is one of this tool; by content alone."""

    def read(self, stream: BinaryIO) -> Iterator[Event]:
        """The log's events in order. `stream` can be read again from its start; damage is told, never raised."""
