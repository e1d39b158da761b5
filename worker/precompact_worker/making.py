"""The work of one attempt, apart from the ledger: snapshot → clear or plan → floor → call → check → candidate."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from precompact_shared.engine.native import instructions_digest
from precompact_shared.engine.recovery import is_urgent
from precompact_shared.engine.summary import Basis, Ground, choose_basis
from precompact_shared.engine.summary.rebuild import MOST_S
from precompact_shared.policy import chain_of
from precompact_shared.provider_spec import CallMode, ProviderName, ProviderSpec, Redaction
from precompact_shared.store import reading
from precompact_shared.store.spending import DaySpent, day_of, tenant_spent
from precompact_shared.store.types import CandidateTag, JobTag, SessionView
from precompact_worker.asking import Chain, request_of
from precompact_worker.book import Book
from precompact_worker.checking import SummaryRejected, check_reply
from precompact_worker.clearing import draft_clearing, enough_clearing, may_clear
from precompact_worker.counter import StoreCounter
from precompact_worker.drafting import Candidate, Material, Written, draft, gather, token_factor
from precompact_worker.grounds import ground_of
from precompact_worker.holds import Holds
from precompact_worker.lease import LeaseLost
from precompact_worker.loading import add_originals, take_snapshot
from precompact_worker.patience import patiently
from precompact_worker.planning import Wishes, make_plan
from precompact_worker.providers.base import Request
from precompact_worker.providers.extractive import Extractive, render_facts
from precompact_worker.providers.live import LivePrefix, Record, live_prefix
from precompact_worker.providers.registry import Desk, make_chain
from precompact_worker.providers.verdicts import ProviderMisconfigured
from precompact_worker.snapshot import Snapshot
from precompact_worker.tools import Tools

SUMMARY_SHARE_OF_LIMIT = 0.25
"""A summary is never more than this share of the limit, whatever the policy allows: windows may be small."""
READS_PREFIX = frozenset({ProviderName.ANTHROPIC, ProviderName.OPENAI, ProviderName.CLIENT})
DAY_MS = 86_400_000


class Making:
    """Makes the candidate of one start of one job."""

    def __init__(self, tools: Tools, job: JobTag, view: SessionView, wishes: Wishes, book: Book) -> None:
        self._tools = tools
        self._job = job
        self._view = view
        self._wishes = wishes
        self._book = book
        book.holds = Holds(tools.store, tools.session.keys.tenant, job.jid, self._is_urgent)
        self._specs: Sequence[ProviderSpec] = chain_of(tools.policy, tools.settings)

    async def snapshot(self, refreshed: CandidateTag | None) -> Snapshot:
        """What the job works on, on top of the candidate that it refreshes or of the checkpoint."""
        return await take_snapshot(self._tools.store, self._tools.session.keys, self._view, refreshed)

    def clear(self, snapshot: Snapshot) -> Candidate | None:
        """The candidate that clears, where that is enough: no model is asked, nothing is lost. Takes a while."""
        policy, view = self._tools.policy, snapshot.view
        limits = policy.limits_of(view.model, view.window, view.max_output, view.observed_limit)
        if limits is None or not may_clear(self._job, self._wishes):
            return None
        plan = enough_clearing(snapshot, policy.rules, limits, policy.catalogue)
        return None if plan is None else draft_clearing(snapshot, plan, self._job, policy.rules)

    def ground(self, snapshot: Snapshot) -> Ground | None:
        """What the summary would stand on."""
        keeps_base = self._wishes.start is not None
        desk = self._desk(snapshot, keeps_base=keeps_base)
        return ground_of(snapshot, self._job, self._wishes, self._specs, desk)

    def basis(self, ground: Ground | None) -> Basis:
        """What the summary is made of."""
        return choose_basis(ground, self._tools.policy.summary_rule)

    def time_s(self, ground: Ground | None, basis: Basis) -> float:
        """Seconds the attempt may take: a rebuild of several calls may take longer than any other."""
        calls = ground.calls if ground is not None and basis.is_rebuilt else 1
        return max(self._tools.deadline_s, min(MOST_S, calls * self._tools.deadline_s))

    async def on(self, basis: Basis, snapshot: Snapshot) -> Snapshot:
        """The snapshot with all that this basis needs."""
        if not basis.is_rebuilt:
            return snapshot
        return await add_originals(self._tools.store, self._tools.session.keys, snapshot)

    def plan(self, snapshot: Snapshot) -> Material:
        """Where to cut, and the facts of what is covered. Raises `Nothing`. Takes a while."""
        policy, view = self._tools.policy, snapshot.view
        preset = policy.rules
        limits = policy.limits_of(view.model, view.window, view.max_output, view.observed_limit)
        keep_tokens = limits.keep_tokens if limits else policy.keep_tokens or preset.cut.keep_tokens
        factor = token_factor(snapshot)
        most = int(limits.limit * SUMMARY_SHARE_OF_LIMIT / factor) if limits else policy.summary_budget
        plan = make_plan(snapshot, self._wishes, keep_tokens=keep_tokens, rule=preset.cut)
        return gather(
            snapshot,
            plan,
            preset,
            policy.catalogue,
            max_tokens=min(policy.summary_budget, most),
            masks=policy.redact is not Redaction.NEVER,
        )

    async def candidate(self, material: Material, deadline_s: float) -> Candidate:
        """The full candidate; the floor is stored on the way. Raises the failure to act on."""
        request = request_of(material, self._wishes, self._job)
        rebuilt = material.snapshot.base.is_rebuilt
        prefix = None if rebuilt else await self._prefix(request)
        desk = self._desk(
            material.snapshot, keeps_base=material.plan.keeps_base, from_originals=rebuilt, prefix=prefix
        )
        providers = make_chain(self._specs, desk, extractive_only=self._wishes.extractive_only)
        if not providers:
            raise ProviderMisconfigured(
                "No provider of the chain may write for this session; name another or allow the fallback."
            )
        if not isinstance(providers[0], Extractive):
            await self._store_floor(material, request)
        chain = Chain(providers, self._tools.now_s, self._is_urgent)
        answered = await chain.ask(
            request, self._book, covered_tokens=material.tokens_before, deadline_s=deadline_s
        )
        written = Written(
            text=answered.reply.text,
            provider=answered.provider,
            calls=[*self._job.calls, *self._book.records()],
            seen_tokens=answered.reply.seen_tokens,
            evidence=answered.evidence,
            native=answered.reply.native,
            instructions=None if prefix is None else instructions_digest(prefix.content),
        )
        return await asyncio.to_thread(draft, material, self._job, written, floor=False)

    def _desk(
        self,
        snapshot: Snapshot,
        *,
        keeps_base: bool,
        from_originals: bool = False,
        prefix: LivePrefix | None = None,
    ) -> Desk:
        tools, view = self._tools, self._view
        return Desk(
            tools.policy,
            snapshot.format,
            tools.clients,
            model=view.model,
            window=tools.policy.window_of(view.model, view.window, view.max_output),
            counter=StoreCounter(tools.store, tools.session, self._job, tools.settings.lease_s, tools.now_s),
            prefix=prefix,
            from_originals=from_originals,
            keeps_base=keeps_base,
        )

    async def _is_urgent(self) -> bool:
        """Whether somebody waits for the job by now: the limit may have been reached while a provider was asked."""
        op = reading.job(self._tools.session.keys, self._job.jid)
        patience_s = self._tools.settings.lease_s
        job = await patiently(self._tools.store, op, for_s=patience_s, now_s=self._tools.now_s)
        return is_urgent((job or self._job).kind)

    async def _prefix(self, request: Request) -> LivePrefix | None:
        """The caller's prefix, read only where a provider could use it."""
        if not any(
            spec.name in READS_PREFIX and spec.mode is not CallMode.TRANSCRIPT for spec in self._specs
        ):
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

    async def _store_floor(self, material: Material, request: Request) -> None:
        """The deterministic candidate, for those who cannot wait. One that does not pass is left out."""
        floor = await asyncio.to_thread(self._draft_floor, material, request)
        if floor is None:
            return
        put = self._tools.session.put(self._job.jid, self._job.fence, floor.tag, floor.body, floor=True)
        patience_s = self._tools.settings.lease_s
        answer = await patiently(self._tools.store, put, for_s=patience_s, now_s=self._tools.now_s)
        if answer.o not in ("stored", "refused"):
            raise LeaseLost(answer.reason or answer.o)

    def _draft_floor(self, material: Material, request: Request) -> Candidate | None:
        reply = render_facts(request)
        try:
            check_reply(reply, request, material.tokens_before)
        except SummaryRejected:
            return None
        floor = Written(text=reply.text, provider=Extractive.name)
        return draft(material, self._job, floor, floor=True)
