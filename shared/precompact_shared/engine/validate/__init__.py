"""Whether a provider would take a list of messages: a table of small named checks for each wire format."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from precompact_shared.engine.formats import InvalidEntry
from precompact_shared.engine.formats import facts as facts_of
from precompact_shared.engine.pairing import pair_facts
from precompact_shared.engine.types import Facts, Format, Role
from precompact_shared.engine.validate import anthropic, openai_chat, openai_responses
from precompact_shared.engine.validate.check import Check, Severity, Subject, Violation

__all__ = ["CHECKS", "Check", "Severity", "Violation", "validate"]

CHECKS: dict[Format, tuple[Check, ...]] = {
    Format.ANTHROPIC: anthropic.CHECKS,
    Format.OPENAI_CHAT: openai_chat.CHECKS,
    Format.OPENAI_RESPONSES: openai_responses.CHECKS,
}
"""The rules, by the ids of the providers' rules."""

NO_MESSAGE = "F0"
"""Id of what is no message of the format at all."""


def validate(
    format: Format,  # noqa: A002 - the word of the design
    messages: Sequence[Any],
    *,
    open_end_ok: bool = False,
) -> tuple[Violation, ...]:
    """Every breach, by index; at most one for each rule and message.

    With `open_end_ok` calls at the very end may still be without result. A value that is no message of the
    format is reported as `F0`; then nothing else is.
    """
    facts: list[Facts] = []
    strange: list[Violation] = []
    for index, message in enumerate(messages):
        try:
            facts.append(facts_of(format, message))
        except InvalidEntry:
            strange.append(Violation(NO_MESSAGE, Severity.ERROR, index))
            facts.append(Facts(Role.OTHER))
    if strange:
        return tuple(strange)
    subject = Subject(messages, facts, pair_facts(format, facts), open_end_ok)
    found = {
        Violation(check.id, check.severity, index)
        for check in CHECKS[format]
        for index in check.find(subject)
    }
    return tuple(sorted(found, key=lambda violation: (violation.index, violation.id)))
