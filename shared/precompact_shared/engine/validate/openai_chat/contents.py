"""What a message holds: C3, C4."""

from __future__ import annotations

from collections.abc import Iterable

from precompact_shared.engine.types import Message
from precompact_shared.engine.validate.check import (
    Check,
    Severity,
    Subject,
    is_assistant,
    parts_of,
    text_of,
    where,
)

_INSTEAD_OF_CONTENT = ("tool_calls", "function_call", "refusal", "audio")
_TEXTS = frozenset({"text", "refusal"})


def _silent_assistants(subject: Subject) -> Iterable[int]:
    return where(subject, _is_silent)


def _is_silent(message: Message) -> bool:
    speaks = message.get("content") is not None or any(message.get(key) for key in _INSTEAD_OF_CONTENT)
    return is_assistant(message) and not speaks


def _wrong_parts(subject: Subject) -> Iterable[int]:
    return where(subject, _has_wrong_parts)


def _has_wrong_parts(message: Message) -> bool:
    if message.get("content") == []:
        return True
    if message.get("role") == "user":
        return False
    return any(text_of(part, "type") not in _TEXTS for part in parts_of(message))


CHECKS = (
    Check(
        "C3",
        Severity.ERROR,
        "an assistant's `content` is null or absent only with tool_calls, function_call, refusal or audio",
        "sdk",
        _silent_assistants,
    ),
    Check(
        "C4",
        Severity.ERROR,
        "array content is never empty; only user messages hold parts that are no text",
        "sdk",
        _wrong_parts,
    ),
)
