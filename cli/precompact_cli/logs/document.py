"""One JSON object with a long list in it, read item by item: never more in memory than the largest of them."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

from precompact_cli.logs.events import Damaged, Head
from precompact_cli.logs.lines import CUT_SHORT, parse_json

CHUNK_BYTES = 256 * 1024
_STEP = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|["{}\[\]]', re.DOTALL)
"""A whole string, a bracket, or the quote of a string that does not end here."""
_WITHIN = re.compile(rb'"|\\.?', re.DOTALL)
"""In a string: its end, or an escaped byte, if that has been read."""
_OUTSIDE = re.compile(rb'["{}\[\]]')
_NEAR_BYTES = 1024 * 1024
"""A value larger than this is measured first, so that it is never held in pieces."""
_BLANK = b" \t\r\n"
_SCALAR_END = re.compile(rb"[,\]}\s]")


@dataclass(frozen=True, slots=True)
class Found:
    """A value of the object: `key`, and with `item` one element of the list that stands there. `line` from 1."""

    key: str
    value: Any
    line: int
    is_item: bool


class _Large(Exception):
    """The value is to be measured before it is read."""


class _Broken(Exception):
    """The text is no JSON from here on."""


def read_document(stream: BinaryIO, *list_keys: str) -> Iterator[Found | Damaged]:
    """The object's values in order, the lists at `list_keys` element by element.

    An element that is balanced but wrong is damage and passed over; where the structure itself breaks, or the
    file ends early, the rest is given up: one Damaged at the end says so.
    """
    source = _Source(stream)
    yield from _told(source, _members(source, frozenset(list_keys)))


def read_list(stream: BinaryIO) -> Iterator[Found | Damaged]:
    """The elements of a file that is one list, likewise; their key is empty."""
    source = _Source(stream)
    yield from _told(source, _items(source, ""))


def _told(source: _Source, found: Iterator[Found | Damaged]) -> Iterator[Found | Damaged]:
    try:
        yield from found
    except (_Broken, EOFError) as error:
        why = CUT_SHORT if isinstance(error, EOFError) else "no JSON from here on"
        yield Damaged(source.line, why)


def document_head(head: Head, *list_keys: str) -> Iterator[Found]:
    """The values of a document whose lists stand there, by default at `messages`, as far as its head goes."""
    read = read_document(io.BytesIO(head.raw), *(list_keys or ("messages",)))
    return (one for one in read if isinstance(one, Found))


def _members(source: _Source, list_keys: frozenset[str]) -> Iterator[Found | Damaged]:
    source.expect(b"{")
    while source.peek() != b"}":
        line, key = source.line, _parsed(source.value())
        source.expect(b":")
        if not isinstance(key, str):
            raise _Broken
        if key in list_keys and source.peek() == b"[":
            yield from _items(source, key)
        else:
            value = _parsed(source.value())
            unreadable = isinstance(value, _Unreadable)
            yield Damaged(line, "no JSON") if unreadable else Found(key, value, line, is_item=False)
        if source.peek() == b",":
            source.expect(b",")


def _items(source: _Source, key: str) -> Iterator[Found | Damaged]:
    source.expect(b"[")
    while source.peek() != b"]":
        line = source.line
        value = _parsed(source.value())
        if isinstance(value, _Unreadable):
            yield Damaged(line, "no JSON")
        else:
            yield Found(key, value, line, is_item=True)
        if source.peek() == b",":
            source.expect(b",")
    source.expect(b"]")


class _Unreadable:
    """A value that cannot be parsed."""


def _parsed(raw: bytes) -> Any:
    try:
        return parse_json(raw)
    except (ValueError, RecursionError):
        return _Unreadable()


class _Source:
    """Bytes as they are needed; `line` is where the next one stands."""

    def __init__(self, stream: BinaryIO) -> None:
        stream.seek(0)
        self._stream = stream
        self._held = b""
        self._at = 0
        self._offset = 3
        """Where in the stream the held bytes begin."""
        self.line = 1
        if stream.read(3) != b"\xef\xbb\xbf":
            self._offset = stream.seek(0)

    def peek(self) -> bytes:
        """The next byte that is not blank. EOFError at the end."""
        while True:
            while self._at < len(self._held):
                byte = self._held[self._at : self._at + 1]
                if byte not in _BLANK:
                    return byte
                self.line += byte == b"\n"
                self._at += 1
            self._more()

    def expect(self, wanted: bytes) -> None:
        """Steps over this byte."""
        if self.peek() != wanted:
            raise _Broken
        self._at += 1

    def value(self) -> bytes:
        """The bytes of the value that comes next, balanced; whether they are JSON is another question."""
        first = self.peek()
        try:
            end = (
                self._string_end()
                if first == b'"'
                else self._nested_end()
                if first in b"{["
                else self._scalar_end()
            )
        except _Large:
            found = self._large_value()
        else:
            found, self._at = self._held[self._at : end], end
        self.line += found.count(b"\n")
        return found

    def _large_value(self) -> bytes:
        start, self._held = self._offset + self._at, b""
        self._stream.seek(start)
        size = _measure(self._stream)
        self._stream.seek(start)
        self._offset, self._at = start + size, 0
        return self._stream.read(size)

    def _string_end(self) -> int:
        while (match := _STEP.match(self._held, self._at)) is None or match[0] == b'"':
            self._more_of_it()
        return match.end()

    def _nested_end(self) -> int:
        depth, place = 0, self._at
        while True:
            match = _STEP.search(self._held, place)
            if match is None or match[0] == b'"':
                place = match.start() if match else len(self._held)
                place -= self._more_of_it()
                continue
            place = match.end()
            depth += (match[0] in b"{[") - (match[0] in b"}]")
            if not depth:
                return place

    def _scalar_end(self) -> int:
        while (match := _SCALAR_END.search(self._held, self._at)) is None:
            self._more()
        if match.start() == self._at:
            raise _Broken
        return match.start()

    def _more_of_it(self) -> int:
        if len(self._held) - self._at > _NEAR_BYTES:
            raise _Large
        return self._more()

    def _more(self) -> int:
        """Reads on, twice as much each time a value will not end; drops what is behind, and says how much."""
        new = self._stream.read(max(CHUNK_BYTES, len(self._held) - self._at))
        if not new:
            raise EOFError
        dropped, self._held, self._at = self._at, self._held[self._at :] + new, 0
        self._offset += dropped
        return dropped


def _measure(stream: BinaryIO) -> int:
    """Bytes of the string, list or object that begins here, to where its brackets are even. EOFError at the end."""
    depth, is_text, is_escaped, before = 0, False, False, 0
    while chunk := stream.read(CHUNK_BYTES):
        place, is_escaped = int(is_escaped), False
        while (match := (_WITHIN if is_text else _OUTSIDE).search(chunk, place)) is not None:
            place, byte = match.end(), match[0]
            is_escaped = byte == b"\\"  # its last byte: what is escaped comes with the next
            is_text ^= byte == b'"'
            depth += (byte in b"{[") - (byte in b"}]")
            if not (depth or is_text) and not is_escaped:
                return before + place
        before += len(chunk)
    raise EOFError
