"""Whether a provider would take a list of messages: a table of small named checks for each wire format."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from precompact_shared.engine.formats import InvalidEntry
from precompact_shared.engine.formats import facts as facts_of
from precompact_shared.engine.pairing import pair_facts
from precompact_shared.engine.types import Facts, Format
from precompact_shared.engine.validate import anthropic, openai_chat, openai_responses
from precompact_shared.engine.validate.check import Check, Severity, Subject, Violation
from precompact_shared.engine.validate.request import OUTSIDE, UNKNOWN, RequestFacts, fingerprint
from precompact_shared.engine.validate.rules import ALL, ERRORS, NO_MESSAGE, Rules

__all__ = [
    "ALL",
    "CHECKS",
    "ERRORS",
    "NO_MESSAGE",
    "OUTSIDE",
    "Check",
    "RequestFacts",
    "Rules",
    "Severity",
    "Violation",
    "find_breaches",
    "fingerprint",
    "is_valid",
    "silent_checks",
    "validate",
]

CHECKS: dict[Format, tuple[Check, ...]] = {
    Format.ANTHROPIC: anthropic.CHECKS,
    Format.OPENAI_CHAT: openai_chat.CHECKS,
    Format.OPENAI_RESPONSES: openai_responses.CHECKS,
}
"""The rules, by the ids of the providers' rules. A rule of several parts has several rows of one id."""
_A_MESSAGE = Check(NO_MESSAGE, Severity.ERROR, "it is a message of the format at all", "sdk", lambda _: ())


def validate(
    format: Format,  # noqa: A002 - the word of the design
    messages: Sequence[Any],
    *,
    request: RequestFacts | None = None,
    rules: Rules = ALL,
    open_end_ok: bool = False,
) -> tuple[Violation, ...]:
    """Every breach, by index and id; at most one for each row of the table and message. O(n).

    Rows that need facts which `request` does not hold are silent; `silent_checks` names them. With `open_end_ok`
    more may follow: calls at the very end may still be without result, the last message may be anyone's, and there
    may be no message at all. A value that is no message of the format is reported as `F0`; then nothing else is.

    Severity tells what to do: an error is what the provider refuses. Where a rule's text condemns what recorded
    sessions of real agents hold and went on with (an assistant message of whitespace alone, an aborted reply that
    is nothing but unsigned thinking, a reasoning item without id in front of an interruption, an item named twice
    by a client), that part of the rule is a row of its own and only warns.
    """
    found = {
        Violation(check.id, check.severity, index)
        for check, index in find_breaches(
            format, messages, request=request, rules=rules, open_end_ok=open_end_ok
        )
    }
    return tuple(sorted(found, key=lambda violation: (violation.index, violation.id, violation.severity)))


def find_breaches(
    format: Format,  # noqa: A002
    messages: Sequence[Any],
    *,
    request: RequestFacts | None = None,
    rules: Rules = ALL,
    open_end_ok: bool = False,
) -> tuple[tuple[Check, int], ...]:
    """The same with the row of the table that is broken, which says what it demands; by index, then as the table."""
    facts: list[Facts] = []
    strange: list[int] = []
    for index, message in enumerate(messages):
        try:
            facts.append(facts_of(format, message))
        except InvalidEntry:
            strange.append(index)
    if strange:
        return tuple((_A_MESSAGE, index) for index in strange)
    known = request or UNKNOWN
    subject = Subject(format, messages, facts, pair_facts(format, facts), known, open_end_ok)
    found = [
        (check, index)
        for check in CHECKS[format]
        if rules.include(check) and _is_answerable(check, known)
        for index in sorted(set(check.find(subject)))
    ]
    return tuple(sorted(found, key=lambda breach: breach[1]))


def is_valid(
    format: Format,  # noqa: A002
    messages: Sequence[Any],
    *,
    request: RequestFacts | None = None,
    rules: Rules = ERRORS,
    open_end_ok: bool = False,
) -> bool:
    """Whether a provider would take the messages: no breach of `rules`, which are those of severity error."""
    return not validate(format, messages, request=request, rules=rules, open_end_ok=open_end_ok)


def silent_checks(
    format: Format,  # noqa: A002
    request: RequestFacts | None = None,
    rules: Rules = ALL,
) -> tuple[Check, ...]:
    """Rows of the table that were wanted but say nothing, because `request` lacks a fact they need."""
    known = request or UNKNOWN
    return tuple(
        check for check in CHECKS[format] if rules.include(check) and not _is_answerable(check, known)
    )


def _is_answerable(check: Check, request: RequestFacts) -> bool:
    return all(getattr(request, need) is not None for need in check.needs)
