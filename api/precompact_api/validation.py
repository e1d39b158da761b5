"""Whether a context that is about to be adopted is one its provider takes, for those whom the policy chooses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from zlib import crc32

import msgspec

from precompact_api import metrics
from precompact_api.repairs import Marks, context_edits, read_entries
from precompact_api.service import Service
from precompact_shared.engine.edits import InvalidEdit, apply_context
from precompact_shared.engine.formats import user_message
from precompact_shared.engine.types import Edit, Format, Message
from precompact_shared.engine.validate import ERRORS, validate
from precompact_shared.logging import get_logger
from precompact_shared.policy import VALIDATED_ONE_IN, Policy, Validation
from precompact_shared.store.types import CandidateTag, SessionView

CHUNK = 500
UNREADABLE = "unreadable"
"""Stands for a rule where insert and edits make no list at all."""


def is_chosen(policy: Policy, cid: str) -> bool:
    """Whether the policy wants this candidate's context looked at; a sample always takes the same ones."""
    match policy.validate_contexts:
        case Validation.OFF:
            return False
        case Validation.ALWAYS:
            return True
        case Validation.SAMPLE:
            return crc32(cid.encode()) % VALIDATED_ONE_IN == 0


async def is_sendable(
    service: Service,
    view: SessionView,
    tag: CandidateTag,
    *,
    insert: Sequence[msgspec.Raw],
    edits: tuple[Edit, ...],
    marks: Marks,
    policy: Policy,
) -> bool:
    """Whether the context keeps every rule that the kept tail by itself keeps (invariant I5). O(tail).

    True where the policy does not ask. What is wrong goes to the log and to `precompact_contexts_validated_total`.
    """
    if not is_chosen(policy, tag.cid):
        return True
    tail: list[Message] = []
    for start in range(tag.upto, view.length, CHUNK):
        seqs = list(range(start, min(start + CHUNK, view.length)))
        tail += [entry.message for entry in await read_entries(service, view, seqs)]
    every = await context_edits(service, view, tag.upto, edits, marks)
    broken = broken_rules(Format(view.format), map(msgspec.json.decode, insert), tail, tag.upto, every)
    metrics.VALIDATED.labels("invalid" if broken else "valid").inc()
    if broken:
        get_logger().error(
            "candidate would break rules", session=view.session, cid=tag.cid, rules=sorted(broken)
        )
    return not broken


def broken_rules(
    wire: Format, insert: Iterable[Message], tail: Sequence[Message], start: int, edits: Sequence[Edit]
) -> frozenset[str]:
    """Ids of the rules that the context breaks and the tail behind a plain user message does not."""
    opened = [user_message(wire, "…"), *tail]
    try:
        context = apply_context([*([{}] * start), *tail], tuple(insert), start, edits)
    except InvalidEdit:
        return frozenset({UNREADABLE})
    return frozenset(_errors(wire, context) - _errors(wire, opened))


def _errors(wire: Format, messages: Sequence[Message]) -> set[str]:
    return {breach.id for breach in validate(wire, messages, rules=ERRORS, open_end_ok=True)}
