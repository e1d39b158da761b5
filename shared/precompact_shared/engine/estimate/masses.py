"""What one entry weighs by the rates of a model's family, in whole tokens."""

from __future__ import annotations

from operator import add, sub
from typing import TypeVar

import msgspec

from precompact_shared.engine.estimate.loads import Load


class Mass(msgspec.Struct, frozen=True, array_like=True):
    """Sums over entries, in the order in which the store packs them. Whole numbers: no order of adding matters."""

    text: int = 0
    thinking: int = 0
    structure: int = 0
    sealed_chars: int = 0
    sealed: int = 0
    thoughts: int = 0
    replies: int = 0

    def __add__(self, other: Mass) -> Mass:
        return Mass(*map(add, msgspec.structs.astuple(self), msgspec.structs.astuple(other)))

    def __sub__(self, other: Mass) -> Mass:
        return Mass(*map(sub, msgspec.structs.astuple(self), msgspec.structs.astuple(other)))


W = TypeVar("W", Load, Mass)
"""What entries are weighed in: by kind, or by the rates of a family."""
