"""Tools that run at the provider: A17."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from precompact_shared.engine.validate.check import Check, Severity, Subject, is_assistant

_SERVER = "server"


def _results_without_call(subject: Subject) -> Iterable[int]:
    for run in subject.runs:
        asked = _answered_and_asked(subject, run)[1] if is_assistant(subject.messages[run[0]]) else {}
        for index, part, call_id in _results(subject, run):
            if asked.get(call_id, (index, part)) >= (index, part):
                yield index


def _calls_without_result(subject: Subject) -> Iterable[int]:
    for run in subject.runs[:-1]:
        answered, asked = _answered_and_asked(subject, run)
        yield from (index for call_id, (index, _) in asked.items() if call_id not in answered)


def _results(subject: Subject, run: range) -> Iterator[tuple[int, int, str]]:
    for index in run:
        for result in subject.facts[index].results:
            if result.kind == _SERVER:
                yield index, result.part or 0, result.id


def _answered_and_asked(subject: Subject, run: range) -> tuple[set[str], dict[str, tuple[int, int]]]:
    """Ids with a result, and the place of each call's first occurrence."""
    asked: dict[str, tuple[int, int]] = {}
    for index in run:
        if any(call.kind == _SERVER for call in subject.facts[index].calls):
            for place, part in enumerate(subject.messages[index]["content"]):
                if part["type"] in {"server_tool_use", "mcp_tool_use"}:
                    asked.setdefault(part["id"], (index, place))
    return {call_id for _, _, call_id in _results(subject, run)}, asked


_SOURCE = "anthropics/claude-code#64026, #64383"

CHECKS = (
    Check(
        "A17",
        Severity.ERROR,
        "the result of a server tool has its call before it in the same assistant message",
        _SOURCE,
        _results_without_call,
    ),
    Check(
        "A17",
        Severity.ERROR,
        "a call of a server tool keeps its result, unless the turn is paused at the end",
        _SOURCE,
        _calls_without_result,
    ),
)
