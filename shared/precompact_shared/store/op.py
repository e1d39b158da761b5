"""Operations as values: what to send to Redis and how to read the answer. Executors (executor.py) run them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

import msgspec

T = TypeVar("T")
Argument = str | bytes | int | float


class Op(msgspec.Struct, Generic[T], frozen=True):
    """One round trip: a script by file name (`append` = lua/append.lua) or, with `script` None, a plain command."""

    script: str | None
    keys: tuple[str, ...]
    args: tuple[Argument, ...]
    decode: Callable[[Any], T]
