"""What code carries from one generation of summaries to the next: facts, never a summary of a summary."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from precompact_shared.engine.catalogue import Touch


@dataclass(frozen=True, slots=True)
class Request:
    """A genuine user message and its turn so far: entries `seq` to `end`, both included."""

    seq: int
    end: int
    text: str
    answer: str
    """What the assistant last said in the turn without calling a tool; empty for nothing."""
    answered: bool
    """That was the end of it: no call came after."""


@dataclass(frozen=True, slots=True)
class Statement:
    """Words and the entry they come from."""

    seq: int
    text: str


@dataclass(frozen=True, slots=True)
class FileNote:
    """A file, the last entry that touched it, and how: modified once is modified for good."""

    path: str
    touch: Touch
    seq: int


@dataclass(frozen=True, slots=True)
class Run:
    """A tool call by name and what it ran or touched. `error` is empty for one that worked."""

    seq: int
    name: str
    what: str
    error: str


@dataclass(frozen=True, slots=True)
class Step:
    """One step of the agent's plan with its status as the agent wrote it."""

    text: str
    status: str


@dataclass(frozen=True, slots=True)
class Carried:
    """Facts of the covered entries `[start, stop)`. Lists are oldest first and bounded; the newest stay."""

    start: int
    stop: int
    first_request: Statement | None = None
    requests: tuple[Request, ...] = ()
    request_count: int = 0
    """All there ever were, also those no longer listed."""
    constraints: tuple[Statement, ...] = ()
    earlier_summary: Statement | None = None
    """A summary another tool had put into the history."""
    files: tuple[FileNote, ...] = ()
    commands: tuple[Run, ...] = ()
    failures: tuple[Run, ...] = ()
    """Calls whose last try failed."""
    plan: tuple[Step, ...] = ()
    plan_seq: int | None = None
    last_words: Statement | None = None
    """The newest text of the assistant, with or without a call behind it."""

    @property
    def unanswered(self) -> Request | None:
        """The newest request, if it has no finished answer in the covered part."""
        newest = self.requests[-1] if self.requests else None
        return newest if newest is not None and not newest.answered else None

    def to_json(self) -> dict[str, Any]:
        """A plain JSON object; `from_json` gives an equal value back."""
        return {"v": 1, **asdict(self)}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Carried:
        """The value `to_json` wrote; raises `KeyError` or `TypeError` for anything else."""
        return cls(
            start=stored["start"],
            stop=stored["stop"],
            first_request=_statement(stored["first_request"]),
            requests=tuple(Request(**one) for one in stored["requests"]),
            request_count=stored["request_count"],
            constraints=tuple(Statement(**one) for one in stored["constraints"]),
            earlier_summary=_statement(stored["earlier_summary"]),
            files=tuple(FileNote(one["path"], Touch(one["touch"]), one["seq"]) for one in stored["files"]),
            commands=tuple(Run(**one) for one in stored["commands"]),
            failures=tuple(Run(**one) for one in stored["failures"]),
            plan=tuple(Step(**one) for one in stored["plan"]),
            plan_seq=stored["plan_seq"],
            last_words=_statement(stored["last_words"]),
        )


def _statement(stored: Mapping[str, Any] | None) -> Statement | None:
    return None if stored is None else Statement(**stored)
