"""Claiming a job from the API and waiting for what it makes (design rules 13, 17, 18)."""

from __future__ import annotations

import secrets

from precompact_api.adoption import Attempt, Terms, adopt_best
from precompact_api.problems import refusal
from precompact_api.service import Service
from precompact_api.sizing import urgency_ms
from precompact_shared.clock import monotonic_s
from precompact_shared.store.ops import ClaimSpec
from precompact_shared.store.types import Answer, JobKind, Seen, SessionView


def job_id(view: SessionView, kind: JobKind) -> str:
    """A new job's id: readable in Flower, unique."""
    return f"{view.tenant}:{view.session}:{view.version}:{kind.value}:{secrets.token_hex(4)}"


async def join_or_claim(service: Service, view: SessionView, terms: Terms) -> SessionView:
    """Makes sure that something runs for a session at its hard limit: the live job, or a new one. Never two."""
    kind = JobKind.OVERFLOW if terms.overflow else JobKind.DUE
    refused_at = Seen(view.version, view.length) if terms.overflow else None
    answer = await claim(service, view, terms, kind=kind, overflow_at=refused_at)
    return answer.view or view


async def claim(
    service: Service,
    view: SessionView,
    terms: Terms,
    *,
    kind: JobKind,
    focus: str | None = None,
    overflow_at: Seen | None = None,
    extra: dict[str, int] | None = None,
) -> Answer:
    """Asks for a job at the view's version. The claim writes the event, a scheduler sends the message."""
    deadline_s = terms.caller.tenant.policy.job_deadline_s or service.settings.job_deadline_s
    spec = ClaimSpec(
        jid=job_id(view, kind),
        kind=kind,
        urgency=urgency_ms(view, terms.limits),
        focus=focus,
        deadline_ms=int(deadline_s * 1000),
        overflow_at=overflow_at,
        extra=dict(extra or {}),
    )
    return await service.run(service.ops(view.tenant, view.session).claim(view.version, spec))


async def wait_and_adopt(
    service: Service, view: SessionView, terms: Terms, wait_s: float
) -> tuple[Attempt, float]:
    """Waits for the live job's full candidate and adopts it; with the seconds that took.

    Ends when adopted, when no job lives any more or its deadline has passed, or when `wait_s` is spent.
    """
    begun_s = monotonic_s()
    attempt = Attempt(adopted=False, reason="no_candidate", view=view)
    async with service.waiting.watch(view.tenant, view.session) as watch:
        while True:
            attempt = await adopt_best(service, await fresh_view(service, attempt.view), terms)
            spent_s = monotonic_s() - begun_s
            job = attempt.view.job
            given_up = job is None or not job.is_live or 0 < job.deadline_ms <= attempt.view.now_ms
            if attempt.adopted or attempt.moved or given_up or spent_s >= wait_s:
                return attempt, spent_s
            await watch.next(wait_s - spent_s)


async def fresh_view(service: Service, view: SessionView) -> SessionView:
    """The session as it is now. Raises Problem when it is gone."""
    answer = await service.run(service.ops(view.tenant, view.session).view())
    if answer.view is None:
        raise refusal(answer)
    return answer.view
