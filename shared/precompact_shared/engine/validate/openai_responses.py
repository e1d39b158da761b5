"""Rules of OpenAI Responses."""

from __future__ import annotations

from collections.abc import Iterable

from precompact_shared.engine.types import Message, Role
from precompact_shared.engine.validate.check import Check, Severity, Subject

_FUNCTION = "function"


def _functions_without_output(subject: Subject) -> Iterable[int]:
    return (position for position, call in subject.unanswered() if call.kind == _FUNCTION)


def _outputs_without_function(subject: Subject) -> Iterable[int]:
    return (position for position, result in subject.pairing.orphans if result.kind == _FUNCTION)


def _other_kinds_unpaired(subject: Subject) -> Iterable[int]:
    yield from (position for position, call in subject.unanswered() if call.kind != _FUNCTION)
    yield from (position for position, result in subject.pairing.orphans if result.kind != _FUNCTION)


def _reasoning_alone(subject: Subject, *, stored: bool) -> Iterable[int]:
    last = len(subject.facts) - 1
    for index, facts in enumerate(subject.facts):
        if not facts.reasoning or ("id" in subject.messages[index]) is not stored:
            continue
        if index == last and subject.open_end_ok:
            continue
        if index == last or subject.facts[index + 1].role not in {Role.ASSISTANT, Role.OTHER}:
            yield index


def _stored_reasoning_alone(subject: Subject) -> Iterable[int]:
    return _reasoning_alone(subject, stored=True)


def _unnamed_reasoning_alone(subject: Subject) -> Iterable[int]:
    return _reasoning_alone(subject, stored=False)


def _malformed_reasoning(subject: Subject) -> Iterable[int]:
    for index, (item, facts) in enumerate(zip(subject.messages, subject.facts, strict=True)):
        if facts.reasoning and _is_malformed(item):
            yield index


def _is_malformed(item: Message) -> bool:
    return not isinstance(item.get("summary"), list) or item.get("content") not in (None, [])


CHECKS = (
    Check("O1", Severity.ERROR, _functions_without_output),
    Check("O2", Severity.ERROR, _outputs_without_function),
    Check("O3", Severity.ERROR, _other_kinds_unpaired),
    Check("O4", Severity.ERROR, _stored_reasoning_alone),
    Check("O4", Severity.WARNING, _unnamed_reasoning_alone),
    Check("O6", Severity.ERROR, _malformed_reasoning),
)
"""An item with an id is looked up and missed; one without is read as it is, and did pass in a recorded session."""
