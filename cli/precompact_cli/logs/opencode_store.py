"""What OpenCode keeps: many sessions in one place. One of them is read with its sub-agents' as events."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from precompact_cli.exits import InputRefused
from precompact_cli.logs.events import Damaged, Event, Skipped
from precompact_cli.logs.opencode_rows import Item
from precompact_cli.logs.opencode_telling import Telling, opened

_NAMED = 5
"""So many sessions are named to whoever asks for one that is not there."""


@dataclass(frozen=True, slots=True)
class Kept:
    """One session of a store."""

    id: str
    parent: str | None
    """The session whose sub-agent it is."""
    title: str | None
    updated_ms: int
    revert: dict[str, Any]
    """What the user took back last."""


Row = tuple[int, Item | Skipped | str]
"""What stands at a place of a session, counted in messages from 1: a message, nothing a model sees, or why it cannot be
read. One place may have several."""


Read = dict[str, Any] | str
"""An object, or why there is none."""


class Store(Protocol):
    """Where sessions are kept."""

    def sessions(self) -> Sequence[Kept]:
        """All of them."""

    def rows(self, session: str) -> Iterator[Row]:
        """A session's messages in order."""


def joined(number: int, name: str, info: Read, parts: Sequence[Read]) -> Iterator[Row]:
    """A message and its parts, which are kept apart; a part that cannot be read is damage and costs itself alone."""
    yield from ((number, part) for part in parts if isinstance(part, str))
    if isinstance(info, str):
        yield number, info
    else:
        yield (
            number,
            {"info": {**info, "id": name}, "parts": [one for one in parts if not isinstance(one, str)]},
        )


def choose(sessions: Sequence[Kept], wanted: str | None) -> Kept:
    """The session asked for, else the one written last that is no sub-agent's. Raises InputRefused."""
    newest = sorted(sessions, key=lambda one: one.updated_ms, reverse=True)
    if wanted is not None:
        found = next((one for one in sessions if one.id == wanted), None)
        if found is None:
            raise InputRefused(f"OpenCode keeps no session of this id; {_named(newest)}.")
        return found
    known = {one.id for one in sessions}
    main = [one for one in newest if one.parent not in known]
    if not main:
        raise InputRefused("OpenCode keeps no sessions here; name another file.")
    return main[0]


def read_store(store: Store, sessions: Sequence[Kept], session: Kept) -> Iterator[Event]:
    """The session's events, then those of its sub-agents, each as a thread of its own."""
    yield from _tell(store, session, "")
    for child in _below(sessions, session):
        yield from _tell(store, child, child.id)


def _tell(store: Store, session: Kept, thread: str) -> Iterator[Event]:
    yield opened({"title": session.title}, session.id, thread)
    telling = Telling(thread)
    for number, found in store.rows(session.id):
        if isinstance(found, Skipped):
            yield found
        elif isinstance(found, str):
            yield Damaged(number, found)
        else:
            yield from telling.message(number, found)
    yield from telling.revert(session.revert)


def _below(sessions: Sequence[Kept], above: Kept) -> list[Kept]:
    """Sub-agents of this session and theirs, oldest first."""
    found, names = list[Kept](), {above.id}
    for one in sorted(sessions, key=lambda one: one.id):
        if one.parent in names and one.id not in names:
            found.append(one)
            names.add(one.id)
    return found


def _named(newest: Sequence[Kept]) -> str:
    if not newest:
        return "it keeps none at all"
    return f"it keeps {len(newest)}, the newest are " + ", ".join(one.id for one in newest[:_NAMED])
