"""Reasoning items: O4, O5, O6."""

from __future__ import annotations

from collections.abc import Iterable

from precompact_shared.engine.types import Message, Role
from precompact_shared.engine.validate.check import Check, Severity, Subject, text_of, where


def _stored_reasoning_alone(subject: Subject) -> Iterable[int]:
    return (index for index in _reasoning_alone(subject) if text_of(subject.messages[index], "id"))


def _unnamed_reasoning_alone(subject: Subject) -> Iterable[int]:
    return (index for index in _reasoning_alone(subject) if not text_of(subject.messages[index], "id"))


def _reasoning_alone(subject: Subject) -> Iterable[int]:
    last = len(subject.facts) - 1
    for index, facts in enumerate(subject.facts):
        if not facts.reasoning or (index == last and subject.open_end_ok):
            continue
        if index == last or subject.facts[index + 1].role not in {Role.ASSISTANT, Role.OTHER}:
            yield index


def _not_stored_anywhere(subject: Subject) -> Iterable[int]:
    return where(subject, _leans_on_the_store) if subject.request.store is False else ()


def _leans_on_the_store(item: Message) -> bool:
    kind = item.get("type")
    return kind == "item_reference" or (kind == "reasoning" and not text_of(item, "encrypted_content"))


def _malformed_reasoning(subject: Subject) -> Iterable[int]:
    for index, (item, facts) in enumerate(zip(subject.messages, subject.facts, strict=True)):
        if facts.reasoning and _is_malformed(item):
            yield index


def _is_malformed(item: Message) -> bool:
    return not isinstance(item.get("summary"), list) or item.get("content") not in (None, [])


CHECKS = (
    Check(
        "O4",
        Severity.ERROR,
        "what came with a reasoning item stays right behind it; both stay or both go",
        "microsoft/agent-framework-go#784",
        _stored_reasoning_alone,
    ),
    Check(
        "O4",
        Severity.WARNING,
        "the same for a reasoning item without id, which nobody looks up: read as it is, and seen to pass in front "
        "of an interruption",
        "microsoft/agent-framework-go#784",
        _unnamed_reasoning_alone,
    ),
    Check(
        "O5",
        Severity.ERROR,
        "with `store: false` reasoning has its `encrypted_content`, and nothing is an `item_reference`",
        "vercel/ai#7543, maximhq/bifrost#5410",
        _not_stored_anywhere,
        ("store",),
    ),
    Check(
        "O6",
        Severity.ERROR,
        "replayed reasoning has `summary` (may be []) and no or empty `content`",
        "sdk, spec",
        _malformed_reasoning,
    ),
)
