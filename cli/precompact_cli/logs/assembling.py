"""Events put together: one session for the main thread, one for each sub-agent."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from precompact_cli.logs.events import (
    Called,
    Compacted,
    Counted,
    Damaged,
    Event,
    Happened,
    Left,
    Opened,
    Rewound,
    Said,
    Skipped,
    Stamp,
)
from precompact_cli.logs.session import Boundary, Branch, Session
from precompact_cli.logs.shelf import Cellar, Shelf, Stretch
from precompact_shared.engine.formats import InvalidEntry, facts
from precompact_shared.engine.types import Format, Message

NAMED_DAMAGE = 100
"""So many damaged lines are named; the rest is counted."""
_KINDS = 50
"""So many types of skipped lines are told apart."""


def assemble(events: Iterable[Event], *, tool: str, wire: Format, cellar: Cellar | None = None) -> Session:
    """The main session with its sub-agents' as `sidechains`. What is no message of the format counts as damage.

    `cellar` is what several logs that are read together share.
    """
    making = _Making(tool, wire, cellar or Cellar())
    for event in events:
        making.take(event)
    return making.done()


class _Making:
    def __init__(self, tool: str, wire: Format, cellar: Cellar) -> None:
        self._tool, self._wire, self._cellar = tool, wire, cellar
        self._threads: dict[str, _Thread] = {"": _Thread(wire, self._cellar)}
        self._counts: Counter[Happened] = Counter()
        self._skipped: Counter[str] = Counter()
        self._damage: list[Damaged] = []
        self._damaged = 0

    def take(self, event: Event) -> None:
        """Adds one event to where it belongs."""
        match event:
            case Counted():
                self._counts[event.what] += 1
            case Skipped():
                known = event.kind in self._skipped or len(self._skipped) < _KINDS
                self._skipped[event.kind if known else "other"] += 1
            case Damaged():
                self._note(event)
            case Left():
                self._threads[""].leave(event)
            case _:
                thread = self._thread(event.thread)
                if (damage := thread.take(event)) is not None:
                    self._note(damage)

    def done(self) -> Session:
        """All of it."""
        main, *others = self._threads.values()
        sidechains = tuple(one.session(self._tool) for one in others if len(one.messages))
        return main.session(
            self._tool,
            sidechains=sidechains,
            counts=dict(self._counts),
            skipped=dict(self._skipped.most_common()),
            damage=tuple(self._damage),
            damaged=self._damaged,
        )

    def _thread(self, name: str) -> _Thread:
        if name not in self._threads:
            self._threads[name] = _Thread(self._wire, self._cellar)
        return self._threads[name]

    def _note(self, damage: Damaged) -> None:
        self._damaged += 1
        if len(self._damage) < NAMED_DAMAGE:
            self._damage.append(damage)


@dataclass(slots=True)
class _Thread:
    """One thread in the making. `refused` holds the places, as the reader counts, of what is no message."""

    wire: Format
    cellar: Cellar
    said: int = 0
    refused: list[int] = field(default_factory=list)
    messages: Shelf = field(init=False)
    inserted: Shelf = field(init=False)
    """What all boundaries put in."""
    stamps: list[Stamp] = field(default_factory=list)
    calls: list[Called] = field(default_factory=list)
    boundaries: list[Boundary] = field(default_factory=list)
    branches: list[Branch] = field(default_factory=list)
    opened: Opened = field(default_factory=Opened)

    def __post_init__(self) -> None:
        self.messages, self.inserted = Shelf(self.cellar), Shelf(self.cellar)

    def take(self, event: Said | Called | Compacted | Rewound | Opened) -> Damaged | None:
        """Adds an event; the damage it turns out to be."""
        match event:
            case Said():
                return self._say(event)
            case Called():
                self._call(event)
            case Compacted():
                return self._compact(event)
            case Rewound():
                self._rewind(event)
            case Opened():
                self._open(event)
        return None

    def leave(self, event: Left) -> None:
        """A branch beside the live one."""
        self.branches.append(Branch(self._place(event.at), event.messages, event.line))

    def session(self, tool: str, **more: Any) -> Session:
        """The thread as it stands."""
        return Session(
            tool=tool,
            format=self.wire,
            name=self.opened.name,
            model=self.opened.model,
            system=self.opened.system,
            tools=self.opened.tools,
            messages=self.messages,
            stamps=self.stamps,
            calls=tuple(self.calls),
            boundaries=tuple(self.boundaries),
            branches=tuple(self.branches),
            **more,
        )

    def _place(self, told: int) -> int:
        return told - bisect_left(self.refused, told)

    def _say(self, event: Said) -> Damaged | None:
        self.said += 1
        if (why := _refusal(self.wire, event.message)) is not None:
            insort(self.refused, self.said - 1)
            return Damaged(event.line, why)
        self.messages.append(event.message)
        self.stamps.append(event.at)
        return None

    def _call(self, event: Called) -> None:
        produced = tuple(self._place(one) for one in event.produced if one not in self.refused)
        prefix = self._place(event.prefix)
        if prefix:
            self.calls.append(replace(event, prefix=prefix, produced=produced, model=self.opened.model))

    def _compact(self, event: Compacted) -> Damaged | None:
        whys = [_refusal(self.wire, one) for one in event.insert]
        at, start = len(self.messages), len(self.inserted)
        for one, why in zip(event.insert, whys, strict=True):
            if why is None:
                self.inserted.append(one)
        self.boundaries.append(
            Boundary(
                at=at,
                kept_from=min(self._place(event.kept_from), at),
                insert=Stretch((self.inserted, start, len(self.inserted))),
                line=event.line,
                stamp=event.at,
                trigger=event.trigger,
                tokens_before=event.tokens_before,
            )
        )
        broken = next((why for why in whys if why is not None), None)
        return Damaged(event.line, broken) if broken else None

    def _rewind(self, event: Rewound) -> None:
        to = self._place(event.to)
        self.branches = [replace(one, at=min(one.at, to)) for one in self.branches]
        self.branches.append(Branch(to, len(self.messages) - to, event.line))
        self.messages.cut(to)
        del self.stamps[to:]
        self.calls = [call for call in self.calls if max((call.prefix - 1, *call.produced)) < to]
        self.boundaries = [one for one in self.boundaries if one.at <= to]
        self.refused = [one for one in self.refused if one < event.to]
        self.said = event.to

    def _open(self, event: Opened) -> None:
        old = self.opened
        self.opened = Opened(
            old.name or event.name,
            event.model or old.model,
            event.system if old.system is None else old.system,
            event.tools if old.tools is None else old.tools,
        )


def _refusal(wire: Format, message: Message) -> str | None:
    try:
        facts(wire, message)
    except InvalidEntry as error:
        return f"no message of the format {wire.value} ({error.code})"
    return None
