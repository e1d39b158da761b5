"""The place in the store where a job's request waits for its caller, and where the reply comes in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from precompact_shared.store import codec, reading
from precompact_shared.store.executor import AsyncStore
from precompact_shared.store.ops import SessionOps
from precompact_shared.store.types import JobTag
from precompact_worker.lease import LeaseLost
from precompact_worker.patience import patiently


@dataclass(frozen=True, slots=True)
class StoreCounter:
    """The counter of one attempt at a job."""

    store: AsyncStore
    session: SessionOps
    job: JobTag
    patience_s: float
    now_s: Callable[[], float]

    async def offer(self, request_id: str, request: bytes) -> None:
        """Lays the request out. Raises `LeaseLost` when the job is not ours any more."""
        op = self.session.offer(self.job.jid, self.job.fence, request_id, codec.encode(request))
        answer = await patiently(self.store, op, for_s=self.patience_s, now_s=self.now_s)
        if answer.o != "ok":
            raise LeaseLost(answer.reason or answer.o)

    async def delivered(self) -> bytes | None:
        """The reply, when it has come."""
        op = reading.delivered(self.session.keys, self.job.jid)
        return await patiently(self.store, op, for_s=self.patience_s, now_s=self.now_s)
