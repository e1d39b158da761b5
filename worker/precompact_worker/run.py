"""Jobs as they come: ask the ledger, work, tell the ledger. Never raises for what a job meets."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from precompact_shared.logging import get_logger
from precompact_shared.policy import UNREADABLE, Policy, tell_unreadable
from precompact_shared.settings import Settings
from precompact_shared.store.connection import Layout
from precompact_shared.store.executor import AsyncStore
from precompact_shared.store.ops import SessionOps
from precompact_shared.store.tenants import load_policy
from precompact_shared.store.types import Answer
from precompact_worker.attempt import Attempt
from precompact_worker.patience import patiently
from precompact_worker.providers.clients import Clients
from precompact_worker.tools import Ended, Tools

log = get_logger()

START_PATIENCE_S = 10.0
"""How long a store that does not answer is asked before the message is given up; the ledger sends another."""


@dataclass(frozen=True, slots=True)
class Ref:
    """What a message says: ids only."""

    tenant: str
    session: str
    jid: str


class Runner:
    """Runs jobs on the current event loop; any number at a time. `now_s` is a monotonic clock."""

    def __init__(
        self, store: AsyncStore, layout: Layout, settings: Settings, *, now_s: Callable[[], float]
    ) -> None:
        self._store = store
        self._layout = layout
        self._settings = settings
        self._now_s = now_s
        self._clients = Clients(settings)
        self._running: set[asyncio.Task[Ended]] = set()
        self._draining = False

    @property
    def running(self) -> int:
        """Jobs under way."""
        return len(self._running)

    async def run(self, ref: Ref) -> Ended:
        """Works on the job if the ledger says so, and says how that ended."""
        task = asyncio.ensure_future(self._run(ref))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        try:
            ended = await task
        except Exception as error:  # noqa: BLE001 - Celery would log it, with what it quotes
            log.warning("job not begun", session=ref.session, jid=ref.jid, error_type=type(error).__name__)
            return Ended("not_begun", type(error).__name__)
        log.info(
            "job ended",
            tenant=ref.tenant,
            session=ref.session,
            jid=ref.jid,
            how=ended.how,
            reason=ended.reason,
        )
        return ended

    def drain(self) -> None:
        """Stops all work: what runs goes back to the ledger without an attempt spent."""
        self._draining = True
        for task in self._running:
            task.cancel()

    async def close(self) -> None:
        """Ends the connections to providers."""
        await self._clients.close()

    async def _run(self, ref: Ref) -> Ended:
        session = SessionOps(self._layout.session(ref.tenant, ref.session))
        policy = await self._policy(ref.tenant)
        started = await self._start(session, ref.jid, policy)
        if started.o != "started" or started.job is None or started.view is None:
            return Ended("skipped", started.reason or started.o)
        attempt = Attempt(self._tools(session, policy), started.job, started.view, started.base)
        return await attempt.run()

    async def _policy(self, tenant: str) -> Policy:
        op = load_policy(tenant)
        try:
            return await patiently(self._store, op, for_s=START_PATIENCE_S, now_s=self._now_s)
        except UNREADABLE as error:
            tell_unreadable(tenant, error)
            return Policy()

    async def _start(self, session: SessionOps, jid: str, policy: Policy) -> Answer:
        op = session.start(
            jid, lease_ms=int(self._settings.lease_s * 1000), max_attempts=self._attempts(policy)
        )
        return await patiently(self._store, op, for_s=START_PATIENCE_S, now_s=self._now_s)

    def _tools(self, session: SessionOps, policy: Policy) -> Tools:
        return Tools(
            store=self._store,
            session=session,
            policy=policy,
            settings=self._settings,
            max_attempts=self._attempts(policy),
            clients=self._clients,
            now_s=self._now_s,
            is_draining=lambda: self._draining,
        )

    def _attempts(self, policy: Policy) -> int:
        return policy.attempts or self._settings.job_attempts
