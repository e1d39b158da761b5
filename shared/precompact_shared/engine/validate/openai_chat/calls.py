"""Calls and their results: C1, C2."""

from __future__ import annotations

from collections.abc import Iterable

from precompact_shared.engine.validate.check import Check, Severity, Subject


def _calls_without_result(subject: Subject) -> Iterable[int]:
    return (position for position, _ in subject.unanswered())


def _results_without_call(subject: Subject) -> Iterable[int]:
    return (position for position, _ in subject.pairing.orphans)


CHECKS = (
    Check(
        "C1",
        Severity.ERROR,
        "an assistant with `tool_calls` is followed by tool messages for every id, before any other role",
        "sdk, doc",
        _calls_without_result,
    ),
    Check(
        "C2",
        Severity.ERROR,
        "each tool message answers one such id, and no id is answered twice",
        "sdk, doc",
        _results_without_call,
    ),
)
