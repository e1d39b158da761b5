"""What one entry weighs, by kind: o200k tokens of its texts, and numbers of what is no text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from operator import add, sub
from typing import Any, Generic, TypeAlias, TypeVar

import msgspec

from precompact_shared.engine.formats import facts
from precompact_shared.engine.tokenizer import count_text
from precompact_shared.engine.types import Facts, Format, Message, Role
from precompact_shared.engine.weight import weigh


class Side(StrEnum):
    """Who brought an entry into the conversation."""

    REPLY = "reply"
    """The model."""
    GIVEN = "given"
    """The caller: results, and a message that holds nothing else."""
    SYSTEM = "system"
    """The caller, with system text in mid-conversation."""
    USER = "user"
    """The caller, with a genuine user message."""


class Load(msgspec.Struct, frozen=True):
    """Sums over entries. Loads add up, and can be taken away again."""

    results: int = 0
    """o200k tokens of tool results; so are the next four."""
    arguments: int = 0
    spoken: int = 0
    """Text of the model."""
    given: int = 0
    """Text of user and system."""
    thinking: int = 0
    hidden_chars: int = 0
    """Signatures of thinking whose text is withheld: they grow with it."""
    sealed_chars: int = 0
    """Encrypted text: reasoning that the transcript does not show."""
    sealed: int = 0
    """How many pieces of it."""
    calls: int = 0
    keys: int = 0
    """Named arguments of the calls."""
    searches: int = 0
    """Of the web, by the provider: what they found is in the prompt for a while, and in no transcript."""
    images: int = 0
    documents: int = 0
    thoughts: int = 0
    """Entries of the model that may stand for reasoning: of the Responses API its reasoning items, else each of them."""
    replies: int = 0
    """Model calls that answered; counted by the span, since one reply may be several entries."""

    def __add__(self, other: Load) -> Load:
        return Load(*map(add, msgspec.structs.astuple(self), msgspec.structs.astuple(other)))

    def __sub__(self, other: Load) -> Load:
        return Load(*map(sub, msgspec.structs.astuple(self), msgspec.structs.astuple(other)))


L = TypeVar("L")
"""What entries are weighed in."""


@dataclass(frozen=True, slots=True)
class PieceOf(Generic[L]):
    """One entry as the estimate sees it; text stays behind."""

    side: Side
    load: L
    call_ids: tuple[str, ...] = ()
    """Calls that the caller has to answer."""
    result_ids: tuple[str, ...] = ()


Piece: TypeAlias = PieceOf[Load]


def load_of(format: Format, message: Message) -> Piece:  # noqa: A002 - the design's word
    """Weigh one entry. Cost: counting its text. Raises InvalidEntry for what is no entry of this format."""
    return weigh_entry(format, facts(format, message), message)


def weigh_entry(format: Format, known: Facts, message: Message) -> Piece:  # noqa: A002 - the design's word
    """The same where it is known already what the message says."""
    sums: dict[str, int] = {}
    for kind, part in _parts(known, message):
        _weigh_part(sums, kind, part)
    side = _side(known)
    if known.reasoning or (side is Side.REPLY and format is not Format.OPENAI_RESPONSES):
        sums["thoughts"] = 1
    if known.calls:
        sums["calls"], sums["keys"] = (
            len(known.calls),
            sum(_count_keys(call.arguments) for call in known.calls),
        )
    if message.get("type") == _SEARCH and message.get("action"):
        sums["searches"] = 1
    return PieceOf(side, Load(**sums), *_ids(known))


def _ids(known: Facts) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Of calls that the caller has to answer, and of results."""
    if not known.calls and not known.results:
        return (), ()
    results = tuple([result.id for result in known.results])
    calls = [call.id for call in known.calls if call.kind in _AWAITED and call.id not in results]
    return tuple(calls), results


SHORTEST_SEAL_CHARS = 100
"""Less than this under such a key is a remark that something was taken out."""
_SEARCH = "web_search_call"
"""Of the Responses API. Recorded ones that tell no action brought nothing into the prompt."""
_AWAITED = frozenset({"function", "custom"})
"""Kinds of calls whose results come in an entry of their own. Server-side ones have theirs in the reply, or none."""
_SPEAKERS = {Role.USER: "given", Role.SYSTEM: "given", Role.ASSISTANT: "spoken", Role.TOOL: "results"}


def _side(known: Facts) -> Side:
    if known.role is Role.USER and known.user_turn:
        return Side.USER
    if known.role is Role.SYSTEM:
        return Side.SYSTEM
    return Side.GIVEN if known.role in {Role.USER, Role.TOOL} else Side.REPLY


def _parts(known: Facts, message: Message) -> Iterator[tuple[str, Any]]:
    if known.results and any(result.part is None for result in known.results):
        yield "results", message
    elif known.reasoning:
        yield "thinking", message
    elif "content" not in message:
        yield ("arguments" if known.calls else "spoken"), message
    else:
        yield from _content(known, message)
        if message.get("tool_calls"):
            yield "arguments", message["tool_calls"]


def _content(known: Facts, message: Message) -> Iterator[tuple[str, Any]]:
    results = {result.part for result in known.results} if known.results else ()
    content = message["content"]
    for index, part in enumerate(content if isinstance(content, list) else [content]):
        if index in results:
            yield "results", part
        elif index in known.thinking:
            yield "thinking", part
        elif isinstance(part, dict) and str(part.get("type", "")).endswith("tool_use"):
            yield "arguments", part
        else:
            yield _SPEAKERS.get(known.role, "spoken"), part


def _weigh_part(sums: dict[str, int], kind: str, part: Any) -> None:
    text = _text_alone(part)
    if text is not None:
        sums[kind] = sums.get(kind, 0) + count_text(text)
        return
    weight = weigh(part)
    tokens = sum(map(count_text, weight.texts))
    _add(sums, kind, tokens)
    _add(sums, "images", weight.images)
    _add(sums, "documents", weight.documents)
    if weight.encrypted_chars >= SHORTEST_SEAL_CHARS:
        _add(sums, "sealed_chars", weight.encrypted_chars)
        _add(sums, "sealed", 1)
    if kind == "thinking" and not tokens and isinstance(part, dict):
        _add(sums, "hidden_chars", len(part.get("signature") or ""))


def _text_alone(part: Any) -> str | None:
    """What most parts are; the same as `weigh` finds, for less."""
    if type(part) is str:
        return part
    if type(part) is dict and len(part) == 2 and part.get("type") == "text" and type(part.get("text")) is str:
        return str(part["text"])
    return None


def _add(sums: dict[str, int], kind: str, number: int) -> None:
    sums[kind] = sums.get(kind, 0) + number


def _count_keys(arguments: str) -> int:
    try:
        found = msgspec.json.decode(arguments)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return 0
    return len(found) if isinstance(found, dict) else 0
