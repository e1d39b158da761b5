"""Which result answers which call. By position, since ids repeat across turns."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from precompact_shared.engine.formats import facts as facts_of
from precompact_shared.engine.types import Call, Entry, Facts, Format, Result, Role

Place = tuple[int, int]
"""Position in the given sequence, and index among that entry's calls or results."""

MOST_OPEN = 64
"""Responses items: with so many newer calls open, an unanswered one is given up. The largest recorded batch is 16."""
_SERVER = "server"


@dataclass(frozen=True, slots=True)
class Pairing:
    """Calls and results of a sequence of entries, tied together; positions are indexes into that sequence."""

    owner: Mapping[Place, Place]
    """(position, result index) -> (position, call index)."""
    answers: Mapping[Place, int]
    """(position, call index) -> position of the entry that holds its result."""
    open: tuple[tuple[int, Call], ...]
    """Calls that still may be answered by what is appended next."""
    dead: tuple[tuple[int, Call], ...]
    """Calls that were never answered and no longer can be."""
    orphans: tuple[tuple[int, Result], ...]
    """Results without a call in front of them."""


def pair(format: Format, entries: Sequence[Entry]) -> Pairing:  # noqa: A002 - the word of the design
    """Tie results to calls. Calls that hold their own output (kind `server`) are never open or dead.

    Raises `InvalidEntry` for an entry that is no message of the format.
    """
    return pair_facts(format, [facts_of(format, entry.message) for entry in entries])


def pair_facts(format: Format, facts: Sequence[Facts]) -> Pairing:  # noqa: A002
    """Do the same for facts already known."""
    book = _Book(by_kind=format is not Format.OPENAI_CHAT)
    match format:
        case Format.ANTHROPIC:
            _pair_merged_blocks(book, facts)
        case Format.OPENAI_CHAT:
            _pair_strict_blocks(book, facts)
        case Format.OPENAI_RESPONSES:
            _pair_items(book, facts)
    return book.close()


@dataclass(slots=True)
class _Book:
    """What is known while walking: unanswered calls by key, and everything found so far."""

    by_kind: bool
    """False where results do not say what kind of call they answer."""
    waiting: dict[tuple[str, str], list[tuple[Place, Call]]] = field(default_factory=dict)
    owner: dict[Place, Place] = field(default_factory=dict)
    answers: dict[Place, int] = field(default_factory=dict)
    dead: list[tuple[Place, Call]] = field(default_factory=list)
    orphans: list[tuple[int, Result]] = field(default_factory=list)
    asked: deque[tuple[Place, Call]] = field(default_factory=deque)
    """Calls in order, of those not given up; the answered ones leave it late."""

    def ask(self, position: int, calls: Sequence[Call]) -> None:
        for index, call in enumerate(calls):
            self.waiting.setdefault(self._key(call), []).append(((position, index), call))
            self.asked.append(((position, index), call))

    def answer(self, position: int, results: Sequence[Result], *, newest_first: bool = False) -> None:
        for index, result in enumerate(results):
            asked = self.waiting.get(self._key(result))
            if not asked:
                self.orphans.append((position, result))
                continue
            place, _ = asked.pop(-1 if newest_first else 0)
            self.owner[position, index] = place
            self.answers[place] = position

    def _key(self, value: Call | Result) -> tuple[str, str]:
        return (value.kind if self.by_kind else "", value.id)

    def unanswered(self) -> list[tuple[Place, Call]]:
        rest = [item for asked in self.waiting.values() for item in asked if item[1].kind != _SERVER]
        return sorted(rest, key=lambda item: item[0])

    def give_up_all(self) -> None:
        self.dead += self.unanswered()
        self.waiting.clear()
        self.asked.clear()

    def give_up_beyond(self, most: int) -> None:
        """The oldest, where more than `most` wait."""
        while len(self.asked) > most:
            self.asked = deque(item for item in self.asked if item[0] not in self.answers)
            if len(self.asked) > most:
                self.give_up([self.asked.popleft()])

    def give_up(self, hopeless: Sequence[tuple[Place, Call]]) -> None:
        self.dead += hopeless
        for item in hopeless:
            self.waiting[self._key(item[1])].remove(item)

    def close(self) -> Pairing:
        return Pairing(
            owner=self.owner,
            answers=self.answers,
            open=tuple((place[0], call) for place, call in self.unanswered()),
            dead=tuple((place[0], call) for place, call in sorted(self.dead, key=lambda item: item[0])),
            orphans=tuple(self.orphans),
        )


def _pair_merged_blocks(book: _Book, facts: Sequence[Facts]) -> None:
    """Anthropic: neighbours of one role are one message, so a block is assistants, then users."""
    answering = False
    interrupted = False
    for position, fact in enumerate(facts):
        if fact.role is Role.ASSISTANT:
            if answering:
                book.give_up_all()
            answering = interrupted = False
            book.ask(position, fact.calls)
        elif fact.role is not Role.SYSTEM:
            answering = True
            interrupted = interrupted or (fact.user_turn and not fact.results)
        book.answer(position, fact.results)
    if interrupted:
        book.give_up_all()


def _pair_strict_blocks(book: _Book, facts: Sequence[Facts]) -> None:
    """Chat: the results stand directly behind the assistant message that asked."""
    for position, fact in enumerate(facts):
        if fact.role is not Role.TOOL:
            book.give_up_all()
        book.ask(position, fact.calls)
        book.answer(position, fact.results)


def _pair_items(book: _Book, facts: Sequence[Facts]) -> None:
    """Responses: a result belongs to the nearest earlier unanswered call of its id and kind.

    Nothing closes a block there, so what is open is bounded by number: the store keeps it with every entry.
    """
    closed_by = -1
    answered_at = -1
    for position, fact in enumerate(facts):
        book.ask(position, [call for call in fact.calls if call.kind != _SERVER])
        book.answer(position, fact.results, newest_first=True)
        book.give_up_beyond(MOST_OPEN)
        if fact.results:
            answered_at = position
        elif fact.user_turn:
            closed_by = position
        elif _is_assistant_message(fact):
            # What one reply says after its own call does not close that call.
            closed_by = max(closed_by, answered_at)
    book.give_up([item for item in book.unanswered() if item[0][0] < closed_by])


def _is_assistant_message(fact: Facts) -> bool:
    return fact.role is Role.ASSISTANT and not fact.calls and not fact.reasoning
