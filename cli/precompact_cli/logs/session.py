"""A session as its log tells it: history, calls, and what the tool itself did to its context."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from precompact_cli.logs.events import Called, Damaged, Happened, Stamp
from precompact_cli.logs.shelf import Stretch
from precompact_shared.engine.types import Format, Message


@dataclass(frozen=True, slots=True, kw_only=True)
class Boundary:
    """A compaction the tool made: behind it the context was `insert` and the history from `kept_from` on."""

    at: int
    """Length of the history when it happened."""
    kept_from: int
    insert: Sequence[Message]
    line: int
    stamp: Stamp = None
    trigger: str | None = None
    tokens_before: int | None = None
    """As the tool recorded it."""


@dataclass(frozen=True, slots=True)
class Branch:
    """Messages that are no longer part of the session: they left it at place `at`."""

    at: int
    messages: int
    line: int


@dataclass(frozen=True, slots=True)
class View:
    """A context the tool sent: messages with their times, and the calls that saw them, in the view's own places."""

    messages: Sequence[Message]
    stamps: Sequence[Stamp]
    calls: tuple[Called, ...]
    measured_from: int = 0
    compacted_at: tuple[int, ...] = ()
    """Places at which the tool compacted, though the view goes on with all that was said. What calls before `measured_from`
    and behind the first of these reported was measured on another context than this."""

    def is_measured(self, call: Called) -> bool:
        """Whether this call's sizes are those of the view."""
        return _place(call) >= self.measured_from and not self.epoch(call)

    def epoch(self, call: Called) -> int:
        """How many of the tool's compactions this call lies behind."""
        return sum(at <= _place(call) for at in self.compacted_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One thread of a log. Places count from 0 in `messages`; compactions change nothing in it."""

    tool: str
    format: Format
    name: str | None
    model: str | None
    system: Any
    tools: Any
    messages: Sequence[Message]
    stamps: Sequence[Stamp]
    calls: tuple[Called, ...]
    boundaries: tuple[Boundary, ...] = ()
    branches: tuple[Branch, ...] = ()
    sidechains: tuple[Session, ...] = ()
    counts: dict[Happened, int] = field(default_factory=dict)
    skipped: dict[str, int] = field(default_factory=dict)
    """Lines by type that hold nothing a model sees."""
    damage: tuple[Damaged, ...] = ()
    """The first of them, see `damaged`."""
    damaged: int = 0
    """Lines that could not be read."""
    kept_as: str | None = None
    """Its id, where it is one of many that are kept together."""

    def history(self) -> View:
        """All that was said."""
        return View(
            self.messages, self.stamps, self.calls, compacted_at=tuple(one.at for one in self.boundaries)
        )

    def before(self) -> View:
        """The context up to the first boundary; all of it where there is none."""
        if not self.boundaries:
            return self.history()
        end = self.boundaries[0].at
        calls = tuple(call for call in self.calls if max((call.prefix - 1, *call.produced)) < end)
        return View(Stretch((self.messages, 0, end)), self.stamps[:end], calls)

    def after(self) -> View:
        """The context behind the last boundary: what it inserted, what it kept and what followed."""
        if not self.boundaries:
            return self.before()
        last = self.boundaries[-1]
        shift = len(last.insert) - last.kept_from
        return View(
            Stretch((last.insert, 0, len(last.insert)), (self.messages, last.kept_from, len(self.messages))),
            [*(last.stamp for _ in last.insert), *self.stamps[last.kept_from :]],
            tuple(_moved(call, shift) for call in self.calls if call.prefix >= last.kept_from),
            measured_from=last.at + shift,
        )

    def epoch(self, call: Called) -> int:
        """How many boundaries lay behind the session when this call, in places of the history, was made."""
        return self.history().epoch(call)


def _place(call: Called) -> int:
    return min(call.produced, default=call.prefix)


def _moved(call: Called, shift: int) -> Called:
    return replace(call, prefix=call.prefix + shift, produced=tuple(place + shift for place in call.produced))
