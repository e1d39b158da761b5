"""Rules of Anthropic Messages."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import Any

from precompact_shared.engine.types import Role
from precompact_shared.engine.validate.check import Check, Severity, Subject, parts_of


def _does_not_begin_with_user(subject: Subject) -> Iterable[int]:
    for message in subject.messages[:1]:
        compacted = any(part.get("type") == "compaction" for part in parts_of(message)[:1])
        if message.get("role") != "user" and not compacted:
            yield 0


def _calls_without_result(subject: Subject) -> Iterable[int]:
    return (position for position, _ in subject.unanswered())


def _results_without_call(subject: Subject) -> Iterable[int]:
    return (position for position, result in subject.pairing.orphans if result.kind != "server")


def _server_results_without_call(subject: Subject) -> Iterable[int]:
    return (position for position, result in subject.pairing.orphans if result.kind == "server")


def _results_behind_other_parts(subject: Subject) -> Iterable[int]:
    others_seen = False
    for index, (message, facts) in enumerate(zip(subject.messages, subject.facts, strict=True)):
        if facts.role not in {Role.USER, Role.TOOL}:
            others_seen = False
            continue
        places = {result.part for result in facts.results}
        parts = parts_of(message)
        first_other = next((at for at in range(len(parts)) if at not in places), len(parts))
        if places and (others_seen or max(place or 0 for place in places) > first_other):
            yield index
        others_seen = others_seen or first_other < len(parts) or isinstance(message.get("content"), str)


def _empty_texts(subject: Subject) -> Iterable[int]:
    for index, message in enumerate(subject.messages):
        if any(part.get("type") == "text" and part.get("text") == "" for part in parts_of(message)):
            yield index


def _blank_messages(subject: Subject) -> Iterable[int]:
    """Messages of blank text alone; neighbours of one role are one message, so one that speaks is enough."""
    for run in _runs_of_one_role(subject):
        if all(subject.facts[index].blank for index in run):
            yield from (index for index in run if not _is_empty_assistant(subject.messages[index]))


def _runs_of_one_role(subject: Subject) -> Iterable[list[int]]:
    indexes = range(len(subject.messages))
    return (list(run) for _, run in groupby(indexes, key=lambda index: subject.messages[index]["role"]))


def _empty_assistants(subject: Subject) -> Iterable[int]:
    return (index for index, message in enumerate(subject.messages) if _is_empty_assistant(message))


def _is_empty_assistant(message: dict[str, Any]) -> bool:
    return message.get("role") == "assistant" and message.get("content") in ("", [])


def _unsigned_thinking(subject: Subject) -> Iterable[int]:
    for index, (message, facts) in enumerate(zip(subject.messages, subject.facts, strict=True)):
        if any(not _is_signed(message["content"][part]) for part in facts.thinking):
            yield index


def _is_signed(part: dict[str, Any]) -> bool:
    proof = part.get("signature" if part["type"] == "thinking" else "data")
    return isinstance(proof, str) and bool(proof)


CHECKS = (
    Check("A2", Severity.ERROR, _does_not_begin_with_user),
    Check("A5", Severity.ERROR, _calls_without_result),
    Check("A6", Severity.ERROR, _results_without_call),
    Check("A7", Severity.ERROR, _results_behind_other_parts),
    Check("A9a", Severity.ERROR, _empty_texts),
    Check("A9b", Severity.ERROR, _blank_messages),
    Check("A9c", Severity.HOUSE, _empty_assistants),
    Check("A10", Severity.ERROR, _unsigned_thinking),
    Check("A17", Severity.ERROR, _server_results_without_call),
)
