"""Which messages of a Gemini CLI chat are known already, and what a list in their place changes."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from precompact_cli.logs.gemini_messages import own_result
from precompact_cli.logs.lines import listed, record


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What a list in place of all messages means. One of `goes_on` and `shortened_to`, or else it is a compaction."""

    goes_on: bool
    """It begins with all that was known; `new` come behind."""
    shortened_to: str | None
    """It ends in front of this message and holds nothing new."""
    new: list[dict[str, Any]]
    kept: tuple[str, ...]
    """Of a compaction: the newest messages, as they were known; `new` stand in front of them."""
    kept_from: int | None
    cleared: int
    """Results that are others now."""


class Known:
    """Ids in order, each with the place its message begins at; of each result a hash."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}
        self._results: dict[str, int] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._places

    def add(self, told: dict[str, Any], place: int) -> None:
        """The next message."""
        self._places[str(told.get("id"))] = place
        self._results.update(_results(told))

    def has_results(self, calls: Iterable[str]) -> bool:
        """Whether all these calls have been answered."""
        return all(call in self._results for call in calls)

    def take_back(self, name: str) -> int:
        """Forgets a message and all behind it, everything if it is unknown; the place where it began."""
        names = list(self._places)
        gone = names[names.index(name) :] if name in self._places else names
        place = self._places.get(name, 0)
        for one in gone:
            del self._places[one]
        return place

    def compare(self, talk: list[dict[str, Any]]) -> Change:
        """What these messages in place of all mean."""
        had, names = list(self._places), [str(one.get("id")) for one in talk]
        same = _alike(had, names)
        rest = min(len(had), len(names)) - same
        tail = 0 if same == len(had) else min(rest, _alike(had[::-1], names[::-1]))
        kept = tuple(names[len(names) - tail :])
        return Change(
            goes_on=same == len(had),
            shortened_to=had[same] if 0 < same == len(names) < len(had) else None,
            new=talk[same:] if same == len(had) else talk[: len(talk) - tail],
            kept=kept,
            kept_from=self._places[kept[0]] if kept else None,
            cleared=sum(self._changed(one) for one in talk[:same]),
        )

    def replace(self, change: Change, kept_from: int) -> None:
        """A compaction's list is what is known from now on; what it inserted begins where it kept on."""
        kept = {name: self._places[name] for name in change.kept}
        self._places = {str(one.get("id")): kept_from for one in change.new} | kept
        for one in change.new:
            self._results.update(_results(one))

    def _changed(self, told: dict[str, Any]) -> int:
        found = _results(told)
        changed = sum(self._results.get(call, new) != new for call, new in found.items())
        self._results.update(found)
        return changed


def _alike(had: list[str], names: list[str]) -> int:
    """How many of them are the same from the start on."""
    pairs = enumerate(zip(had, names, strict=False))
    return next((at for at, (one, other) in pairs if one != other), min(len(had), len(names)))


def _results(told: dict[str, Any]) -> dict[str, int]:
    calls = [record(one) for one in listed(told.get("toolCalls"))]
    return {str(call.get("id")): hash(json.dumps(own_result(call))) for call in calls if "result" in call}
