"""The tool results of a stretch of history: whose they are, how big, and how far back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from precompact_shared.engine.catalogue import Catalogue, Tool, shipped_catalogue
from precompact_shared.engine.cut.stretch import Stretch
from precompact_shared.engine.tokens import DOCUMENT_TOKENS, IMAGE_TOKENS
from precompact_shared.engine.types import Call, Entry, Format, Result, Role
from precompact_shared.engine.weight import weigh

_CHARACTERS_OF_A_TOKEN = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """One result with the call it answers. Numbers that say how recent it is count what comes behind it."""

    entry: Entry
    result: Result
    call: Call
    tool: Tool
    tokens: int
    """Its share of the entry's tokens, by length."""
    user_turns_behind: int
    tool_turns_behind: int
    """Replies with calls that came later and were answered."""
    tokens_behind: int

    @property
    def place(self) -> tuple[int, int | None]:
        """`seq` of its entry and its part."""
        return self.entry.seq, self.result.part


def tool_results(
    format: Format,  # noqa: A002 - the word of the design
    entries: Sequence[Entry],
    catalogue: Catalogue | None = None,
) -> tuple[ToolResult, ...]:
    """All results whose calls are among `entries`, oldest first. O(n)."""
    return tuple(each_tool_result(format, entries, catalogue))


def each_tool_result(
    format: Format,  # noqa: A002
    entries: Sequence[Entry],
    catalogue: Catalogue | None = None,
) -> Iterator[ToolResult]:
    """The same one after the other, for histories that are not to be held in memory."""
    return _results(Stretch.of(format, entries), catalogue or shipped_catalogue())


def part_tokens(entry: Entry, part: int | None) -> int:
    """What one part of an entry costs, as a share of the entry's tokens; the whole entry for None."""
    content = entry.message.get("content")
    if part is None or not isinstance(content, list) or len(content) == 1:
        return entry.tokens
    whole = sum(map(_weight, content))
    return entry.tokens * _weight(content[part]) // whole if whole else 0


def _results(stretch: Stretch, catalogue: Catalogue) -> Iterator[ToolResult]:
    replies = _replies(stretch)
    answered = {place: replies[call[0]] for place, call in stretch.pairing.owner.items()}
    turns = {reply: number for number, reply in enumerate(sorted(set(answered.values())), 1)}
    users = list(accumulate(known.user_turn for known in stretch.facts))
    sizes = list(accumulate(entry.tokens for entry in stretch.entries))
    tools: dict[str, Tool] = {}
    for (position, index), reply in sorted(answered.items()):
        asked_at, number = stretch.pairing.owner[position, index]
        call = stretch.facts[asked_at].calls[number]
        entry, result = stretch.entries[position], stretch.facts[position].results[index]
        tool = tools.get(call.name) or tools.setdefault(call.name, catalogue.find(call.name))
        yield ToolResult(
            entry=entry,
            result=result,
            call=call,
            tool=tool,
            tokens=part_tokens(entry, result.part),
            user_turns_behind=users[-1] - users[position],
            tool_turns_behind=len(turns) - turns[reply],
            tokens_behind=sizes[-1] - sizes[position],
        )


def _replies(stretch: Stretch) -> Mapping[int, int]:
    """The number of the reply that each position belongs to: a run of assistant entries, or calls sent in between."""
    numbers: dict[int, int] = {}
    number, speaking = 0, False
    for position, known in enumerate(stretch.facts):
        assistant = known.role is Role.ASSISTANT
        number += assistant and not speaking
        speaking = assistant
        numbers[position] = number
    return numbers


def _weight(part: object) -> int:
    """Characters, media in the characters that would cost as much."""
    weight = weigh(part)
    media = weight.images * IMAGE_TOKENS + weight.documents * DOCUMENT_TOKENS
    return sum(map(len, weight.texts)) + weight.encrypted_chars + _CHARACTERS_OF_A_TOKEN * media
