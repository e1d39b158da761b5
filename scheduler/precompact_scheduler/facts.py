"""From what the store says of a session to the facts a decision takes. Pure but for a cache of limits."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import msgspec

from precompact_shared.engine.limits import Limits
from precompact_shared.engine.trigger import Brakes, LastTry, LiveJob, OpenCandidate, SizeFacts
from precompact_shared.events import Event
from precompact_shared.policy import Policy
from precompact_shared.store.types import SessionView

FLOOR = "floor"
MOST_LIMITS = 10_000


class Statement(msgspec.Struct, frozen=True, kw_only=True):
    """A session as one event or one view tells it: the same words for both."""

    tenant: str
    session: str
    version: int
    length: int
    at_ms: int
    tokens: int
    model: str | None
    window: int | None
    max_output: int | None
    observed_limit: int | None
    growth_tokens_per_s: float
    job: LiveJob | None
    candidate: OpenCandidate | None

    @property
    def name(self) -> tuple[str, str]:
        """Tenant and session."""
        return self.tenant, self.session


class _Numbers(Protocol):
    """What an open candidate is known by, in an event and in a view alike."""

    @property
    def cid(self) -> str: ...
    @property
    def slot(self) -> str: ...
    @property
    def upto(self) -> int: ...
    @property
    def tokens_before(self) -> int | None: ...
    @property
    def tokens_after(self) -> int: ...
    @property
    def tokens_at_snapshot(self) -> int: ...


def statement_of_event(event: Event) -> Statement:
    """A size event is a full statement."""
    job = event.job
    return Statement(
        tenant=event.tenant,
        session=event.session,
        version=event.version,
        length=event.length,
        at_ms=event.at_ms,
        tokens=event.tokens,
        model=event.model,
        window=event.window,
        max_output=event.max_output,
        observed_limit=event.observed_limit,
        growth_tokens_per_s=event.growth,
        job=LiveJob(jid=job.jid, kind=job.kind, state=job.state) if job else None,
        candidate=_furthest(event.cands) if event.cands else None,
    )


def statement_of_view(view: SessionView) -> Statement:
    """A view says the same and more."""
    job = view.job
    return Statement(
        tenant=view.tenant,
        session=view.session,
        version=view.version,
        length=view.length,
        at_ms=view.now_ms,
        tokens=view.tokens,
        model=view.model,
        window=view.window,
        max_output=view.max_output,
        observed_limit=view.observed_limit,
        growth_tokens_per_s=view.growth_tokens_per_s,
        job=LiveJob(jid=job.jid, kind=job.kind, state=job.state) if job else None,
        candidate=_furthest(view.candidates) if view.candidates else None,
    )


def facts_of(
    statement: Statement, policy: Policy, limits: Limits | None, last_try: LastTry | None
) -> SizeFacts:
    """The facts of a decision about this session under this policy."""
    return SizeFacts(
        tokens=statement.tokens,
        limits=limits,
        growth_tokens_per_s=statement.growth_tokens_per_s,
        p95_job_s=policy.p95_job_s,
        candidate=statement.candidate,
        job=statement.job,
        last_try=last_try,
        brakes=Brakes(paused=policy.paused),
        background=policy.background,
    )


class LimitsCache:
    """Limits by policy, model and window: the same few are asked for with every event."""

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], tuple[Policy, Limits | None]] = {}

    def get(self, policy: Policy, statement: Statement) -> Limits | None:
        """The limits of a session; None when its window is unknown."""
        asked = (statement.model, statement.window, statement.max_output, statement.observed_limit)
        key = (id(policy), *asked)
        known = self._known.get(key)
        # The policy is kept beside its limits, so that an id never speaks for another policy.
        if known is None or known[0] is not policy:
            if len(self._known) >= MOST_LIMITS:
                self._known.clear()
            known = self._known[key] = (policy, policy.limits_of(*asked))
        return known[1]


def _furthest(candidates: Iterable[_Numbers]) -> OpenCandidate | None:
    """The full candidate that covers most; floors do not count, they only bridge a wait."""
    full = [candidate for candidate in candidates if candidate.slot != FLOOR]
    if not full:
        return None
    best = max(full, key=lambda candidate: candidate.upto)
    return OpenCandidate(
        cid=best.cid,
        upto=best.upto,
        tokens_before=best.tokens_before,
        tokens_after=best.tokens_after,
        tokens_at_snapshot=best.tokens_at_snapshot,
    )
