"""Cache marks on a request that is the agent's own but for what is said behind it. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from precompact_shared.engine.cache_marks import MARK, Marking, Outside, Ttl, apply_marks
from precompact_shared.engine.types import Format, Message


def marked(
    wire: Format, shared: Sequence[Message], said: Sequence[Message], front: Mapping[str, Any]
) -> list[Message]:
    """All messages, marked where the agent's newest call marked them, and at the end.

    A cache is read only near a mark: without one of our own behind the last message, all but system prompt and tools
    would be paid in full. The mark at the end is for the call that may have to follow.
    """
    return apply_marks(
        wire, [*shared, *said], Marking.PLACE, insert_length=len(shared), outside=_outside(front)
    )


def _outside(front: Mapping[str, Any]) -> Outside:
    """The marks on system prompt and tools: they take slots, and ours may not live longer."""
    parts = (part for value in front.values() if isinstance(value, list) for part in value)
    marks = [part[MARK] for part in parts if isinstance(part, dict) and isinstance(part.get(MARK), dict)]
    hours = [mark.get("ttl") == Ttl.HOUR for mark in marks]
    return Outside(len(marks), Ttl.HOUR if all(hours) else Ttl.MINUTES_5)
