"""The order of roles: C5, C6."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from precompact_shared.engine.types import Role
from precompact_shared.engine.validate.check import Check, Severity, Subject


def _neighbours_of_one_role(subject: Subject) -> Iterable[int]:
    if not subject.request.alternating_roles:
        return
    for index, (before, after) in enumerate(pairwise(subject.facts), 1):
        if before.role is after.role and after.role is not Role.TOOL:
            yield index


def _late_system_messages(subject: Subject) -> Iterable[int]:
    facts = subject.facts if subject.request.normalized else ()
    return (index for index, fact in enumerate(facts) if index and fact.role is Role.SYSTEM)


def _summary_of_another_role(subject: Subject) -> Iterable[int]:
    index = subject.request.summary_at
    if index is not None and 0 <= index < len(subject.facts) and subject.facts[index].role is not Role.USER:
        yield index


CHECKS = (
    Check(
        "C5",
        Severity.HOUSE,
        "for servers that want roles by turns, neighbours of one role are merged",
        "compatible servers",
        _neighbours_of_one_role,
        ("alternating_roles",),
    ),
    Check(
        "C6",
        Severity.HOUSE,
        "one system or developer message at most, and it leads; asked of senders that say they see to it",
        "house rule",
        _late_system_messages,
        ("normalized",),
    ),
    Check(
        "C6",
        Severity.HOUSE,
        "the summary is a user message, since it holds untrusted text",
        "house rule",
        _summary_of_another_role,
        ("summary_at",),
    ),
)
