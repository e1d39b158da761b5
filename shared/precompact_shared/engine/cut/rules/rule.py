"""What a rule is."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from precompact_shared.engine.cut.stretch import Stretch


@dataclass(frozen=True, slots=True)
class Rule:
    """One reason why some places are no place to cut."""

    name: str
    forbids: Callable[[Stretch], Iterable[range]]
    """Ranges of positions where this rule allows no cut; together O(n) long."""
