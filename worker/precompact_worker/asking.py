"""Asking the providers of a chain, one after the other, until one answer passes the checks."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from precompact_shared.engine.recovery import Action, Ahead, Setback, Step, next_step
from precompact_shared.errors import Overflow, Permanent, PrecompactError, Retryable
from precompact_shared.logging import get_logger
from precompact_shared.store.types import JobTag
from precompact_worker.book import Book
from precompact_worker.checking import SummaryRejected, check, check_reply, completed
from precompact_worker.dividing import halves_of, in_one, put_together, undivided
from precompact_worker.drafting import Material
from precompact_worker.planning import Nothing, Wishes
from precompact_worker.prompting import problem_of
from precompact_worker.providers.base import Amends, Provider, Reply, Request
from precompact_worker.providers.extractive import Extractive
from precompact_worker.providers.verdicts import (
    ProviderFailed,
    ProviderHeld,
    ProviderLimited,
    ProviderTimeout,
)
from precompact_worker.providers.writing import Writer

log = get_logger()

TIME_SHARE = 0.9
"""Of the time left that one provider gets; the rest is for the next."""


@dataclass(frozen=True, slots=True)
class Answered:
    """The answer that is used, who gave it, and the share of the evidence it holds."""

    provider: str
    reply: Reply
    evidence: float = 1.0


@dataclass(frozen=True, slots=True)
class Chain:
    """Providers in order. `now_s` is a monotonic clock; a call gets the share of the time left that leaves the next some."""

    providers: Sequence[Provider]
    now_s: Callable[[], float]
    is_urgent: Callable[[], Awaitable[bool]]
    """Whether somebody waits for the job; asked when a provider has failed, since that may change while one is tried."""

    async def ask(self, request: Request, book: Book, *, covered_tokens: int, deadline_s: float) -> Answered:
        """The first answer that passes. Raises the failure that decides what becomes of the job when there is none."""
        failures: list[PrecompactError] = []
        for place, provider in enumerate(self.providers, start=1):
            try:
                return await self._try(provider, request, book, covered_tokens, deadline_s)
            except (Retryable, Permanent, Overflow) as failure:
                failures.append(failure)
            step = await self._next(failures, self.providers[place:])
            log.info(
                "provider gave nothing usable",
                provider=provider.name,
                jid=book.job.jid,
                code=failures[-1].code,
                step=step.action.value,
                reason=step.reason.value,
            )
            if step.action is not Action.ASK_NEXT:
                raise _deciding(failures, failures[step.by])
        raise Nothing("no_provider")

    async def _next(self, failures: Sequence[PrecompactError], left: Sequence[Provider]) -> Step:
        ahead = ahead_of(left)
        urgent = ahead is Ahead.CODE and await self.is_urgent()
        return next_step([setback_of(failure) for failure in failures], ahead=ahead, urgent=urgent)

    async def _try(
        self, provider: Provider, request: Request, book: Book, covered_tokens: int, deadline_s: float
    ) -> Answered:
        """One provider, within its share of the time."""
        since = len(book.calls)
        try:
            async with asyncio.timeout(max(0.0, (deadline_s - self.now_s()) * TIME_SHARE)):
                return await ask_one(provider, request, book, covered_tokens)
        except ProviderLimited as limit:
            await book.hold_back(limit.retry_after_s)
            raise
        except TimeoutError:
            book.name_cancelled(since, ProviderTimeout.code)
            raise ProviderTimeout from None
        except SummaryRejected as failure:
            if len(book.calls) > since:
                book.calls[-1].outcome = failure.reason
            raise
        except (Permanent, Overflow) as failure:
            if len(book.calls) == since:
                book.note_unasked(provider.name, failure.code)
            raise


def _deciding(failures: Sequence[PrecompactError], longest: PrecompactError) -> PrecompactError:
    """The failure that decides what becomes of the job: held back it was only if nobody was asked."""
    if isinstance(longest, ProviderHeld) and not all(isinstance(one, ProviderHeld) for one in failures):
        return ProviderFailed(retry_after_s=longest.retry_after_s, reason=longest.code)
    return longest


def ahead_of(left: Sequence[Provider]) -> Ahead:
    """What the rest of a chain has to offer."""
    if any(not isinstance(provider, Extractive) for provider in left):
        return Ahead.MODEL
    return Ahead.CODE if left else Ahead.NOTHING


def setback_of(failure: PrecompactError) -> Setback:
    """What a decision needs of a failure."""
    passes = isinstance(failure, Retryable)
    return Setback(failure.code, passes, failure.retry_after_s if isinstance(failure, Retryable) else 0.0)


async def ask_one(provider: Provider, request: Request, book: Book, covered_tokens: int) -> Answered:
    """A provider's answer, in as many calls as it takes. Raises what the provider does, or `SummaryRejected`."""
    halves = halves_of(request) if isinstance(provider, Writer) else None
    if halves is None:
        return await _one(provider, as_asked(provider, request), book, covered_tokens)
    history = await _one(provider, halves.history, book, covered_tokens)
    head = await _one(provider, halves.head, book, covered_tokens)
    reply = put_together(history.reply, head.reply, request.preset)
    check_reply(reply, request, covered_tokens)
    return Answered(provider.name, reply, min(history.evidence, head.evidence))


def as_asked(provider: Provider, request: Request) -> Request:
    """The request as this provider is asked in one go: code tells a turn's head apart itself, a model by headings."""
    if not isinstance(provider, Amends):
        return request
    return undivided(request) if isinstance(provider, Writer) else in_one(request)


async def _one(provider: Provider, request: Request, book: Book, covered_tokens: int) -> Answered:
    """One text, after as many nudges as the preset allows."""
    reply = await provider.summarise(request, book)
    if not isinstance(provider, Amends) or reply.native is not None:
        check_reply(reply, request, covered_tokens)
        return Answered(provider.name, reply)
    checked = await asyncio.to_thread(check, reply, request, covered_tokens)
    for _ in range(request.preset.recovery.nudges):
        if not checked.deserves_a_nudge:
            break
        problem = problem_of(checked.rejected, checked.score)
        better = await provider.amend(request, reply, problem, book)
        again = await asyncio.to_thread(check, better, request, covered_tokens)
        checked = again if again.rejected is None or checked.rejected is not None else checked
    done = await asyncio.to_thread(completed, checked, request, covered_tokens)
    if done.rejected is not None:
        raise SummaryRejected(str(done.rejected.reason))
    return Answered(provider.name, done.reply, done.score.share)


def request_of(material: Material, wishes: Wishes, job: JobTag) -> Request:
    """What any provider is asked."""
    snapshot, keeps_base = material.snapshot, material.plan.keeps_base
    return Request(
        format=snapshot.format,
        preset=material.preset,
        carried=material.told,
        head=material.head,
        known=material.told if keeps_base else material.carried,
        covered=material.covered,
        covered_tokens=sum(entry.tokens for entry in material.covered),
        tail=snapshot.sent_tail(material.plan.upto),
        max_tokens=material.max_tokens,
        focus=wishes.focus,
        attempt=job.attempt,
        previous="" if keeps_base else snapshot.base.summary,
        opening=snapshot.opening,
        edits=snapshot.held.edits,
        model=snapshot.view.model,
    )
