"""What one scheduler remembers of sessions for a while. Losing it costs a job that finds nothing, never a decision."""

from __future__ import annotations

from collections import OrderedDict
from typing import Generic, TypeVar

from precompact_scheduler.facts import Statement
from precompact_shared.engine.trigger import Action, Decision, LastTry
from precompact_shared.store.types import SessionView

MOST_SESSIONS = 50_000
TOLD_AGAIN_SHARE = 0.05
"""A decision for nothing is kept once more when the session has grown by this share."""
K = TypeVar("K")
V = TypeVar("V")


class Recent(Generic[K, V]):
    """A mapping that keeps the most recently written `most`."""

    def __init__(self, most: int = MOST_SESSIONS) -> None:
        self._most = most
        self._kept: OrderedDict[K, V] = OrderedDict()

    def get(self, key: K) -> V | None:
        """The value, if it is still known."""
        return self._kept.get(key)

    def put(self, key: K, value: V) -> None:
        """Keeps a value, forgets the oldest."""
        self._kept[key] = value
        self._kept.move_to_end(key)
        if len(self._kept) > self._most:
            self._kept.popitem(last=False)

    def __contains__(self, key: K) -> bool:
        return key in self._kept


class Memory:
    """Last tries that found nothing, decisions already told."""

    def __init__(self) -> None:
        self._tries: Recent[tuple[str, str], tuple[int, LastTry]] = Recent()
        self._told: Recent[tuple[str, str], tuple[int, str, int]] = Recent()

    def note_try(self, view: SessionView, reason: str, *, background: bool = False) -> None:
        """A job ended without a candidate while the session stood like this. `background`: it failed there."""
        last = LastTry(tokens=view.tokens, reason=reason, background=background)
        self._tries.put((view.tenant, view.session), (view.version, last))

    def last_try(self, statement: Statement) -> LastTry | None:
        """The last such try for this version of the session."""
        known = self._tries.get(statement.name)
        return known[1] if known and known[0] == statement.version else None

    def is_news(self, statement: Statement, decision: Decision) -> bool:
        """Whether a decision is worth keeping: the hundred that are kept should not all say the same."""
        told = self._told.get(statement.name)
        told_again = (
            decision.action is Action.NONE
            and told is not None
            and told[:2] == (statement.version, decision.row)
            and abs(statement.tokens - told[2]) <= TOLD_AGAIN_SHARE * told[2]
        )
        if not told_again:
            self._told.put(statement.name, (statement.version, decision.row, statement.tokens))
        return not told_again
