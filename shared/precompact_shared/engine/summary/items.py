"""What can stand in a section, most important first: each holding of a preset turned into lines with addresses."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from precompact_shared.engine.catalogue import Touch
from precompact_shared.engine.preset import Holding
from precompact_shared.engine.summary.carried import Carried, FileNote, Request, Run, Statement
from precompact_shared.engine.summary.shorten import one_line, shorten_middle

_TAG = re.compile(r"<(?=/?said\b)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Item:
    """One piece of a section. Items are chosen in the order they are offered and printed by `group`, then `place`."""

    text: str
    place: int
    shorten: Callable[[int], str] | None = None
    """Gives the item with at most so many characters of its text; None where less would be nothing."""
    group: int = 0


def items_of(carried: Carried, holding: Holding) -> list[Item]:
    """Everything a section with this holding could say, most important first."""
    return list(_SOURCES[holding](carried))


def address(first: int, last: int | None = None) -> str:
    """The mark `recall` understands: one entry or a span, both ends included."""
    return f"[r:{first}]" if last is None or last <= first else f"[r:{first}-{last}]"


def _said(speaker: str, seq: int, text: str) -> str:
    return f'<said by="{speaker}" at="r:{seq}">{_TAG.sub("‹", text)}</said>'


def _quotation(speaker: str, statement: Statement) -> Item:
    return Item(
        _said(speaker, statement.seq, statement.text),
        statement.seq,
        lambda size: _said(speaker, statement.seq, shorten_middle(statement.text, size)),
    )


def _requests(carried: Carried) -> Iterator[Item]:
    """The newest, then the very first, which says what all this is for, then the others back in time."""
    newest_first = [Statement(one.seq, one.text) for one in reversed(carried.requests)]
    first = carried.first_request
    ordered = [*newest_first[:1], *([first] if first else []), *newest_first[1:]]
    yield from (_quotation("user", one) for one in dict.fromkeys(ordered))


def _constraints(carried: Carried) -> Iterator[Item]:
    yield from (Item(f"- {one.text} {address(one.seq)}", one.seq) for one in reversed(carried.constraints))


def _plan(carried: Carried) -> Iterator[Item]:
    if not carried.plan or carried.plan_seq is None:
        return
    steps = (f"  - {step.text}{f' ({step.status})' if step.status else ''}" for step in carried.plan)
    yield Item("\n".join([f"- Plan as last written {address(carried.plan_seq)}:", *steps]), carried.plan_seq)


def _last_words(carried: Carried) -> Iterator[Item]:
    if carried.last_words is not None:
        yield _quotation("assistant", carried.last_words)
    if carried.earlier_summary is not None:
        yield _quotation("earlier summary", carried.earlier_summary)


def _outcomes(carried: Carried) -> Iterator[Item]:
    last = carried.last_words.seq if carried.last_words else None
    for one in reversed(carried.requests):
        if one.answered and one.answer and one.end != last:
            yield Item(f"- Answered {address(one.seq, one.end)}: {one.answer}", one.end)


def _files(carried: Carried) -> Iterator[Item]:
    for touch in (Touch.MODIFIED, Touch.READ):
        touched = [one for one in carried.files if one.touch is touch]
        yield from (_file(one, place) for place, one in enumerate(reversed(touched)))


def _file(note: FileNote, place: int) -> Item:
    """Printed as it is offered: modified before read, newest first."""
    offset = 0 if note.touch is Touch.MODIFIED else 1_000_000
    return Item(f"- {note.touch}: {one_line(note.path, 300)} {address(note.seq)}", offset + place)


def _failures(carried: Carried) -> Iterator[Item]:
    yield from (_run(one, "failed") for one in reversed(carried.failures))


def _commands(carried: Carried) -> Iterator[Item]:
    yield from (_run(one, "ran") for one in reversed(carried.commands) if not one.error)


def _run(run: Run, word: str) -> Item:
    error = f" → {run.error}" if run.error else ""
    return Item(f"- {word} {run.name}: {run.what}{error} {address(run.seq)}", run.seq)


def _open(carried: Carried) -> Iterator[Item]:
    pending = carried.unanswered
    if pending is not None:
        start = one_line(pending.text, 200)
        yield Item(
            f"- No finished answer yet to the request of {address(pending.seq, pending.end)}: {start}", 0
        )
    elif carried.requests:
        newest = carried.requests[-1]
        yield Item(f"- The newest request covered here, {address(newest.seq, newest.end)}, was answered.", 0)


def _addresses(carried: Carried) -> Iterator[Item]:
    if carried.stop > carried.start:
        count = f"{carried.request_count} user requests"
        yield Item(f"- Everything covered, {count}: {address(carried.start, carried.stop - 1)}", -1)
    yield from (_turn(one) for one in reversed(carried.requests))


def _turn(request: Request) -> Item:
    return Item(f"- {address(request.seq, request.end)} {one_line(request.text, 70)}", request.seq)


_SOURCES: dict[Holding, Callable[[Carried], Iterable[Item]]] = {
    Holding.REQUESTS: _requests,
    Holding.CONSTRAINTS: _constraints,
    Holding.PLAN: _plan,
    Holding.LAST_WORDS: _last_words,
    Holding.OUTCOMES: _outcomes,
    Holding.FILES: _files,
    Holding.FAILURES: _failures,
    Holding.COMMANDS: _commands,
    Holding.OPEN: _open,
    Holding.ADDRESSES: _addresses,
}
