"""A batch of events: decide, claim, and say what to send. The only place where decisions meet the store."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from precompact_scheduler import counters
from precompact_scheduler.claims import claim_of, record_of
from precompact_scheduler.facts import LimitsCache, Statement, facts_of, statement_of_event, statement_of_view
from precompact_scheduler.memory import Memory
from precompact_shared.courier import Message, lane_of
from precompact_shared.engine.trigger import URGENT_KINDS, Action, Decision, SizeFacts, decide
from precompact_shared.events import Event, EventType
from precompact_shared.policy import Policy
from precompact_shared.store.connection import Layout
from precompact_shared.store.executor import SyncStore
from precompact_shared.store.keys import ShardKeys
from precompact_shared.store.op import Op
from precompact_shared.store.ops import SessionOps
from precompact_shared.store.shard_ops import Handled, handled_many
from precompact_shared.store.types import Answer, JobState

ENDED_EMPTY = frozenset({JobState.DONE, JobState.DEAD})
DECIDE_AGAIN = frozenset({"base_gone"})
"""Ends of a job after which another kind of job may be wanted at once."""
WRITTEN_AT_ONCE = 400
"""Decisions sent before the next are made: enough for the store to have something to do meanwhile."""


class Case(NamedTuple):
    """One session, what was decided about it, and on which facts."""

    statement: Statement
    facts: SizeFacts
    decision: Decision


class Decider:
    """Decides about sessions and writes what follows. `deadline_ms`: how long waiters may wait for a job."""

    def __init__(
        self, store: SyncStore, layout: Layout, policy_of: Callable[[str], Policy], *, deadline_ms: int
    ) -> None:
        self._store = store
        self._layout = layout
        self._policy_of = policy_of
        self._deadline_ms = deadline_ms
        self._limits = LimitsCache()
        self._memory = Memory()

    def take(self, events: Sequence[Event]) -> list[Message]:
        """What to send after these events. Of a session's sizes only the newest counts: each is a full statement."""
        sizes: dict[tuple[str, str], Event] = {}
        jobs: dict[str | None, Event] = {}
        for event in events:
            if event.t == EventType.SIZE:
                sizes[event.tenant, event.session] = event
            elif event.t == EventType.JOB:
                jobs[event.jid] = event
        messages = [message_of_event(event) for event in jobs.values() if event.state == JobState.READY]
        again = self._look_after([event for event in jobs.values() if ended_empty(event)])
        return messages + self.settle([*map(statement_of_event, sizes.values()), *again])

    def settle(self, statements: Iterable[Statement]) -> list[Message]:
        """Decides about sessions, claims and records while it goes on, and tells what to send beyond the events."""
        told = list(statements)
        if not told:
            return []
        claimed: list[int] = []
        answers = self._store.run_each(self._writes(told, claimed))
        return self._after_claims([answers[place] for place in claimed])

    def _writes(self, told: Sequence[Statement], claimed: list[int]) -> Iterator[list[Op[Any]]]:
        """What follows from some decisions at a time; `claimed`: the places of the claims among all that is written."""
        written = 0
        for at in range(0, len(told), WRITTEN_AT_ONCE):
            cases = [self._decide(statement) for statement in told[at : at + WRITTEN_AT_ONCE]]
            counters.count_decisions(case.decision for case in cases)
            claiming = [case for case in cases if case.decision.action is not Action.NONE]
            # Claims first: what is claimed and not marked as handled is decided again, the reverse would be lost.
            ops: list[Op[Any]] = [*map(self._claim, claiming), *self._handled(cases)]
            claimed += range(written, written + len(claiming))
            written += len(ops)
            yield ops

    def _decide(self, statement: Statement) -> Case:
        policy = self._policy_of(statement.tenant)
        limits = self._limits.get(policy, statement)
        facts = facts_of(statement, policy, limits, self._memory.last_try(statement))
        return Case(statement, facts, decide(facts))

    def _claim(self, case: Case) -> Op[Answer]:
        spec = claim_of(case.statement, case.decision, self._deadline_ms)
        return self._ops(case.statement).claim(case.statement.version, spec)

    def _handled(self, cases: Iterable[Case]) -> list[Op[int]]:
        """One call per shard for all sessions that were decided on."""
        by_shard: dict[ShardKeys, list[Handled]] = {}
        for case in cases:
            told = case.statement
            keys = self._layout.session(told.tenant, told.session)
            news = self._memory.is_news(told, case.decision)
            record = record_of(told, case.facts, case.decision) if news else b""
            by_shard.setdefault(keys.shard, []).append(Handled(keys, told.version, told.length, record))
        return [handled_many(shard, handled) for shard, handled in by_shard.items()]

    def _after_claims(self, answers: Sequence[Answer]) -> list[Message]:
        """Whoever was refused a refresh decides once more. A job that was claimed or hurried is sent by its event."""
        again: list[Statement] = []
        for answer in answers:
            counters.CLAIMS.labels(answer.o).inc()
            if answer.o == "base_gone" and answer.view:
                again.append(statement_of_view(answer.view))
        return self.settle(again) if again else []

    def _look_after(self, ended: Sequence[Event]) -> list[Statement]:
        """Jobs that ended without a candidate: remember the size then, and who may try another kind at once."""
        answers = self._store.run_all([self._ops(event).view() for event in ended])
        again: list[Statement] = []
        for event, answer in zip(ended, answers, strict=True):
            if answer.view is None or answer.view.version != event.version:
                continue
            if event.reason in DECIDE_AGAIN:
                again.append(statement_of_view(answer.view))
            else:
                failed = event.state == JobState.DEAD and event.kind not in URGENT_KINDS
                self._memory.note_try(answer.view, event.reason or "", background=failed)
        return again

    def _ops(self, of: Statement | Event) -> SessionOps:
        return SessionOps(self._layout.session(of.tenant, of.session))


def ended_empty(event: Event) -> bool:
    """A job that ended without a candidate; one that was cancelled is followed by an event of its cause."""
    return event.state in ENDED_EMPTY and event.reason is not None


def message_of_event(event: Event) -> Message:
    """The message for a job that became ready."""
    lane = lane_of(event.kind or "", event.urgency)
    return Message(event.tenant, event.session, event.jid or "", lane, str(event.at_ms % 1_000_000))
