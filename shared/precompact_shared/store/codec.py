"""How bodies lie in Redis: as the caller sent them, above 1 KB compressed. One codec byte in front."""

from __future__ import annotations

import zlib

COMPRESS_ABOVE_BYTES = 1024
_RAW, _ZLIB = b"r", b"z"


def encode(body: bytes) -> bytes:
    """The stored form; compressed only when that is smaller."""
    if len(body) > COMPRESS_ABOVE_BYTES:
        packed = zlib.compress(body, 1)
        if len(packed) < len(body):
            return _ZLIB + packed
    return _RAW + body


def decode(stored: bytes) -> bytes:
    """The bytes as sent."""
    return zlib.decompress(stored[1:]) if stored[:1] == _ZLIB else stored[1:]
