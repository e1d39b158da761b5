"""Handing jobs to Celery: admission, sending in batches, marking what is on its way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from precompact_scheduler import counters
from precompact_shared.courier import Courier, Message
from precompact_shared.errors import Unavailable
from precompact_shared.logging import get_logger
from precompact_shared.store.connection import Layout
from precompact_shared.store.executor import SyncStore
from precompact_shared.store.ops import SessionOps

log = get_logger()


BROKER_PAUSE_S = 1.0
"""After a failure nothing is sent for so long: the loop has decisions to make meanwhile."""


class Admission(Protocol):
    """Who may send now. Jobs that are not admitted stay ready in the ledger and come again with the sweeper."""

    def admit(self, messages: Sequence[Message]) -> Sequence[Message]:
        """Those of the messages that may go, most urgent first."""
        ...


class AdmitAll:
    """No bounds: everything goes, in the order it came."""

    def admit(self, messages: Sequence[Message]) -> Sequence[Message]:
        """All of them."""
        return messages


class Outbox:
    """Sends what may go. A broker that is down costs nothing but time: the jobs stand in the ledger."""

    def __init__(
        self,
        courier: Courier,
        store: SyncStore,
        layout: Layout,
        admission: Admission,
        *,
        now_s: Callable[[], float],
    ) -> None:
        self._courier = courier
        self._store = store
        self._layout = layout
        self._admission = admission
        self._now_s = now_s
        self._paused_until_s = 0.0

    def send(self, messages: Sequence[Message]) -> int:
        """Sends and marks as queued; returns how many went. Raises `redis.RedisError` for the ledger alone."""
        admitted = self._admission.admit(messages) if messages else ()
        if not admitted or self._now_s() < self._paused_until_s:
            return 0
        try:
            self._courier.send(admitted)
        except Unavailable:
            self._paused_until_s = self._now_s() + BROKER_PAUSE_S
            counters.FAILURES.labels("broker").inc()
            log.warning("broker does not answer, jobs wait in the ledger", jobs=len(admitted))
            return 0
        self._store.run_all([self._ops(message).queued(message.jid) for message in admitted])
        for message in admitted:
            counters.SENT.labels(message.lane).inc()
        return len(admitted)

    def _ops(self, message: Message) -> SessionOps:
        return SessionOps(self._layout.session(message.tenant, message.session))
