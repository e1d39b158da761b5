"""Which fields an object may have, written as a line: `name!` is required, `name?` may be null, `name` is optional."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from precompact_standin.refusal import Refusal, broken


@dataclass(frozen=True, slots=True)
class Shape:
    """The fields of one kind of object."""

    allowed: frozenset[str]
    required: tuple[str, ...]
    nullable: frozenset[str]

    def faults(self, value: Mapping[str, Any], path: str, rule: str) -> Refusal | None:
        """What is wrong with `value`: the first missing, unknown or null field, named by its path."""
        for name in self.required:
            if name not in value:
                return broken(rule, f"{_joined(path, name)}: Field required", param=_joined(path, name))
        for name, content in value.items():
            if name not in self.allowed:
                where = _joined(path, name)
                return broken(rule, f"{where}: Extra inputs are not permitted", param=where)
            if content is None and name not in self.nullable:
                where = _joined(path, name)
                return broken(rule, f"{where}: Input should not be null", param=where)
        return None


def shape(line: str, *more: str) -> Shape:
    """Read a line of fields; further lines are added to it."""
    marks = [field for part in (line, *more) for field in part.split()]
    names = [field.rstrip("!?") for field in marks]
    return Shape(
        frozenset(names),
        tuple(name for name, mark in zip(names, marks, strict=True) if "!" in mark),
        frozenset(name for name, mark in zip(names, marks, strict=True) if "?" in mark),
    )


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
