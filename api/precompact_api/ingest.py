"""From the caller's exact bytes to entries of the store: facts, identity, size. Each message is parsed once."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence

import msgspec

from precompact_api.guards import parse_value
from precompact_api.problems import Code, Problem
from precompact_shared.engine.estimate import Side, rates_of
from precompact_shared.engine.estimate.loads import weigh_entry
from precompact_shared.engine.estimate.weighing import entry_tokens, mass_of
from precompact_shared.engine.formats import InvalidEntry, text_of_user
from precompact_shared.engine.formats import facts as facts_of
from precompact_shared.engine.identity import canonical, digest
from precompact_shared.engine.types import Facts, Format, Message, Role
from precompact_shared.store import codec
from precompact_shared.store.types import Load, NewEntry

OFF_LOOP_BYTES = 48 * 1024
"""Larger batches are read on a thread, so that they do not hold up other calls."""
_ROLES = {Role.SYSTEM: "s", Role.USER: "u", Role.ASSISTANT: "a", Role.TOOL: "t", Role.OTHER: "o"}
_SIDES = {Side.REPLY: "r", Side.USER: "u", Side.GIVEN: "g", Side.SYSTEM: "s"}
_SERVER = "server"
_LEGACY = "legacy"
_NOTHING = "nothing:"
WHOLE = -1
"""In place of a part's index: the whole entry."""
_OPENING = "<conversation-summary preset="


class Reader(msgspec.Struct, frozen=True):
    """How the messages of one session are read."""

    format: Format
    digest_key: bytes
    model: str | None


class Batch(msgspec.Struct, frozen=True):
    """Messages ready for the store. `ours`: indexes of those that are a summary of ours."""

    entries: list[NewEntry]
    ours: tuple[int, ...]


async def ingest(
    reader: Reader, raws: Sequence[msgspec.Raw], *, pinned: Collection[int] = (), size_bytes: int = 0
) -> Batch:
    """The batch of `raws`; `pinned` counts in it. Raises Problem naming the place of what is no message."""
    if size_bytes > OFF_LOOP_BYTES:
        return await asyncio.to_thread(read_all, reader, raws, pinned)
    return read_all(reader, raws, pinned)


def read_all(reader: Reader, raws: Sequence[msgspec.Raw], pinned: Collection[int] = ()) -> Batch:
    """The same on this thread."""
    if pinned and max(pinned) >= len(raws):
        raise Problem(Code.INVALID_REQUEST, where="$.pinned")
    entries: list[NewEntry] = []
    ours: list[int] = []
    for index, raw in enumerate(raws):
        where = f"$.messages[{index}]"
        message = parse_value(raw, where)
        facts = facts_at(reader.format, message, where)
        entries.append(entry_of(reader, raw, message, facts, is_pinned=index in pinned))
        if facts.role is Role.USER and is_our_summary(reader.format, message):
            ours.append(index)
    return Batch(entries, tuple(ours))


async def ingest_one(reader: Reader, raw: msgspec.Raw, where: str) -> NewEntry:
    """One entry; a large one on a thread."""
    if len(bytes(raw)) > OFF_LOOP_BYTES:
        return await asyncio.to_thread(read_one, reader, raw, where)
    return read_one(reader, raw, where)


def read_one(reader: Reader, raw: msgspec.Raw, where: str) -> NewEntry:
    """The same on this thread."""
    message = parse_value(raw, where)
    return entry_of(reader, raw, message, facts_at(reader.format, message, where), is_pinned=False)


def facts_at(format: Format, message: object, where: str) -> Facts:  # noqa: A002 - the word of the design
    """What a message says. Raises Problem with the place of what is wrong."""
    try:
        return facts_of(format, message)
    except InvalidEntry as error:
        place = f"{where}.{error.where}" if error.where else where
        raise Problem(Code.INVALID_REQUEST, where=place, reason=error.code) from None


def entry_of(
    reader: Reader, raw: msgspec.Raw, message: Message, facts: Facts, *, is_pinned: bool
) -> NewEntry:
    """What the store keeps of a message: its bytes as sent, and what is known of it."""
    tokens, load = weighed(reader.format, reader.model, message, facts)
    return NewEntry(
        digest=digest(canonical(reader.format, message), reader.digest_key),
        tokens=tokens,
        body=codec.encode(bytes(raw)),
        pinned=is_pinned,
        role=_ROLES[facts.role],
        calls=tuple(link(reader.format, call.kind, call.id) for call in facts.calls if call.kind != _SERVER),
        results=_results(reader.format, facts) + _unsendable(reader.format, message, facts),
        load=load,
    )


def weighed(format: Format, model: str | None, message: Message, facts: Facts) -> tuple[int, Load]:  # noqa: A002
    """Tokens of an entry by the rates of the model's family, and the same by what the estimate tells apart."""
    rates, piece = rates_of(format, model), weigh_entry(format, facts, message)
    mass = mass_of(rates, piece.load)
    load = Load(
        _SIDES[piece.side],
        mass.text,
        mass.thinking,
        mass.structure,
        mass.sealed_chars,
        mass.sealed,
        mass.thoughts,
    )
    return entry_tokens(rates, mass), load


def _results(format: Format, facts: Facts) -> tuple[tuple[str, int], ...]:  # noqa: A002
    return tuple(
        (link(format, result.kind, result.id), WHOLE if result.part is None else result.part)
        for result in facts.results
        if result.kind != _SERVER
    )


def _unsendable(format: Format, message: Message, facts: Facts) -> tuple[tuple[str, int], ...]:  # noqa: A002
    """Empty text, which Anthropic refuses.

    The store keeps its place as that of a result nobody asked for: both are left out of a context.
    """
    content = message.get("content")
    if format is not Format.ANTHROPIC or not (facts.blank or isinstance(content, list)):
        return ()
    if facts.blank:
        return ((_NOTHING, WHOLE),)
    return tuple((_NOTHING, part) for part, value in enumerate(content or ()) if value.get("text") == "")


def link(format: Format, kind: str, call_id: str) -> str:  # noqa: A002
    """How the store names a call and its result. Chat results do not say what kind of call they answer."""
    if format is Format.OPENAI_CHAT and kind != _LEGACY:
        kind = "function"
    return f"{kind}:{call_id}"


def is_our_summary(format: Format, message: Message) -> bool:  # noqa: A002
    """Whether a user message opens with the wrapper of a summary of ours."""
    return text_of_user(format, message).lstrip().startswith(_OPENING)
