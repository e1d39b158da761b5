"""Messages in order: in memory while they are few, else in a temporary file from which each is read when asked for."""

from __future__ import annotations

import json
import tempfile
from abc import ABC, abstractmethod
from array import array
from collections.abc import Iterator, Sequence
from typing import IO, overload

import msgspec

from precompact_shared.engine.types import Message

HELD_BYTES = 12 * 1024 * 1024
"""JSON of more than this goes to the file."""
_ON_FILE = None


class Cellar:
    """What the shelves of one log share: so much memory, and one file for the rest."""

    def __init__(self, held_bytes: int = HELD_BYTES) -> None:
        self._left = held_bytes
        self._opened: IO[bytes] | None = None
        self._end = 0

    def has_room(self, size: int) -> bool:
        """Whether so many bytes can stay in memory; if so they are taken."""
        if size > self._left:
            return False
        self._left -= size
        return True

    def free(self, size: int) -> None:
        """Gives memory back."""
        self._left += size

    def write(self, written: bytes) -> int:
        """Where in the file it went."""
        start, file = self._end, self._file()
        file.seek(start)
        file.write(written)
        self._end += len(written)
        return start

    def read(self, start: int, size: int) -> bytes:
        """What was written there."""
        file = self._file()
        file.seek(start)
        return file.read(size)

    def _file(self) -> IO[bytes]:
        if self._opened is None:
            self._opened = tempfile.TemporaryFile(prefix="precompact-log-")  # noqa: SIM115 - closed with the cellar
        return self._opened

    def __del__(self) -> None:
        if getattr(self, "_opened", None) is not None and self._opened is not None:
            self._opened.close()


class OnDemand(Sequence[Message], ABC):
    """Messages of which each is read when it is asked for."""

    @overload
    def __getitem__(self, place: int) -> Message: ...
    @overload
    def __getitem__(self, place: slice) -> list[Message]: ...
    def __getitem__(self, place: int | slice) -> Message | list[Message]:
        if isinstance(place, slice):
            return [self._read(one) for one in range(*place.indices(len(self)))]
        return self._read(range(len(self))[place])

    @property
    @abstractmethod
    def is_held(self) -> bool:
        """Whether all of them are in memory."""

    @abstractmethod
    def _read(self, place: int) -> Message:
        """The message at a place that there is."""


class Shelf(OnDemand):
    """A list that can be read and added to at its end; each look at a message on file makes a new copy of it."""

    def __init__(self, cellar: Cellar | None = None) -> None:
        self._cellar = cellar or Cellar()
        self._list: list[Message | None] = []
        self._sizes = array("q")
        self._starts = array("q")
        """Of those on file, else 0."""

    def __len__(self) -> int:
        return len(self._list)

    @property
    def is_held(self) -> bool:
        """Whether all of it is in memory."""
        return all(one is not _ON_FILE for one in self._list)

    def __iter__(self) -> Iterator[Message]:
        return (self._read(place) for place in range(len(self)))

    def append(self, message: Message) -> None:
        """Adds a message that `json` can write."""
        written = _written(message)
        is_held = self._cellar.has_room(len(written))
        self._starts.append(0 if is_held else self._cellar.write(written))
        self._sizes.append(len(written))
        self._list.append(message if is_held else _ON_FILE)

    def cut(self, length: int) -> None:
        """Drops what lies behind the first `length` messages."""
        gone = zip(self._list[length:], self._sizes[length:], strict=True)
        self._cellar.free(sum(size for message, size in gone if message is not _ON_FILE))
        del self._list[length:], self._sizes[length:], self._starts[length:]

    def _read(self, place: int) -> Message:
        held = self._list[place]
        if held is not None:
            return held
        return _parsed(self._cellar.read(self._starts[place], self._sizes[place]))


def _written(message: Message) -> bytes:
    try:
        return msgspec.json.encode(message)
    except (ValueError, OverflowError, RecursionError):  # halves of characters, numbers beyond 64 bits
        return json.dumps(message).encode()


def _parsed(written: bytes) -> Message:
    message: Message
    try:
        message = msgspec.json.decode(written)
    except (msgspec.DecodeError, RecursionError):
        message = json.loads(written)
    return message


class Stretch(OnDemand):
    """The messages of several lists in a row, each from one place up to another. Nothing is copied."""

    def __init__(self, *parts: tuple[Sequence[Message], int, int]) -> None:
        self._parts = parts

    @property
    def is_held(self) -> bool:
        """Whether all of those lists are in memory."""
        return all(is_held(whole) for whole, _, _ in self._parts)

    def __len__(self) -> int:
        return sum(stop - start for _, start, stop in self._parts)

    def __iter__(self) -> Iterator[Message]:
        return (whole[place] for whole, start, stop in self._parts for place in range(start, stop))

    def _read(self, place: int) -> Message:
        for whole, start, stop in self._parts:
            if place < stop - start:
                return whole[start + place]
            place -= stop - start
        raise IndexError(place)


def is_held(messages: Sequence[Message]) -> bool:
    """Whether all of them are in memory."""
    return messages.is_held if isinstance(messages, OnDemand) else True
