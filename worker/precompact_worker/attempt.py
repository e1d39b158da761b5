"""One attempt at a job, as the ledger sees it: begun, announced, kept alive, ended; `making` does the work in between."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from redis.exceptions import RedisError

from precompact_shared.clock import now_ms
from precompact_shared.engine.recovery import is_urgent
from precompact_shared.logging import describe_exception, get_logger
from precompact_shared.store.ops import Announcement
from precompact_shared.store.spending import add_calls
from precompact_shared.store.types import Answer, CandidateTag, JobTag, SessionView
from precompact_worker.book import Book
from precompact_worker.drafting import Candidate
from precompact_worker.lease import Lease, LeaseLost
from precompact_worker.making import Making
from precompact_worker.outcomes import Ending, Outcome, outcome_of
from precompact_worker.patience import patiently
from precompact_worker.planning import Nothing, wishes_of
from precompact_worker.tools import Ended, Tools

log = get_logger()

FINISH_PATIENCE_S = 5.0
DRAIN_PATIENCE_S = 1.0


class Attempt:
    """One start of one job, with the fence it got."""

    def __init__(self, tools: Tools, job: JobTag, view: SessionView, refreshed: CandidateTag | None) -> None:
        self._tools = tools
        self._job = job
        self._view = view
        self._refreshed = refreshed
        self._book = Book(job, tools.now_s, tools.policy.price_of)

    async def run(self) -> Ended:
        """Works and tells the ledger; only a cancellation that is no drain goes through."""
        try:
            candidate, left_s = await self._make()
            return await self._put(candidate, left_s)
        except LeaseLost as lost:
            if self._book.calls:  # what was used is on record even where nothing else is
                await self._finish(Outcome(Ending.RELEASE, "lost"), DRAIN_PATIENCE_S)
            return Ended("lost", lost.reason)
        except asyncio.CancelledError:
            if not self._tools.is_draining():
                raise
            return await self._finish(Outcome(Ending.RELEASE, "drain"), DRAIN_PATIENCE_S)
        except Exception as error:  # noqa: BLE001 - whatever it is, the ledger has to know
            outcome = outcome_of(error, self._job.attempt, urgent=is_urgent(self._job.kind))
            if outcome.reason == "internal":
                self._tell(error)
            return await self._finish(outcome, FINISH_PATIENCE_S)

    def _tell(self, error: Exception) -> None:
        """Type and places alone: a traceback with values would quote the conversation."""
        facts = describe_exception(None, "", {"exc_info": error})
        log.error("job failed inside", jid=self._job.jid, **facts)

    async def _make(self) -> tuple[Candidate, float]:
        """The full candidate, and the seconds left to store it. The floor is stored on the way."""
        wishes = wishes_of(self._job)
        making = Making(self._tools, self._job, self._view, wishes, self._book)
        begun_s, lease_s = self._tools.now_s(), self._tools.settings.lease_s
        async with (
            Lease(self._beat, lease_s=lease_s, now_s=self._tools.now_s) as lease,
            asyncio.timeout(self._tools.deadline_s) as limit,
        ):
            self._book.note = lease.beat
            snapshot = await making.snapshot(self._open_base())
            cleared = await asyncio.to_thread(making.clear, snapshot)
            if cleared is not None:
                tag = cleared.tag
                await lease.announce(Announcement(upto=tag.upto, prefix=tag.prefix, through=tag.through))
                return cleared, lease.left_s
            ground = making.ground(snapshot)
            basis = making.basis(ground)
            deadline_s = begun_s + making.time_s(ground, basis)
            limit.reschedule(asyncio.get_running_loop().time() + deadline_s - self._tools.now_s())
            material = await asyncio.to_thread(making.plan, await making.on(basis, snapshot))
            upto = material.plan.upto
            await lease.announce(
                Announcement(upto=upto, prefix=material.snapshot.prefix(upto), basis=basis.value)
            )
            candidate = await making.candidate(material, deadline_s)
        return candidate, lease.left_s

    async def _put(self, candidate: Candidate, left_s: float) -> Ended:
        op = self._tools.session.put(
            self._job.jid, self._job.fence, candidate.tag, candidate.body, calls=self._calls()
        )
        answer = await patiently(self._tools.store, op, for_s=left_s, now_s=self._tools.now_s)
        await self._count()
        return Ended(answer.o, answer.reason)

    async def _finish(self, outcome: Outcome, patience_s: float) -> Ended:
        op = self._tools.session.finish(
            self._job.jid,
            self._job.fence,
            outcome.action,
            reason=outcome.reason,
            delay_ms=outcome.delay_ms,
            max_attempts=self._tools.max_attempts,
            calls=self._calls(),
        )
        try:
            answer = await patiently(self._tools.store, op, for_s=patience_s, now_s=self._tools.now_s)
            await self._count()
        except (RedisError, OSError):
            return Ended("unreported", outcome.reason)
        if answer.o != "ok":
            return Ended("lost", answer.reason or answer.o)
        return Ended(outcome.action, outcome.reason)

    async def _count(self) -> None:
        """Adds the calls of this attempt, and of earlier ones whose workers died, to the tenant's sums; once each."""
        ended = {call["id"] for call in self._calls()}
        calls = [*(call for call in self._job.calls if call["id"] not in ended), *self._calls()]
        if calls:
            with suppress(RedisError, OSError):
                await self._tools.store.run(add_calls(self._tools.session.keys.tenant, calls, now_ms()))

    async def _beat(self, announcement: Announcement | None) -> Answer:
        op = self._tools.session.beat(
            self._job.jid,
            self._job.fence,
            lease_ms=self._tools.lease_ms,
            announce=announcement,
            calls=self._calls(),
        )
        return await self._tools.store.run(op)

    def _open_base(self) -> CandidateTag | None:
        """The candidate that a refresh builds on; None when that is the checkpoint by now, or there is none."""
        base = self._refreshed
        if self._job.base is None or self._job.base == self._view.checkpoint:
            return None
        if base is None or base.state != "open":
            raise Nothing("base_gone")
        return base

    def _calls(self) -> list[dict[str, object]]:
        return self._book.records()
