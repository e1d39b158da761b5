"""What a check is: a name from the providers' rules, how bad a breach is, and a function that finds breaches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from precompact_shared.engine.pairing import Pairing
from precompact_shared.engine.types import Call, Facts, Message


class Severity(StrEnum):
    """What happens to a request that breaks the rule."""

    ERROR = "error"
    """The provider refuses it."""
    WARNING = "warning"
    """Accepted, but silently wrong or costly."""
    HOUSE = "house"
    """Accepted in some shapes and refused in others: we do not send it."""


@dataclass(frozen=True, slots=True)
class Violation:
    """One breach: the rule's id, its severity, and the index of the message."""

    id: str
    severity: Severity
    index: int


@dataclass(frozen=True, slots=True)
class Subject:
    """A list of messages and what is known of it."""

    messages: Sequence[Message]
    facts: Sequence[Facts]
    pairing: Pairing
    open_end_ok: bool

    def unanswered(self) -> Iterable[tuple[int, Call]]:
        """Calls without result; those at an open end only if they count."""
        return self.pairing.dead if self.open_end_ok else (*self.pairing.dead, *self.pairing.open)


@dataclass(frozen=True, slots=True)
class Check:
    """One rule: `find` returns the indexes of the messages that break it."""

    id: str
    severity: Severity
    find: Callable[[Subject], Iterable[int]]


def parts_of(message: Message) -> list[dict[str, Any]]:
    """The content's parts; none if content is a string or absent."""
    content = message.get("content")
    return content if isinstance(content, list) else []
