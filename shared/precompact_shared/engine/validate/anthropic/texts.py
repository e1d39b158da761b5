"""Empty and blank text: A9a, A9b, A9c."""

from __future__ import annotations

from collections.abc import Iterable

from precompact_shared.engine.types import Message
from precompact_shared.engine.validate.check import Check, Severity, Subject, is_assistant, parts_of, where
from precompact_shared.engine.validate.request import OUTSIDE

_THREADS = "anthropics/claude-code#59812, #23440; experientiallabs/experiential#804"


def _empty_texts(subject: Subject) -> Iterable[int]:
    return where(subject, lambda message: any(map(_is_empty_text, parts_of(message))))


def _empty_system_texts(subject: Subject) -> Iterable[int]:
    system = subject.request.system
    if isinstance(system, tuple) and any(map(_is_empty_text, system)):
        yield OUTSIDE


def _is_empty_text(part: Message) -> bool:
    return part.get("type") == "text" and part.get("text") == ""


def _blank_users(subject: Subject) -> Iterable[int]:
    return (index for index in _blank_runs(subject) if not is_assistant(subject.messages[index]))


def _blank_assistants(subject: Subject) -> Iterable[int]:
    return (index for index in _blank_runs(subject) if is_assistant(subject.messages[index]))


def _blank_runs(subject: Subject) -> Iterable[int]:
    """Messages of blank text alone; neighbours of one role are one message, so one that speaks is enough."""
    for run in subject.runs:
        if all(subject.facts[index].blank for index in run):
            yield from (index for index in run if not _is_left_empty(subject.messages[index]))


def _empty_assistants(subject: Subject) -> Iterable[int]:
    return where(subject, _is_left_empty)


def _is_left_empty(message: Message) -> bool:
    return is_assistant(message) and message.get("content") in ("", [])


def _blank_texts(subject: Subject) -> Iterable[int]:
    for index, facts in enumerate(subject.facts if subject.request.normalized else ()):
        if not facts.blank and any(map(_is_blank_text, parts_of(subject.messages[index]))):
            yield index


def _is_blank_text(part: Message) -> bool:
    text = part.get("text")
    return part.get("type") == "text" and isinstance(text, str) and text != "" and not text.strip()


CHECKS = (
    Check("A9a", Severity.ERROR, 'no text block "" in any role', _THREADS, _empty_texts),
    Check("A9a", Severity.ERROR, 'no text block "" in `system`', _THREADS, _empty_system_texts, ("system",)),
    Check(
        "A9b",
        Severity.ERROR,
        'a user or system message is not whitespace alone, "" or []',
        _THREADS,
        _blank_users,
    ),
    Check(
        "A9b",
        Severity.WARNING,
        "an assistant message is not whitespace alone (a cancelled reply leaves that behind, and recorded sessions "
        "went on with it)",
        _THREADS,
        _blank_assistants,
    ),
    Check(
        "A9c",
        Severity.ERROR,
        'no assistant message "" or [] (one probe let it pass; the list of what a provider refuses of the recordings has it)',
        "house rule, recordings",
        _empty_assistants,
    ),
    Check(
        "A9c",
        Severity.HOUSE,
        "no blank text block beside other parts; asked of senders that say they drop them",
        "house rule",
        _blank_texts,
        ("normalized",),
    ),
)
