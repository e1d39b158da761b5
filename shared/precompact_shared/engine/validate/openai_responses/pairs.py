"""Calls and their outputs: O1, O2, O3."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from precompact_shared.engine.types import Result
from precompact_shared.engine.validate.check import Check, Severity, Subject

_FUNCTION = "function"


def _functions_not_answered_once(subject: Subject) -> Iterable[int]:
    yield from (position for position, call in subject.unanswered() if call.kind == _FUNCTION)
    yield from (at for at, result, asked in _orphans(subject) if asked and result.kind == _FUNCTION)


def _outputs_without_function(subject: Subject) -> Iterable[int]:
    return (at for at, result, asked in _orphans(subject) if not asked and result.kind == _FUNCTION)


def _other_kinds_unpaired(subject: Subject) -> Iterable[int]:
    yield from (position for position, call in subject.unanswered() if call.kind != _FUNCTION)
    yield from (at for at, result, _ in _orphans(subject) if result.kind != _FUNCTION)


def _orphans(subject: Subject) -> Iterator[tuple[int, Result, bool]]:
    """Outputs that answer nothing here or in the chain, and whether a call in front of them has their id."""
    loose = dict(subject.pairing.orphans)
    seen: set[tuple[str, str]] = set()
    for at, facts in enumerate(subject.facts if loose else ()):
        seen.update((call.kind, call.id) for call in facts.calls)
        if at in loose and not _answers_the_chain(subject, loose[at]):
            yield at, loose[at], (loose[at].kind, loose[at].id) in seen


def _answers_the_chain(subject: Subject, result: Result) -> bool:
    request = subject.request
    if not request.previous_response_id and not request.conversation:
        return False
    return request.chain_call_ids is None or result.id in request.chain_call_ids


CHECKS = (
    Check(
        "O1",
        Severity.ERROR,
        "every function_call has one function_call_output of its call_id behind it, and not more",
        "openai/openai-agents-python#2317",
        _functions_not_answered_once,
    ),
    Check(
        "O2",
        Severity.ERROR,
        "no function_call_output without its call before it, here or in the chain of `previous_response_id`",
        "OpenMinis/OpenMinis#222",
        _outputs_without_function,
    ),
    Check(
        "O3",
        Severity.ERROR,
        "the same for custom, shell, apply_patch, computer, tool search, program and approval pairs, each by type",
        "sdk",
        _other_kinds_unpaired,
    ),
)
