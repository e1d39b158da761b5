"""A file of JSON objects, one a line, read without holding more than one of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, BinaryIO

import msgspec

from precompact_cli.logs.events import Damaged, Head

HEAD_BYTES = 4 * 1024 * 1024
HEAD_LINES = 64
"""A log is recognised by so much of it: enough to get past some damaged lines."""

_NEAR_BYTES = 1024 * 1024
"""A line up to this size is read at once."""
_BLANK = b" \t\r\n\0\xef\xbb\xbf"
_BLANK_BYTES = 64
"""Where these are not blank, the line is not."""
_SKIPPED_BYTES = 64 * 1024
"""Read at a time of a line that is passed over."""
CUT_SHORT = "the file ends in the middle"
"""Why a last line is none: somebody still writes it, or stopped."""

MOST_TOKENS = 100_000_000
"""No prompt is larger; what claims to be was counted by nobody."""

Line = tuple[int, dict[str, Any]]


def read_objects(stream: BinaryIO) -> Iterator[Line | Damaged]:
    """Each line's number, from 1, with its object; what is none is damaged. Blank lines are passed over."""
    stream.seek(0)
    number = 0
    while raw := _read_line(stream):
        number += 1
        is_whole = raw.endswith(b"\n")
        found = parse_object(raw) if raw[:_BLANK_BYTES].strip(_BLANK) or raw.strip(_BLANK) else None
        del raw  # a large line would be there twice
        if isinstance(found, str):
            yield Damaged(number, found if is_whole else CUT_SHORT)
        elif found is not None:
            yield number, found
            del found


def _read_line(stream: BinaryIO) -> bytes:
    """The next line with its end; a large one is measured first, so that it is never held in pieces."""
    line = stream.readline(_NEAR_BYTES)
    if len(line) < _NEAR_BYTES or line.endswith(b"\n"):
        return line
    start, size = stream.tell() - len(line), len(line)
    while chunk := stream.readline(_SKIPPED_BYTES):
        size += len(chunk)
        if chunk.endswith(b"\n"):
            break
    stream.seek(start)
    return stream.read(size)


def read_head(stream: BinaryIO) -> Head:
    """The beginning of a log, whatever it is; where its first line is larger than that, the lines behind it too."""
    stream.seek(0)
    raw = stream.read(HEAD_BYTES)
    told = raw if len(raw) < HEAD_BYTES or b"\n" in raw.strip() else _behind_line(stream)
    parsed = (parse_object(line) for line in told.split(b"\n", HEAD_LINES)[:HEAD_LINES])
    return Head(raw, tuple(one for one in parsed if isinstance(one, dict)))


def _behind_line(stream: BinaryIO) -> bytes:
    """What follows the line that is being read, without ever holding it."""
    while chunk := stream.read(_SKIPPED_BYTES):
        _, end, rest = chunk.partition(b"\n")
        if end:
            return rest + stream.read(HEAD_BYTES)
    return b""


def parse_object(raw: bytes) -> dict[str, Any] | str:
    """The object in these bytes, or why there is none."""
    try:
        found = parse_json(raw)
    except UnicodeDecodeError:
        return "no UTF-8 text"
    except ValueError:
        return "no JSON"
    except RecursionError:
        return "nested too deep"
    return found if isinstance(found, dict) else "no JSON object"


def parse_json(raw: bytes) -> Any:
    """The value in these bytes. Raises ValueError and RecursionError. A large one is not copied on the way."""
    if len(raw) > _NEAR_BYTES:
        try:
            return msgspec.json.decode(raw)
        except (msgspec.DecodeError, RecursionError):
            pass  # `json` takes more, and knows what is wrong
    return json.loads(raw.decode("utf-8-sig"))


def record(value: Any) -> dict[str, Any]:
    """The value where it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def listed(value: Any) -> list[Any]:
    """The value where it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def text_of(value: Any) -> str | None:
    """The value where it is text, else None."""
    return value if isinstance(value, str) else None


def count_of(value: Any) -> int:
    """The value where it is a count, else 0."""
    return value if type(value) is int and value > 0 else 0


def tokens_of(value: Any) -> int:
    """The value where it can be a size in tokens, else 0."""
    return count if (count := count_of(value)) <= MOST_TOKENS else 0


def stamp_of(value: Any) -> str | int | float | None:
    """The value where it can be a time, else None."""
    return value if isinstance(value, str | int | float) and not isinstance(value, bool) else None
