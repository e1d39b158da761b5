"""What nobody else has done in time: jobs to send again, calls to count, events that nobody has decided on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import redis
from redis.exceptions import ResponseError

from precompact_scheduler import counters
from precompact_scheduler.facts import Statement, statement_of_view
from precompact_shared.courier import Message, lane_of
from precompact_shared.logging import get_logger
from precompact_shared.policy import Policy
from precompact_shared.settings import Settings
from precompact_shared.store.connection import Layout
from precompact_shared.store.executor import SyncStore
from precompact_shared.store.keys import split_name
from precompact_shared.store.op import Op
from precompact_shared.store.ops import SessionOps
from precompact_shared.store.spending import add_calls
from precompact_shared.store.types import Answer

log = get_logger()
MOST_AT_ONCE = 200
"""Members of a shard in one look; more wait for the next."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a round of the sweeper leaves to do."""

    messages: list[Message]
    statements: list[Statement]
    is_full: bool
    """Some shard had more than one look can take: look again soon."""


class Sweeper:
    """Looks at every shard. Any number may run: each finding is checked again in the store."""

    def __init__(
        self, store: SyncStore, layout: Layout, policy_of: Callable[[str], Policy], settings: Settings
    ) -> None:
        self._store = store
        self._layout = layout
        self._policy_of = policy_of
        self._settings = settings

    def look(self) -> Found:
        """One look at all shards. Raises `redis.RedisError`."""
        now_ms = server_time_ms(self._store.client)
        jobs, sessions, is_full = self._due_members(now_ms)
        return Found(self._due_jobs(jobs, now_ms), self._unhandled(sessions), is_full)

    def _due_members(self, now_ms: int) -> tuple[list[str], list[str], bool]:
        lag_ms = int(self._settings.lag_s * 1000)
        pipe = self._store.client.pipeline(transaction=False)
        for shard in self._layout.all_shards():
            pipe.zrangebyscore(shard.open_jobs, "-inf", now_ms, 0, MOST_AT_ONCE)
            pipe.zrangebyscore(shard.unhandled, "-inf", now_ms - lag_ms, 0, MOST_AT_ONCE)
        answers = pipe.execute()
        is_full = any(len(answer) == MOST_AT_ONCE for answer in answers)
        return _flat(answers[::2]), _flat(answers[1::2]), is_full

    def _due_jobs(self, members: Sequence[str], now_ms: int) -> list[Message]:
        asked = [_job_member(member) for member in members]
        resend_ms = int(self._settings.resend_s * 1000)
        ops = [
            self._ops(tenant, session).due(jid, resend_ms=resend_ms, max_attempts=self._attempts(tenant))
            for tenant, session, jid in asked
        ]
        answers = self._answers(ops)
        messages: list[Message] = []
        for (tenant, session, _), answer in zip(asked, answers, strict=True):
            if answer is None:
                continue
            counters.SWEPT.labels(f"job_{answer.o}").inc()
            messages += _message(tenant, session, answer, now_ms)
        self._count_calls([(*of[:2], answer) for of, answer in zip(asked, answers, strict=True)], now_ms)
        return messages

    def _count_calls(self, answered: Iterable[tuple[str, str, Answer | None]], now_ms: int) -> None:
        """Adds what was used for ended jobs to their tenants' sums: a worker that died, or was stopped, did not.

        What was counted is not counted twice; what is counted is looked at no more.
        """
        told = [
            (tenant, session, answer.job)
            for tenant, session, answer in answered
            if answer is not None and answer.o == "settle" and answer.job is not None
        ]
        self._store.run_all([add_calls(tenant, job.calls, now_ms) for tenant, _, job in told])
        self._store.run_all([self._ops(tenant, session).settled(job.jid) for tenant, session, job in told])

    def _unhandled(self, members: Sequence[str]) -> list[Statement]:
        names = [split_name(member) for member in members]
        answers = self._answers([self._ops(*name).view() for name in names])
        known = [(name, answer) for name, answer in zip(names, answers, strict=True) if answer is not None]
        self._store.run_all([self._ops(*name).handled(0, 0) for name, answer in known if not answer.view])
        counters.SWEPT.labels("unhandled").inc(len(members))
        return [statement_of_view(answer.view) for _, answer in known if answer.view]

    def _answers(self, ops: Sequence[Op[Answer]]) -> list[Answer | None]:
        """The answers of all; None for one that cannot be read, so that it does not stop the others."""
        try:
            return list(self._store.run_all(ops))
        except (msgspec.MsgspecError, ResponseError):
            return [self._alone(op) for op in ops]

    def _alone(self, op: Op[Answer]) -> Answer | None:
        try:
            return self._store.run(op)
        except (msgspec.MsgspecError, ResponseError) as error:
            counters.FAILURES.labels("poison").inc()
            # Not the exception itself: what it could not read, it would quote.
            log.error("session unreadable", of=op.args[1:3], error_type=type(error).__name__)  # noqa: TRY400
            return None

    def _attempts(self, tenant: str) -> int:
        return self._policy_of(tenant).attempts or self._settings.job_attempts

    def _ops(self, tenant: str, session: str) -> SessionOps:
        return SessionOps(self._layout.session(tenant, session))


def server_time_ms(client: redis.Redis) -> int:
    """The store's clock, which all scores are written with."""
    seconds, micros = client.time()
    return int(seconds) * 1000 + int(micros) // 1000


def _message(tenant: str, session: str, answer: Answer, now_ms: int) -> list[Message]:
    job = answer.job
    if answer.o != "send" or job is None:
        return []
    mark = f"{job.attempt + 1}r{now_ms % 1_000_000}"
    return [Message(tenant, session, job.jid, lane_of(job.kind, job.urgency), mark)]


def _job_member(member: str) -> tuple[str, str, str]:
    name, _, jid = member.partition("\n")
    return (*split_name(name), jid)


def _flat(answers: Iterable[Iterable[Any]]) -> list[str]:
    return [member.decode() for answer in answers for member in answer]
