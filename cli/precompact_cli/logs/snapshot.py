"""A log that may grow while it is read, as long as it was when it was opened."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_BUFFER_BYTES = 256 * 1024


def open_snapshot(path: Path) -> BinaryIO:
    """The file for reading, twice if need be: both passes end where it ended now. Raises OSError."""
    return io.BufferedReader(_Snapshot(path), _BUFFER_BYTES)


class _Snapshot(io.RawIOBase):
    def __init__(self, path: Path) -> None:
        self._file = io.FileIO(path)
        self._end = os.fstat(self._file.fileno()).st_size

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        if whence == os.SEEK_END:
            return self._file.seek(self._end + offset)
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def readinto(self, buffer: WriteableBuffer) -> int:
        view = memoryview(buffer)
        left = max(0, self._end - self._file.tell())
        return self._file.readinto(view[:left]) or 0

    def close(self) -> None:
        self._file.close()
        super().close()
