"""Cache marks: A13."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from precompact_shared.engine.types import Message
from precompact_shared.engine.validate.check import Check, Severity, Subject, inner_parts, parts_of
from precompact_shared.engine.validate.request import OUTSIDE

_SOURCE = "doc; headroomlabs-ai/headroom#2939, #2941"
_MOST_MARKS = 4
_LONG = "1h"
_UNMARKABLE = ("thinking", "redacted_thinking")


class _Mark(NamedTuple):
    at: int
    owner: Message
    value: dict[str, Any]

    @property
    def is_long(self) -> bool:
        return bool(self.value.get("ttl") == _LONG)


def _marks(subject: Subject) -> Iterator[_Mark]:
    """Every mark in the order of the prefix: tools, system, messages."""
    system = subject.request.system
    for owner in (*(subject.request.tools or ()), *(system if isinstance(system, tuple) else ())):
        yield from _marks_of(OUTSIDE, owner)
    for index, message in enumerate(subject.messages):
        for part in parts_of(message):
            for inner in inner_parts(part):
                yield from _marks_of(index, inner)
            yield from _marks_of(index, part)


def _marks_of(index: int, owner: Message) -> Iterator[_Mark]:
    value = owner.get("cache_control")
    if isinstance(value, dict):
        yield _Mark(index, owner, value)


def _too_many(subject: Subject) -> Iterable[int]:
    room = _MOST_MARKS - bool(subject.request.automatic_mark)
    return (mark.at for number, mark in enumerate(_marks(subject)) if number >= room)


def _on_what_cannot_be_marked(subject: Subject) -> Iterable[int]:
    return (mark.at for mark in _marks(subject) if _is_unmarkable(mark.owner))


def _is_unmarkable(owner: Message) -> bool:
    return owner.get("type") in _UNMARKABLE or (owner.get("type") == "text" and owner.get("text") == "")


def _long_behind_short(subject: Subject) -> Iterable[int]:
    short_seen = False
    for mark in _marks(subject):
        if mark.is_long and short_seen:
            yield mark.at
        short_seen = short_seen or not mark.is_long


CHECKS = (
    Check(
        "A13",
        Severity.ERROR,
        "4 `cache_control` marks at most, an automatic one included",
        _SOURCE,
        _too_many,
    ),
    Check("A13", Severity.ERROR, "no mark on empty text or on thinking", _SOURCE, _on_what_cannot_be_marked),
    Check(
        "A13",
        Severity.ERROR,
        "in the order tools, system, messages no mark of 1h follows one of 5m (no ttl = 5m)",
        _SOURCE,
        _long_behind_short,
    ),
)
"""Marks in tools and system count when the request's facts hold those."""
