"""Asking the providers of a chain, one after the other, until one answer passes the checks."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from precompact_shared.engine.recovery import Action, Ahead, Setback, Step, next_step
from precompact_shared.engine.summary import (
    Rejected,
    Score,
    add_facts,
    add_missing,
    check_summary,
    evidence_of,
    score,
)
from precompact_shared.engine.tokens import count_text
from precompact_shared.errors import Overflow, Permanent, PrecompactError, Retryable
from precompact_shared.logging import get_logger
from precompact_shared.store.types import JobTag
from precompact_worker.book import Book
from precompact_worker.drafting import Material
from precompact_worker.planning import Nothing, Wishes
from precompact_worker.prompting import problem_of
from precompact_worker.providers.base import Amends, Provider, Reply, Request, Stop
from precompact_worker.providers.extractive import Extractive
from precompact_worker.providers.verdicts import ProviderTimeout

log = get_logger()

TIME_SHARE = 0.9
"""Of the time left that one provider gets; the rest is for the next."""
EVIDENCE_WORTH_A_CALL = 0.75
"""Below this share of the evidence another call is made; above it code appends what is missing."""


class SummaryRejected(Permanent):
    """The summary does not pass the checks; the next provider in the chain is asked."""

    code = "summary_rejected"

    def __init__(self, reason: str) -> None:
        super().__init__(reason=reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Answered:
    """The answer that is used, who gave it, and the share of the evidence it holds."""

    provider: str
    reply: Reply
    evidence: float = 1.0


@dataclass(frozen=True, slots=True)
class Checked:
    """A reply as it would be stored, and what is wrong with it."""

    reply: Reply
    rejected: Rejected | None
    score: Score

    @property
    def deserves_a_nudge(self) -> bool:
        """Whether asking once more is worth a call."""
        return self.rejected is not None or self.score.share < EVIDENCE_WORTH_A_CALL


@dataclass(frozen=True, slots=True)
class Chain:
    """Providers in order. `now_s` is a monotonic clock; a call gets the share of the time left that leaves the next some."""

    providers: Sequence[Provider]
    now_s: Callable[[], float]
    is_urgent: Callable[[], Awaitable[bool]]
    """Whether somebody waits for the job; asked when a provider has failed, since that may change while one is tried."""

    async def ask(self, request: Request, material: Material, book: Book, *, deadline_s: float) -> Answered:
        """The first answer that passes. Raises the failure that decides what becomes of the job when there is none."""
        failures: list[PrecompactError] = []
        for place, provider in enumerate(self.providers, start=1):
            try:
                return await self._try(provider, request, book, material, deadline_s)
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
                raise failures[step.by]
        raise Nothing("no_provider")

    async def _next(self, failures: Sequence[PrecompactError], left: Sequence[Provider]) -> Step:
        ahead = ahead_of(left)
        urgent = ahead is Ahead.CODE and await self.is_urgent()
        return next_step([setback_of(failure) for failure in failures], ahead=ahead, urgent=urgent)

    async def _try(
        self, provider: Provider, request: Request, book: Book, material: Material, deadline_s: float
    ) -> Answered:
        """One provider, within its share of the time."""
        since = len(book.calls)
        try:
            async with asyncio.timeout(max(0.0, (deadline_s - self.now_s()) * TIME_SHARE)):
                return await ask_one(provider, request, book, material)
        except TimeoutError:
            book.name_cancelled(since, ProviderTimeout.code)
            raise ProviderTimeout from None
        except SummaryRejected as failure:
            if len(book.calls) > since:
                book.calls[-1].outcome = failure.reason
            raise


def ahead_of(left: Sequence[Provider]) -> Ahead:
    """What the rest of a chain has to offer."""
    if any(not isinstance(provider, Extractive) for provider in left):
        return Ahead.MODEL
    return Ahead.CODE if left else Ahead.NOTHING


def setback_of(failure: PrecompactError) -> Setback:
    """What a decision needs of a failure."""
    passes = isinstance(failure, Retryable)
    return Setback(failure.code, passes, failure.retry_after_s if isinstance(failure, Retryable) else 0.0)


async def ask_one(provider: Provider, request: Request, book: Book, material: Material) -> Answered:
    """A provider's answer, after as many nudges as the preset allows. Raises what the provider does, or `SummaryRejected`."""
    reply = await provider.summarise(request, book)
    if not isinstance(provider, Amends) or reply.native is not None:
        check_reply(reply, material)
        return Answered(provider.name, reply)
    checked = await asyncio.to_thread(check, reply, request, material)
    for _ in range(request.preset.recovery.nudges):
        if not checked.deserves_a_nudge:
            break
        problem = problem_of(checked.rejected, checked.score)
        better = await provider.amend(request, reply, problem, book)
        again = await asyncio.to_thread(check, better, request, material)
        checked = again if again.rejected is None or checked.rejected is not None else checked
    done = await asyncio.to_thread(completed, checked, request, material)
    if done.rejected is not None:
        raise SummaryRejected(str(done.rejected.reason))
    return Answered(provider.name, done.reply, done.score.share)


def check(reply: Reply, request: Request, material: Material) -> Checked:
    """The reply with the facts that code knows, and what is wrong with it."""
    text = add_facts(reply.text.strip(), request.known, request.preset, request.max_tokens, request.focus)
    return _checked(replace(reply, text=text, tokens=count_text(text)), request, material)


def completed(checked: Checked, request: Request, material: Material) -> Checked:
    """With the evidence that is still missing appended, as far as there is room."""
    if checked.rejected is not None or not checked.score.missing:
        return checked
    room = request.max_tokens - checked.reply.tokens
    text = add_missing(checked.reply.text, checked.score.missing, request.preset, room)
    full = _checked(replace(checked.reply, text=text, tokens=count_text(text)), request, material)
    return full if full.rejected is None else checked


def _checked(reply: Reply, request: Request, material: Material) -> Checked:
    return Checked(reply, _fault(reply, material), score(reply.text, evidence_of(request.known)))


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


def check_reply(reply: Reply, material: Material) -> None:
    """Stop reason, then the summary's own checks. Raises `SummaryRejected`."""
    if reply.stop is not Stop.END:
        raise SummaryRejected(reply.stop)
    rejected = _fault(reply, material)
    if rejected is not None:
        raise SummaryRejected(str(rejected.reason))


def _fault(reply: Reply, material: Material) -> Rejected | None:
    verdict = check_summary(
        reply.text,
        tokens=reply.tokens,
        covered_tokens=material.tokens_before,
        max_tokens=material.max_tokens,
        preset=material.preset,
    )
    return verdict if isinstance(verdict, Rejected) else None
