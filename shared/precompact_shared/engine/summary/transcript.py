"""The covered entries as text for a model that is to summarise them: who said what, with addresses, in segments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from precompact_shared.engine import formats
from precompact_shared.engine.preset import SummaryRule
from precompact_shared.engine.shorten import border_at_or_before, shorten
from precompact_shared.engine.tokens import count_text
from precompact_shared.engine.types import Entry, Format, Role

_LABELS = {
    Role.SYSTEM: "system",
    Role.USER: "user",
    Role.ASSISTANT: "assistant",
    Role.TOOL: "tool result",
    Role.OTHER: "other",
}
TAG = "transcript"
_MARK = f"</{TAG}"
_LEAST_PIECE = 40
_SHARE_FOR_A_BORDER = 8
"""An eighth of a piece may be given up so that it ends where a reader sees a border."""


@dataclass(frozen=True, slots=True)
class Spoken:
    """One entry, or a piece of one, as it is shown. `seen_tokens` of the entry's own are in it."""

    seq: int
    text: str
    tokens: int
    """Of the text, in o200k tokens."""
    seen_tokens: int


def spoken(
    format: Format,  # noqa: A002 - the design's word
    entries: Iterable[Entry],
    rule: SummaryRule,
    mask: Callable[[str], str] = str,
) -> tuple[Spoken, ...]:
    """The entries as text, one each, pinned ones left out; of a tool's result as much as the preset's rule shows.

    `mask` may hide what must not leave; it sees each text whole, before anything of it is left out. O(characters).
    """
    return tuple(_speak(format, entry, rule, mask) for entry in entries if not entry.pinned)


def _speak(format: Format, entry: Entry, rule: SummaryRule, mask: Callable[[str], str]) -> Spoken:  # noqa: A002
    whole = mask(formats.plain_text(format, entry.message))
    role = formats.facts(format, entry.message).role
    shown = _shown(whole, entry, rule) if role is Role.TOOL else whole
    seen = entry.tokens if len(shown) >= len(whole) else entry.tokens * len(shown) // len(whole)
    text = f"[r:{entry.seq}] {_LABELS[role]}:\n{harmless(shown)}"
    return Spoken(entry.seq, text, count_text(text), seen)


def _shown(whole: str, entry: Entry, rule: SummaryRule) -> str:
    ends = rule.result_ends
    return shorten(whole, ends, address=f"[r:{entry.seq}]") if ends.head or ends.tail else whole


def harmless(text: str) -> str:
    """The text without the tag that ends the transcript: nothing in it can step out of it."""
    return text.replace(_MARK, "<\\/" + TAG)


def segments(said: Sequence[Spoken], budget_tokens: int) -> tuple[tuple[Spoken, ...], ...]:
    """The transcript in parts of at most so many tokens, nothing left out; an entry larger than a part is divided."""
    parts: list[list[Spoken]] = [[]]
    room = budget_tokens
    for one in said:
        for piece in _pieces(one, budget_tokens):
            if piece.tokens > room and parts[-1]:
                parts.append([])
                room = budget_tokens
            parts[-1].append(piece)
            room -= piece.tokens
    return tuple(tuple(part) for part in parts if part)


def _pieces(one: Spoken, budget_tokens: int) -> list[Spoken]:
    if one.tokens <= budget_tokens:
        return [one]
    pieces: list[Spoken] = []
    start = 0
    while start < len(one.text):
        piece, start = _piece(one, start, budget_tokens)
        pieces.append(piece)
    return pieces


def _piece(one: Spoken, start: int, budget_tokens: int) -> tuple[Spoken, int]:
    """The next piece that fits the budget, and where the one after it begins. A budget under a line is not kept."""
    size = max(_LEAST_PIECE, len(one.text) * budget_tokens // one.tokens)
    note = "" if start == 0 else f"[r:{one.seq}] (goes on)\n"
    while True:
        stop = _border(one.text, start, start + size)
        text = note + one.text[start:stop]
        tokens = count_text(text)
        if tokens <= budget_tokens or size <= _LEAST_PIECE:
            size_all = len(one.text)  # floors of sums, so that the pieces have together what the whole has
            seen = one.seen_tokens * stop // size_all - one.seen_tokens * start // size_all
            return Spoken(one.seq, text, tokens, seen), stop
        size = max(_LEAST_PIECE, size * 4 // 5)


def _border(text: str, start: int, position: int) -> int:
    """Where a piece that may reach to `position` ends: behind a line, else behind a word, else within one."""
    if position >= len(text):
        return len(text)
    first = position - (position - start) // _SHARE_FOR_A_BORDER
    for mark in ("\n", " "):
        found = text.rfind(mark, first, position)
        if found > start:
            return found + 1
    stop = border_at_or_before(text, position)
    return stop if stop > start else position


def joined(part: Iterable[Spoken]) -> str:
    """A part as it is sent."""
    return "\n\n".join(one.text for one in part)
