"""What a check is, and what it looks at."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import groupby
from typing import Any

from precompact_shared.engine.pairing import Pairing
from precompact_shared.engine.types import Call, Facts, Format, Message, Role
from precompact_shared.engine.validate.request import RequestFacts


class Severity(StrEnum):
    """What happens to a request that breaks the rule."""

    ERROR = "error"
    """The provider refuses it."""
    WARNING = "warning"
    """Accepted but silently wrong or costly, or a refusal that real sessions contradict."""
    HOUSE = "house"
    """Accepted, or by some servers only; asked of senders that say they keep to it."""


@dataclass(frozen=True, slots=True)
class Violation:
    """One breach: the rule's id, its severity, and the index of the message (-1: the request around them)."""

    id: str
    severity: Severity
    index: int


@dataclass(frozen=True)
class Subject:
    """A list of messages and what is known of it."""

    format: Format
    messages: Sequence[Message]
    facts: Sequence[Facts]
    pairing: Pairing
    request: RequestFacts
    open_end_ok: bool

    def unanswered(self) -> Iterable[tuple[int, Call]]:
        """Calls without result; those at an open end only if they count."""
        return self.pairing.dead if self.open_end_ok else (*self.pairing.dead, *self.pairing.open)

    @cached_property
    def runs(self) -> tuple[range, ...]:
        """Indexes of neighbours of one role, which Anthropic merges into one message."""
        keys = (message.get("role") for message in self.messages)
        grouped = groupby(enumerate(keys), key=lambda item: item[1])
        return tuple(_span([index for index, _ in run]) for _, run in grouped)

    @cached_property
    def newest_turn(self) -> int:
        """Index behind the last genuine user message: there the newest assistant turn begins."""
        for index in range(len(self.facts) - 1, -1, -1):
            if self.facts[index].user_turn and not self.facts[index].results:
                return index + 1
        return 0


def _span(indexes: Sequence[int]) -> range:
    return range(indexes[0], indexes[-1] + 1)


@dataclass(frozen=True, slots=True)
class Check:
    """One rule: `find` returns the indexes of the messages that break it."""

    id: str
    """As in the table of the provider's rules; rows that say different parts of one rule share it."""
    severity: Severity
    says: str
    """What the rule demands."""
    source: str
    """What the rule rests on: `doc` vendor documentation, `sdk` its types, `spec`, or a public thread."""
    find: Callable[[Subject], Iterable[int]]
    needs: tuple[str, ...] = ()
    """Fields of `RequestFacts` without which the rule is silent."""


def parts_of(message: Message) -> list[dict[str, Any]]:
    """The content's parts; none if content is a string or absent."""
    content = message.get("content")
    return content if isinstance(content, list) else []


def inner_parts(part: Message) -> list[dict[str, Any]]:
    """Parts inside a part (of a result, say); what is no object is left out."""
    content = part.get("content")
    return [inner for inner in content if isinstance(inner, dict)] if isinstance(content, list) else []


def text_of(owner: object, key: str) -> str:
    """The string under `key`, empty if it is none or the owner is no object."""
    value = owner.get(key) if isinstance(owner, dict) else None
    return value if isinstance(value, str) else ""


def where(subject: Subject, broken: Callable[[Message], bool]) -> Iterator[int]:
    """Indexes of the messages of which `broken` is true."""
    return (index for index, message in enumerate(subject.messages) if broken(message))


def is_assistant(message: Message) -> bool:
    """Whether the message is the model's."""
    return message.get("role") == Role.ASSISTANT
