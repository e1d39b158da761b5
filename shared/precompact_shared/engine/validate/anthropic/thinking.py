"""Thinking: A10, A11."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from precompact_shared.engine.types import Facts, Message
from precompact_shared.engine.validate.check import Check, Severity, Subject, is_assistant, parts_of, text_of

_THREADS = "doc; anthropics/anthropic-sdk-python#1598, bastani-inc/atomic#1732"
_PROOFS = {"thinking": "signature", "redacted_thinking": "data"}


def _unsigned_in_a_reply(subject: Subject) -> Iterable[int]:
    return (index for index, alone in _unsigned(subject) if not alone)


def _unsigned_alone(subject: Subject) -> Iterable[int]:
    return (index for index, alone in _unsigned(subject) if alone)


def _unsigned(subject: Subject) -> Iterator[tuple[int, bool]]:
    """Messages with thinking that lacks its proof, and whether they hold nothing else."""
    for index, message, facts in _thinking_messages(subject):
        if not all(_proof(message["content"][part]) for part in facts.thinking):
            yield index, len(facts.thinking) == len(message["content"])


def _thinking_messages(subject: Subject) -> Iterator[tuple[int, Message, Facts]]:
    for index, (message, facts) in enumerate(zip(subject.messages, subject.facts, strict=True)):
        if facts.thinking:
            yield index, message, facts


def _proof(part: Message) -> str:
    return text_of(part, _PROOFS.get(text_of(part, "type"), ""))


def _open_loop(subject: Subject) -> range:
    """Indexes of the assistant turn whose calls were not yet followed by a reply; empty if there is none."""
    for run in reversed(subject.runs):
        if is_assistant(subject.messages[run[0]]):
            asks = any(call.kind == "function" for index in run for call in subject.facts[index].calls)
            return run if asks else range(0)
        if any(subject.facts[index].user_turn and not subject.facts[index].results for index in run):
            return range(0)
    return range(0)


def _thinking_behind_calls(subject: Subject) -> Iterable[int]:
    asked = False
    for index in _open_loop(subject):
        for part in parts_of(subject.messages[index]):
            if asked and part.get("type") in _PROOFS:
                yield index
            asked = asked or part.get("type") == "tool_use"


def _open_loop_without_thinking(subject: Subject) -> Iterable[int]:
    run = _open_loop(subject)
    if run and subject.request.thinking == "enabled":
        parts = [part for index in run for part in parts_of(subject.messages[index])]
        if not parts or parts[0].get("type") not in _PROOFS:
            yield run[0]


def _edited(subject: Subject) -> Iterable[int]:
    known = {_proof(part): part for blocks in _received_blocks(subject) for part in blocks}
    for index, message, facts in _thinking_messages(subject):
        parts = [message["content"][part] for part in facts.thinking]
        if any(known.get(_proof(part), part) != part for part in parts):
            yield index


def _kept_in_part(subject: Subject) -> Iterable[int]:
    """Newest assistant turn: of what one reply thought, all or nothing."""
    there: dict[str, int] = {}
    for index, message, facts in _thinking_messages(subject):
        if index >= subject.newest_turn:
            there.update((_proof(message["content"][part]), index) for part in facts.thinking)
    for blocks in _received_blocks(subject):
        kept = [there[_proof(part)] for part in blocks if _proof(part) in there]
        if kept and len(kept) < len(blocks):
            yield kept[0]


def _received_blocks(subject: Subject) -> Iterator[list[Message]]:
    for message in subject.request.received or ():
        blocks = [part for part in parts_of(message) if part.get("type") in _PROOFS]
        if blocks:
            yield blocks


def _behind_a_summary(subject: Subject) -> Iterable[int]:
    start = subject.request.summary_at
    if start is None or subject.request.block_mismatch == "drop_block":
        return ()
    return (index for index, _, _ in _thinking_messages(subject) if index >= start)


def _behind_a_foreign_block(subject: Subject) -> Iterable[int]:
    first = subject.messages[:1]
    signed = any(
        part.get("type") == "compaction" and part.get("signature") for m in first for part in parts_of(m)
    )
    if signed and subject.request.compaction_model != subject.request.model:
        yield from (index for index, _, _ in _thinking_messages(subject))


CHECKS = (
    Check(
        "A10",
        Severity.ERROR,
        "thinking beside other parts has its `signature`, redacted thinking its `data`",
        _THREADS,
        _unsigned_in_a_reply,
    ),
    Check(
        "A10",
        Severity.WARNING,
        "thinking that is the whole message is signed too (an aborted reply leaves such a message behind, and "
        "recorded sessions went on with it)",
        _THREADS,
        _unsigned_alone,
    ),
    Check(
        "A10",
        Severity.ERROR,
        "in an open tool loop no thinking stands behind a tool_use of the same turn",
        _THREADS,
        _thinking_behind_calls,
    ),
    Check(
        "A10",
        Severity.ERROR,
        "with thinking `enabled` the assistant turn of an open tool loop begins with thinking",
        _THREADS,
        _open_loop_without_thinking,
        ("thinking",),
    ),
    Check("A10", Severity.ERROR, "thinking is as it was received", _THREADS, _edited, ("received",)),
    Check(
        "A10",
        Severity.ERROR,
        "of what one reply of the newest assistant turn thought, all blocks are there or none",
        _THREADS,
        _kept_in_part,
        ("received",),
    ),
    Check(
        "A11",
        Severity.ERROR,
        "behind a client-made summary there is no thinking, unless `drop_block` is asked for",
        "doc",
        _behind_a_summary,
        ("summary_at",),
    ),
    Check(
        "A11",
        Severity.WARNING,
        "thinking kept behind a signed block calls for the model that made the block",
        "doc",
        _behind_a_foreign_block,
        ("compaction_model", "model"),
    ),
)
