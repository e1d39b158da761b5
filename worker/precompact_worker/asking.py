"""Asking the providers of a chain, one after the other, until one answer passes the checks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import msgspec

from precompact_shared.engine.summary import Rejected, check_summary
from precompact_shared.errors import Permanent, PrecompactError, Retryable
from precompact_shared.logging import get_logger
from precompact_shared.store.types import JobTag
from precompact_worker.drafting import Material
from precompact_worker.planning import Wishes
from precompact_worker.providers.base import Provider, Reply, Request, Stop
from precompact_worker.providers.verdicts import ProviderTimeout

log = get_logger()


class CallRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One model call, also a failed one. Written once per id, whoever repeats the write."""

    id: str
    provider: str
    model: str | None
    input_tokens: int
    output_tokens: int
    cost_usd: float
    duration_ms: int
    outcome: str
    """`ok`, or why its answer was not used."""


class SummaryRejected(Permanent):
    """The summary does not pass the checks; the next provider in the chain is asked."""

    code = "summary_rejected"

    def __init__(self, reason: str) -> None:
        super().__init__(reason=reason)
        self.reason = reason


@dataclass(slots=True)
class Ledger:
    """The calls of one attempt, in order."""

    job: JobTag
    calls: list[CallRecord] = field(default_factory=list)

    def next_id(self) -> str:
        """Unique: fences never repeat in a job, and this counts within one."""
        return f"{self.job.jid}:{self.job.fence}:{len(self.calls) + 1}"


@dataclass(frozen=True, slots=True)
class Answered:
    """The answer that is used, and who gave it."""

    provider: str
    reply: Reply


@dataclass(frozen=True, slots=True)
class Chain:
    """Providers in order. `now_s` is a monotonic clock; a call gets the share of the time left that leaves the next some."""

    providers: Sequence[Provider]
    now_s: Callable[[], float]

    async def ask(self, material: Material, wishes: Wishes, book: Ledger, *, deadline_s: float) -> Answered:
        """The first answer that passes. Raises the failure to act on when none does: a passing one, else the last."""
        failures: list[PrecompactError] = []
        request = request_of(material, wishes, book.job)
        for provider in self.providers:
            try:
                return Answered(
                    provider.name, await self._call(provider, request, book, material, deadline_s)
                )
            except (Retryable, Permanent) as failure:
                log.info(
                    "provider gave nothing usable",
                    provider=provider.name,
                    jid=book.job.jid,
                    code=failure.code,
                )
                failures.append(failure)
        raise next((one for one in failures if isinstance(one, Retryable)), failures[-1])

    async def _call(
        self, provider: Provider, request: Request, book: Ledger, material: Material, deadline_s: float
    ) -> Reply:
        call_id, begun_s = book.next_id(), self.now_s()
        reply, outcome = None, "cancelled"
        try:
            reply = await asyncio.wait_for(provider.summarise(request), (deadline_s - begun_s) * 0.9)
            check_reply(reply, material)
            outcome = "ok"
        except TimeoutError:
            outcome = ProviderTimeout.code
            raise ProviderTimeout from None
        except PrecompactError as failure:
            outcome = failure.reason if isinstance(failure, SummaryRejected) else failure.code
            raise
        finally:
            book.calls.append(_record(call_id, provider.name, reply, outcome, self.now_s() - begun_s))
        return reply


def request_of(material: Material, wishes: Wishes, job: JobTag) -> Request:
    """What any provider is asked."""
    return Request(
        format=material.snapshot.format,
        preset=material.preset,
        carried=material.told,
        head=material.head,
        covered=material.covered,
        covered_tokens=sum(entry.tokens for entry in material.covered),
        max_tokens=material.max_tokens,
        focus=wishes.focus,
        attempt=job.attempt,
    )


def check_reply(reply: Reply, material: Material) -> None:
    """Stop reason, then the summary's own checks. Raises `SummaryRejected`."""
    if reply.stop is not Stop.END:
        raise SummaryRejected(reply.stop)
    verdict = check_summary(
        reply.text,
        tokens=reply.tokens,
        covered_tokens=material.tokens_before,
        max_tokens=material.max_tokens,
        preset=material.preset,
    )
    if isinstance(verdict, Rejected):
        raise SummaryRejected(str(verdict.reason))


def _record(call_id: str, provider: str, reply: Reply | None, outcome: str, took_s: float) -> CallRecord:
    return CallRecord(
        id=call_id,
        provider=provider,
        model=reply.model if reply else None,
        input_tokens=reply.input_tokens if reply else 0,
        output_tokens=reply.output_tokens if reply else 0,
        cost_usd=reply.cost_usd if reply else 0.0,
        duration_ms=int(took_s * 1000),
        outcome=outcome,
    )
