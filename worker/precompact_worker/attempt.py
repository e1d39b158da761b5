"""One attempt at a job: load snapshot → plan → announce → floor → call → check → put."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass

from redis.exceptions import RedisError

from precompact_shared.clock import now_ms
from precompact_shared.engine.recovery import is_urgent
from precompact_shared.logging import describe_exception, get_logger
from precompact_shared.policy import Policy, chain_of
from precompact_shared.provider_spec import CallMode, ProviderName, ProviderSpec
from precompact_shared.settings import Settings
from precompact_shared.store import reading
from precompact_shared.store.executor import AsyncStore
from precompact_shared.store.ops import Announcement, SessionOps
from precompact_shared.store.spending import DaySpent, add_calls, day_of, tenant_spent
from precompact_shared.store.types import Answer, CandidateTag, JobTag, SessionView
from precompact_worker.asking import Chain, SummaryRejected, check_reply, request_of
from precompact_worker.book import Book
from precompact_worker.clearing import draft_clearing, enough_clearing, may_clear
from precompact_worker.counter import StoreCounter
from precompact_worker.drafting import Candidate, Material, draft, gather, token_factor
from precompact_worker.lease import Lease, LeaseLost
from precompact_worker.outcomes import Ending, Outcome, outcome_of
from precompact_worker.patience import patiently
from precompact_worker.planning import Nothing, Wishes, make_plan, wishes_of
from precompact_worker.providers.base import Request
from precompact_worker.providers.clients import Clients
from precompact_worker.providers.extractive import Extractive, render_facts
from precompact_worker.providers.live import LivePrefix, Record, live_prefix
from precompact_worker.providers.registry import Desk, make_chain
from precompact_worker.snapshot import Snapshot, take_snapshot

log = get_logger()

SUMMARY_SHARE_OF_LIMIT = 0.25
"""A summary is never more than this share of the limit, whatever the policy allows: windows may be small."""
READS_PREFIX = frozenset({ProviderName.ANTHROPIC, ProviderName.OPENAI, ProviderName.CLIENT})
DAY_MS = 86_400_000
FINISH_PATIENCE_S = 5.0
DRAIN_PATIENCE_S = 1.0


@dataclass(frozen=True, slots=True)
class Ended:
    """How an attempt ended: `stored`, `refused`, `lost`, `skipped`, `retry`, `dead`, `skip`, `release`, and why."""

    how: str
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """What an attempt works with."""

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
            outcome = outcome_of(error, self._job.attempt)
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
        lease_s = self._tools.settings.lease_s
        deadline_s = self._tools.now_s() + self._tools.deadline_s
        async with (
            Lease(self._beat, lease_s=lease_s, now_s=self._tools.now_s) as lease,
            asyncio.timeout(self._tools.deadline_s),
        ):
            self._book.note = lease.beat
            snapshot = await self._snapshot()
            cleared = await asyncio.to_thread(self._clear, snapshot, wishes)
            if cleared is not None:
                tag = cleared.tag
                await lease.announce(Announcement(upto=tag.upto, prefix=tag.prefix, through=tag.through))
                return cleared, lease.left_s
            material = await asyncio.to_thread(self._plan, snapshot, wishes)
            upto = material.plan.upto
            await lease.announce(Announcement(upto=upto, prefix=material.snapshot.prefix(upto)))
            candidate = await self._ask(material, wishes, deadline_s)
        return candidate, lease.left_s

    async def _snapshot(self) -> Snapshot:
        return await take_snapshot(self._tools.store, self._tools.session.keys, self._view, self._open_base())

    def _clear(self, snapshot: Snapshot, wishes: Wishes) -> Candidate | None:
        """The candidate that clears, where that is enough: no model is asked, nothing is lost."""
        policy, view = self._tools.policy, snapshot.view
        limits = policy.limits_of(view.model, view.window, view.max_output, view.observed_limit)
        if limits is None or not may_clear(self._job, wishes):
            return None
        plan = enough_clearing(snapshot, policy.rules, limits, policy.catalogue)
        return None if plan is None else draft_clearing(snapshot, plan, self._job, policy.rules)

    def _plan(self, snapshot: Snapshot, wishes: Wishes) -> Material:
        policy, view = self._tools.policy, snapshot.view
        preset = policy.rules
        limits = policy.limits_of(view.model, view.window, view.max_output, view.observed_limit)
        keep_tokens = limits.keep_tokens if limits else policy.keep_tokens or preset.cut.keep_tokens
        factor = token_factor(snapshot)
        most = int(limits.limit * SUMMARY_SHARE_OF_LIMIT / factor) if limits else policy.summary_budget
        plan = make_plan(snapshot, wishes, keep_tokens=keep_tokens, rule=preset.cut)
        return gather(snapshot, plan, preset, max_tokens=min(policy.summary_budget, most))

    async def _ask(self, material: Material, wishes: Wishes, deadline_s: float) -> Candidate:
        specs = chain_of(self._tools.policy, self._tools.settings)
        desk = Desk(
            self._tools.policy,
            material.snapshot.format,
            self._tools.clients,
            model=self._view.model,
            window=self._tools.policy.window_of(self._view.model, self._view.window, self._view.max_output),
            counter=StoreCounter(
                self._tools.store,
                self._tools.session,
                self._job,
                self._tools.settings.lease_s,
                self._tools.now_s,
            ),
            prefix=await self._prefix(specs, request_of(material, wishes, self._job)),
            keeps_base=material.plan.keeps_base,
        )
        providers = make_chain(specs, desk, extractive_only=wishes.extractive_only)
        if not isinstance(providers[0], Extractive):
            await self._store_floor(material, wishes)
        chain = Chain(providers, self._tools.now_s, self._is_urgent)
        answered = await chain.ask(material, wishes, self._book, deadline_s=deadline_s)
        return await asyncio.to_thread(
            draft,
            material,
            self._job,
            answered.reply.text,
            provider=answered.provider,
            floor=False,
            calls=self._calls(),
            seen_tokens=answered.reply.seen_tokens,
            evidence=answered.evidence,
            native=answered.reply.native,
        )

    async def _is_urgent(self) -> bool:
        """Whether somebody waits for the job by now: the limit may have been reached while a provider was asked."""
        op = reading.job(self._tools.session.keys, self._job.jid)
        patience_s = self._tools.settings.lease_s
        job = await patiently(self._tools.store, op, for_s=patience_s, now_s=self._tools.now_s)
        return is_urgent((job or self._job).kind)

    async def _prefix(self, specs: Iterable[ProviderSpec], request: Request) -> LivePrefix | None:
        """The caller's prefix, read only where a provider could use it."""
        if not any(spec.name in READS_PREFIX and spec.mode is not CallMode.TRANSCRIPT for spec in specs):
            return None
        keys = self._tools.session.keys
        raw = await self._tools.store.run(reading.prefix(keys))
        if raw is None:
            return None
        jobs = await self._tools.store.run(reading.jobs(keys))
        spent = await self._spent(self._view.now_ms) or await self._spent(self._view.now_ms - DAY_MS)
        record = Record(prefix=raw, view=self._view, job=self._job, jobs=jobs, spent=spent)
        return await asyncio.to_thread(live_prefix, record, self._tools.policy, request)

    async def _spent(self, at_ms: int) -> list[DaySpent]:
        """What the tenant's calls of that day used."""
        return await self._tools.store.run(tenant_spent(self._tools.session.keys.tenant, day_of(at_ms)))

    async def _store_floor(self, material: Material, wishes: Wishes) -> None:
        """The deterministic candidate, for those who cannot wait. One that does not pass is left out."""
        candidate = await asyncio.to_thread(self._draft_floor, material, wishes)
        if candidate is None:
            return
        put = self._tools.session.put(
            self._job.jid, self._job.fence, candidate.tag, candidate.body, floor=True
        )
        answer = await patiently(
            self._tools.store, put, for_s=self._tools.settings.lease_s, now_s=self._tools.now_s
        )
        if answer.o not in ("stored", "refused"):
            raise LeaseLost(answer.reason or answer.o)

    def _draft_floor(self, material: Material, wishes: Wishes) -> Candidate | None:
        reply = render_facts(request_of(material, wishes, self._job))
        try:
            check_reply(reply, material)
        except SummaryRejected:
            return None
        return draft(material, self._job, reply.text, provider=Extractive.name, floor=True)

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
