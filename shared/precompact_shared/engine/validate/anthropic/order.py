"""How many messages, in which order of roles: A1, A2, A3, A4, A16."""

from __future__ import annotations

import re
from collections.abc import Iterable

from precompact_shared.engine.validate.check import Check, Severity, Subject, is_assistant, parts_of
from precompact_shared.engine.validate.request import OUTSIDE

_MOST_MESSAGES = 100_000
_NO_PREFILL_SINCE = (4, 6)
_VERSION = re.compile(r"claude\D*?(\d{1,2})(?!\d)(?:[-.](\d{1,2})(?!\d))?")


def _wrong_count(subject: Subject) -> Iterable[int]:
    if not subject.messages and not subject.open_end_ok:
        yield OUTSIDE
    if len(subject.messages) > _MOST_MESSAGES:
        yield _MOST_MESSAGES


def _does_not_begin_with_user(subject: Subject) -> Iterable[int]:
    for message in subject.messages[:1]:
        if message.get("role") != "user" and not (is_assistant(message) and _opens_with_block(subject)):
            yield 0


def _opens_with_block(subject: Subject) -> bool:
    return any(part.get("type") == "compaction" for part in parts_of(subject.messages[0])[:1])


def _not_merged(subject: Subject) -> Iterable[int]:
    return (index for run in subject.runs for index in run[1:] if subject.request.normalized)


def _prefilled(subject: Subject) -> Iterable[int]:
    if subject.open_end_ok or subject.request.compacting or not _refuses_prefill(subject.request.model):
        return
    last = len(subject.messages) - 1
    if subject.messages and is_assistant(subject.messages[last]):
        yield last


def _refuses_prefill(model: str | None) -> bool:
    found = _VERSION.search((model or "").lower())
    return found is not None and (int(found[1]), int(found[2] or 0)) >= _NO_PREFILL_SINCE


def _misplaced_system(subject: Subject) -> Iterable[int]:
    for run in subject.runs:
        if run[0] == 0 or subject.messages[run[0]].get("role") != "system":
            continue
        if is_assistant(subject.messages[run[0] - 1]) or _behind_block_with_thinking(subject, run[0]):
            yield run[0]


def _behind_block_with_thinking(subject: Subject, index: int) -> bool:
    """Whether the block is all that stands in front of `index`, and thinking comes later."""
    alone = index == 1 and len(parts_of(subject.messages[0])) == 1 and _opens_with_block(subject)
    return alone and any(facts.thinking for facts in subject.facts[index:])


CHECKS = (
    Check("A1", Severity.ERROR, "1 to 100,000 messages", "sdk", _wrong_count),
    Check(
        "A2",
        Severity.ERROR,
        "the first message is the user's; with a `compaction` block in front it may be the assistant's",
        "doc, error text",
        _does_not_begin_with_user,
    ),
    Check(
        "A3",
        Severity.HOUSE,
        "neighbours of one role, which the API merges, are merged before hashing and pairing; asked of senders that "
        "say they merge",
        "sdk",
        _not_merged,
        ("normalized",),
    ),
    Check(
        "A4",
        Severity.ERROR,
        "for models from 4.6 on the last message is not the assistant's, unless a compaction is asked for",
        "doc",
        _prefilled,
        ("model",),
    ),
    Check(
        "A16",
        Severity.ERROR,
        "a system message in mid-conversation follows a user turn, and not the compaction block alone when thinking "
        "is kept (a role that is none of user, assistant, system is `F0`)",
        "doc",
        _misplaced_system,
    ),
)
