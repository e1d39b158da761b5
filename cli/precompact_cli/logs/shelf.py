"""Messages in order: in memory while they are few, else in a temporary file from which each is read when asked for."""

from __future__ import annotations

import json
import tempfile
from array import array
from collections.abc import Iterator, Sequence
from typing import IO, overload

from precompact_shared.engine.types import Message

HELD_BYTES = 24 * 1024 * 1024
"""JSON of more than this goes to the file."""


class Shelf(Sequence[Message]):
    """A list that can be read and added to at its end; each look at a stored message makes a new copy of it."""

    def __init__(self, held_bytes: int = HELD_BYTES) -> None:
        self._held_bytes = held_bytes
        self._list: list[Message] = []
        self._file: IO[bytes] | None = None
        self._starts = array("q", [0])

    def __len__(self) -> int:
        return len(self._starts) - 1

    @overload
    def __getitem__(self, place: int) -> Message: ...
    @overload
    def __getitem__(self, place: slice) -> list[Message]: ...
    def __getitem__(self, place: int | slice) -> Message | list[Message]:
        if isinstance(place, slice):
            return [self._read(one) for one in range(*place.indices(len(self)))]
        return self._read(range(len(self))[place])

    def __iter__(self) -> Iterator[Message]:
        return (self._read(place) for place in range(len(self)))

    def append(self, message: Message) -> None:
        """Adds a message that `json` can write."""
        written = json.dumps(message).encode()
        self._starts.append(self._starts[-1] + len(written))
        if self._file is not None:
            self._file.seek(self._starts[-2])
            self._file.write(written)
            return
        self._list.append(message)
        if self._starts[-1] > self._held_bytes:
            self._move_out()

    def cut(self, length: int) -> None:
        """Drops what lies behind the first `length` messages."""
        del self._starts[max(0, length) + 1 :]
        del self._list[max(0, length) :]

    def _move_out(self) -> None:
        self._file = tempfile.TemporaryFile(prefix="precompact-log-")  # noqa: SIM115 - closed with the shelf
        for message in self._list:
            self._file.write(json.dumps(message).encode())
        self._list = []

    def _read(self, place: int) -> Message:
        if self._file is None:
            return self._list[place]
        start, end = self._starts[place], self._starts[place + 1]
        self._file.seek(start)
        message: Message = json.loads(self._file.read(end - start))
        return message

    def __del__(self) -> None:
        if getattr(self, "_file", None) is not None and self._file is not None:
            self._file.close()
