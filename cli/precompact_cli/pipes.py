"""What comes through a pipe can be read once and not from its start; a copy of it can."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from precompact_cli.exits import InputRefused

STDIN = Path("-")


def is_piped(path: Path) -> bool:
    """Whether it can be read once and no more."""
    return path == STDIN or path.is_fifo()


@contextmanager
def seekable(path: Path) -> Iterator[Path]:
    """The path itself, or for `-` and other pipes that of a copy named `stdin`, which goes when the block ends.

    Raises OSError, and InputRefused for a terminal and other devices, which have no end.
    """
    if path != STDIN and path.is_char_device():
        raise InputRefused("The path is a device; name a file, or pipe a log in and name it `-`.")
    if path == STDIN and sys.stdin.isatty():
        raise InputRefused("Nothing is piped in; name a file, or pipe a log in.")
    if path == STDIN:
        with _copied(sys.stdin.buffer) as copy:
            yield copy
    elif path.is_fifo():
        with path.open("rb") as stream, _copied(stream) as copy:
            yield copy
    else:
        yield path


@contextmanager
def _copied(stream: BinaryIO) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="precompact-") as folder:
        copy = Path(folder, "stdin")
        with copy.open("wb") as out:
            shutil.copyfileobj(stream, out)
        yield copy
