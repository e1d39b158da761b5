"""Calls and their results: A5, A6, A7, A8, A20."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from precompact_shared.engine.types import Result, Role
from precompact_shared.engine.validate.check import Check, Severity, Subject, is_assistant, parts_of, text_of

_FUNCTION = "function"


def _calls_without_result(subject: Subject) -> Iterable[int]:
    return (position for position, _ in subject.unanswered())


def _results_without_call(subject: Subject) -> Iterable[int]:
    return (position for position, asked in _orphans(subject) if not asked)


def _second_results(subject: Subject) -> Iterable[int]:
    return (position for position, asked in _orphans(subject) if asked)


def _orphans(subject: Subject) -> Iterator[tuple[int, bool]]:
    """Positions of results that answer nothing, and whether a call of the turn in front has their id."""
    loose: dict[int, list[Result]] = {}
    for position, result in subject.pairing.orphans:
        if result.kind == _FUNCTION:
            loose.setdefault(position, []).append(result)
    asked: set[str] = set()
    for run in subject.runs:
        if is_assistant(subject.messages[run[0]]):
            asked = {call.id for index in run for call in subject.facts[index].calls}
        for index in run:
            yield from ((index, result.id in asked) for result in loose.get(index, ()))


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


def _repeated_ids(subject: Subject) -> Iterable[int]:
    seen: set[str] = set()
    for index, facts in enumerate(subject.facts):
        for call in facts.calls:
            if call.kind == _FUNCTION and call.id in seen:
                yield index
            seen.add(call.id)
    yield from _second_results(subject)


def _calls_of_absent_tools(subject: Subject) -> Iterable[int]:
    offered = {text_of(tool, "name") for tool in subject.request.tools or ()}
    for index, facts in enumerate(subject.facts):
        if any(call.kind == _FUNCTION and call.name not in offered for call in facts.calls):
            yield index


CHECKS = (
    Check(
        "A5",
        Severity.ERROR,
        "once neighbours are merged, an assistant's calls are all answered by the user message right behind",
        "anthropics/claude-code#8210, #2796, #24670; OpenHands/OpenHands#7512",
        _calls_without_result,
    ),
    Check(
        "A6",
        Severity.ERROR,
        "each tool_result belongs to a tool_use of the assistant message right in front",
        "anthropics/claude-code#18947, openclaw/openclaw#8525",
        _results_without_call,
    ),
    Check(
        "A7",
        Severity.ERROR,
        "in that user message the tool_result blocks stand before all others",
        "tool-use documentation, third-party validator",
        _results_behind_other_parts,
    ),
    Check(
        "A8",
        Severity.ERROR,
        "tool_use ids are unique in the request, and each has one result",
        "third-party report",
        _repeated_ids,
    ),
    Check(
        "A20",
        Severity.HOUSE,
        "every tool that history calls is among the request's `tools`",
        "cache and API checks",
        _calls_of_absent_tools,
        ("tools",),
    ),
)
