"""What work on a job is done with, and how it ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from precompact_shared.policy import Policy
from precompact_shared.settings import Settings
from precompact_shared.store.executor import AsyncStore
from precompact_shared.store.ops import SessionOps
from precompact_worker.providers.clients import Clients


@dataclass(frozen=True, slots=True)
class Ended:
    """How an attempt ended, and why.

    As the ledger has it: `stored`, `refused`, `lost`, `retry`, `dead`, `skip`, `release`. Where it has nothing:
    `skipped`, `not_begun`, `cancelled`, `unreported`.
    """

    how: str
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """What an attempt works with. `now_s` is a monotonic clock."""

    store: AsyncStore
    session: SessionOps
    policy: Policy
    settings: Settings
    max_attempts: int
    clients: Clients
    now_s: Callable[[], float]
    is_draining: Callable[[], bool]

    @property
    def lease_ms(self) -> int:
        """Lease of a running job."""
        return int(self.settings.lease_s * 1000)

    @property
    def deadline_s(self) -> float:
        """Seconds one attempt may take."""
        return self.policy.job_deadline_s or self.settings.job_deadline_s
