"""What happened between one `prepare` and the next, as events that a timeline shows."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from precompact.context import Context, Status


class Happening(StrEnum):
    """Kinds of events."""

    JOB = "job"
    """Background work began."""
    READY = "ready"
    """A candidate waits for adoption."""
    ADOPTED = "adopted"
    WAITED = "waited"
    REDUCED = "reduced"
    OVERFLOW = "overflow"
    KEPT_GOING = "kept going"
    """At the soft limit without a candidate: the agent goes on, nobody waits."""
    UNREACHABLE = "unreachable"
    INVALID = "invalid"
    """The provider would refuse the context."""


_BY_STATUS = {
    Status.ADOPTED: Happening.ADOPTED,
    Status.WAITED: Happening.WAITED,
    Status.REDUCED: Happening.REDUCED,
    Status.OVERFLOW: Happening.OVERFLOW,
    Status.UNREACHABLE: Happening.UNREACHABLE,
}


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened, and the numbers that go with it, ready to print."""

    kind: Happening
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """How things stand behind one `prepare`. Times in seconds of session time, sizes in tokens."""

    session_s: float
    total_s: float
    """Of the whole session."""
    call: int
    calls: int
    length: int
    tokens: int
    limit: int
    hard: int
    window: int
    prepare_ms: float
    events: tuple[Event, ...] = ()


@dataclass(slots=True)
class Watcher:
    """Remembers what was seen, so that each job and each candidate is told once."""

    job: str | None = None
    candidate: str | None = None
    near: bool = False

    def look(self, context: Context, *, tokens_before: int) -> tuple[Event, ...]:
        """The events since the last look; `tokens_before` is the context's size at the last one."""
        found = [*self._job(context), *self._candidate(context), *self._status(context, tokens_before)]
        return tuple(found)

    def _job(self, context: Context) -> list[Event]:
        job = context.compaction.job
        if job is None or job.id == self.job:
            return []
        self.job = job.id
        share = (
            f" at {context.tokens / context.limit:.0%} of the limit"
            if context.tokens and context.limit
            else ""
        )
        return [Event(Happening.JOB, f"{job.kind} job started{share}")]

    def _candidate(self, context: Context) -> list[Event]:
        candidate = context.compaction.candidate
        if candidate is None or candidate.id == self.candidate:
            return []
        self.candidate = candidate.id
        sizes = ""
        if candidate.tokens_before is not None and candidate.tokens_after is not None:
            sizes = f", {candidate.tokens_before:,} to {candidate.tokens_after:,} tokens"
        what = f"entries 0 to {candidate.upto - 1}" if candidate.upto else "old tool results cleared"
        return [Event(Happening.READY, f"candidate ready: {what}{sizes}")]

    def _status(self, context: Context, tokens_before: int) -> list[Event]:
        kind = _BY_STATUS.get(context.status)
        if kind is not None:
            self.near = False
            return [Event(kind, f"context {tokens_before:,} to {context.tokens or 0:,} tokens")]
        beyond = bool(context.tokens and context.limit and context.tokens >= context.limit)
        if beyond and not self.near:
            self.near = True
            why = context.compaction.reason or context.compaction.state
            return [Event(Happening.KEPT_GOING, f"at the limit, no candidate yet ({why})")]
        self.near = self.near and beyond
        return []
