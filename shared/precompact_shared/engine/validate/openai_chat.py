"""Rules of OpenAI Chat Completions."""

from __future__ import annotations

from collections.abc import Iterable

from precompact_shared.engine.types import Message
from precompact_shared.engine.validate.check import Check, Severity, Subject, parts_of

_INSTEAD_OF_CONTENT = ("tool_calls", "function_call", "refusal", "audio")
_TEXT_ONLY = frozenset({"tool", "system", "developer", "assistant"})


def _calls_without_result(subject: Subject) -> Iterable[int]:
    return (position for position, _ in subject.unanswered())


def _results_without_call(subject: Subject) -> Iterable[int]:
    return (position for position, _ in subject.pairing.orphans)


def _silent_assistants(subject: Subject) -> Iterable[int]:
    for index, message in enumerate(subject.messages):
        speaks = message.get("content") is not None or any(message.get(key) for key in _INSTEAD_OF_CONTENT)
        if message.get("role") == "assistant" and not speaks:
            yield index


def _wrong_parts(subject: Subject) -> Iterable[int]:
    return (index for index, message in enumerate(subject.messages) if _has_wrong_parts(message))


def _has_wrong_parts(message: Message) -> bool:
    if message.get("content") == []:
        return True
    if message.get("role") not in _TEXT_ONLY:
        return False
    return any(part.get("type") not in {"text", "refusal"} for part in parts_of(message))


CHECKS = (
    Check("C1", Severity.ERROR, _calls_without_result),
    Check("C2", Severity.ERROR, _results_without_call),
    Check("C3", Severity.ERROR, _silent_assistants),
    Check("C4", Severity.ERROR, _wrong_parts),
)
