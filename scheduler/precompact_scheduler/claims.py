"""From a decision to what is written: the wish for a job, and the record that `why` reads."""

from __future__ import annotations

import secrets

import msgspec

from precompact_scheduler.facts import Statement
from precompact_shared.engine.limits import Limits
from precompact_shared.engine.trigger import Decision, SizeFacts, start_point
from precompact_shared.store.ops import ClaimSpec
from precompact_shared.store.types import JobKind

EXTRACTIVE_ONLY = "extractive_only"
"""Key in a job's extra facts: no paid call may be made for it."""


def new_jid(statement: Statement, kind: str) -> str:
    """An id that says whose job it is; Flower shows and searches it."""
    return f"{statement.tenant}:{statement.session}:{statement.version}:{kind}:{secrets.token_hex(4)}"


def claim_of(statement: Statement, decision: Decision, deadline_ms: int) -> ClaimSpec:
    """The job that a decision asks for."""
    kind = JobKind(decision.kind or JobKind.DUE)
    return ClaimSpec(
        jid=new_jid(statement, kind),
        kind=kind,
        urgency=decision.urgency_ms,
        base=decision.base,
        deadline_ms=deadline_ms,
        extra={EXTRACTIVE_ONLY: True} if decision.extractive_only else {},
    )


def record_of(statement: Statement, facts: SizeFacts, decision: Decision) -> bytes:
    """A decision with its facts, as JSON; numbers and words of ours only."""
    record = {
        "kind": "decided",
        "at_ms": statement.at_ms,
        "version": statement.version,
        "length": statement.length,
        "action": decision.action,
        "job_kind": decision.kind,
        "reason": decision.reason,
        "row": decision.row,
        "urgency_ms": decision.urgency_ms,
        "tokens": statement.tokens,
        "growth_tokens_per_s": statement.growth_tokens_per_s,
        **_numbers(facts.limits, facts),
    }
    return msgspec.json.encode(record)


def _numbers(limits: Limits | None, facts: SizeFacts) -> dict[str, int]:
    if limits is None:
        return {}
    start = start_point(limits, facts.growth_tokens_per_s, facts.p95_job_s)
    return {"start": start, "limit": limits.limit, "hard": limits.hard, "min_tokens": limits.min_tokens}
