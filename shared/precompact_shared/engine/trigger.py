"""When does background work begin? One table, one row one small function, the first row that speaks decides.

The facts are one full statement about a session (an event, or a view of it), so a decision never needs the past.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import NamedTuple

import msgspec

from precompact_shared.engine.limits import Limits

FAR_AWAY_MS = 3_600_000
"""Urgency of a job whose limit nobody can see coming."""
RETRY_GROWTH_SHARE = 0.5
"""After a job that found nothing to do the session has to grow by this share of its keep budget first."""


class Action(StrEnum):
    """What a scheduler does."""

    NONE = "none"
    CLAIM = "claim"
    HURRY = "hurry"
    """The live job became urgent: it is due from now on, and one that waits is sent once more, in front."""


class Kind(StrEnum):
    """Kinds of jobs a scheduler claims; the ledger has more."""

    SPECULATIVE = "speculative"
    REFRESH = "refresh"
    IDLE = "idle"
    DUE = "due"


URGENT_KINDS = frozenset({"due", "overflow", "manual"})


class Reason(StrEnum):
    """Why, in words that dashboards and `why` show."""

    WINDOW_UNKNOWN = (
        "window_unknown: send `window` with the session, or name the model in the policy's `windows`"
    )
    HARD = "at_hard"
    PAUSED = "paused"
    THRASH = "thrash"
    BREAKER = "breaker_open"
    IN_FLIGHT = "in_flight"
    LIMIT_NEAR = "limit_reached_while_in_flight"
    NOTHING_NEW = "nothing_new_since_the_last_try"
    LIMIT = "limit_reached"
    CANDIDATE_TOO_LONG = "candidate_no_longer_fits"
    CANDIDATE_AGES = "candidate_would_be_too_old_at_the_limit"
    CANDIDATE_READY = "candidate_ready"
    START = "start_point_passed"
    BACKGROUND_OFF = "background_off"
    CACHE_EXPIRES = "cache_about_to_expire"
    BELOW_MINIMUM = "below_minimum"
    BELOW_START = "below_start_point"


class OpenCandidate(msgspec.Struct, frozen=True, kw_only=True):
    """A full candidate that waits for adoption."""

    cid: str
    upto: int
    tokens_after: int
    tokens_at_snapshot: int
    tokens_before: int | None = None
    """Tokens of what it replaces; None when the statement does not say."""


class LiveJob(msgspec.Struct, frozen=True, kw_only=True):
    """The session's one live job."""

    jid: str
    kind: str
    state: str


class LastTry(msgspec.Struct, frozen=True, kw_only=True):
    """A job for this version that ended without a candidate."""

    tokens: int
    """Size of the session then."""
    reason: str
    background: bool = False
    """It failed while nobody waited, so that not all of its chain was asked."""


class IdleClock(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt cache that is about to expire; None in the facts where idle jobs are off."""

    expires_in_s: float
    lead_s: float
    min_tokens: int
    done: bool
    """A job has already used this idle stretch."""


class Brakes(msgspec.Struct, frozen=True, kw_only=True):
    """What holds new work back; all off unless somebody says so."""

    paused: bool = False
    thrash: bool = False
    provider_open: bool = False
    """The breaker of the first provider is open."""
    spend_open: bool = False

    @property
    def breaker_open(self) -> bool:
        """Any breaker that forbids paid work."""
        return self.provider_open or self.spend_open

    @property
    def any(self) -> bool:
        """Whether anything at all holds back."""
        return self.paused or self.thrash or self.breaker_open


class SizeFacts(msgspec.Struct, frozen=True, kw_only=True):
    """One statement about one session. `limits` is None when its window is unknown."""

    tokens: int
    limits: Limits | None
    growth_tokens_per_s: float = 0.0
    p95_job_s: float = 30.0
    """The tenant's 95th percentile of job times."""
    candidate: OpenCandidate | None = None
    job: LiveJob | None = None
    last_try: LastTry | None = None
    brakes: Brakes = Brakes()
    background: bool = True
    """False: nothing before the limit."""
    idle: IdleClock | None = None


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """What to do, for which reason, and by which row of the table."""

    action: Action
    reason: Reason
    row: str = ""
    kind: Kind | None = None
    urgency_ms: int = FAR_AWAY_MS
    """Predicted milliseconds until the limit."""
    base: str | None = None
    """Candidate that a refresh builds on."""
    extractive_only: bool = False
    """No paid call: a brake is on, but at `hard` something always runs."""


class _Known(NamedTuple):
    """The facts with a known window, and what follows from them."""

    facts: SizeFacts
    limits: Limits
    tokens: int
    at_limit: bool
    at_hard: bool

    @classmethod
    def of(cls, facts: SizeFacts, limits: Limits) -> _Known:
        at_hard = facts.tokens >= limits.hard
        return cls(facts, limits, facts.tokens, at_hard or limits.reached(facts.tokens), at_hard)


class _Wish(NamedTuple):
    """What a row says; the table adds what follows from the facts."""

    action: Action
    reason: Reason
    kind: Kind | None = None
    base: str | None = None


Row = Callable[[_Known], _Wish | None]


def decide(facts: SizeFacts) -> Decision:
    """The decision about a session that stands as `facts` say."""
    if facts.limits is None:
        return Decision(action=Action.NONE, reason=Reason.WINDOW_UNKNOWN, row="window_unknown")
    known = _Known.of(facts, facts.limits)
    for name, row in TABLE:
        wish = row(known)
        if wish is not None:
            return _decision(wish, name, known)
    return _decision(_nothing(Reason.BELOW_START), "else", known)


def _decision(wish: _Wish, row: str, known: _Known) -> Decision:
    return Decision(
        action=wish.action,
        reason=wish.reason,
        row=row,
        kind=wish.kind,
        urgency_ms=urgency_ms(known.facts, known.limits),
        base=wish.base,
        extractive_only=wish.action is Action.CLAIM and known.facts.brakes.any,
    )


def start_point(limits: Limits, growth_tokens_per_s: float, p95_job_s: float) -> int:
    """Where speculation starts: the latest point that leaves one slow job's time, within the preset's bounds."""
    latest = limits.limit - int(max(0.0, growth_tokens_per_s) * p95_job_s)
    return min(max(latest, limits.start_low), limits.start_high)


def minimum(limits: Limits) -> int:
    """Least size for background work. Never above the latest start: such a session would always meet its limit cold."""
    return min(limits.min_tokens, limits.start_high)


def urgency_ms(facts: SizeFacts, limits: Limits) -> int:
    """Predicted milliseconds until the limit, 0 there, at most an hour."""
    missing = limits.limit - facts.tokens
    if missing <= 0:
        return 0
    in_an_hour = facts.growth_tokens_per_s * FAR_AWAY_MS / 1000
    return FAR_AWAY_MS if in_an_hour <= missing else int(1000 * missing / facts.growth_tokens_per_s)


def _nothing(reason: Reason) -> _Wish:
    return _Wish(Action.NONE, reason)


def _claim(kind: Kind, reason: Reason, *, base: str | None = None) -> _Wish:
    return _Wish(Action.CLAIM, reason, kind, base)


def _projected(known: _Known, candidate: OpenCandidate) -> int:
    """Size after adopting it; without its own numbers, its insert, one keep budget and what came since."""
    if candidate.tokens_before is not None:
        return known.tokens - candidate.tokens_before + candidate.tokens_after
    growth = max(0, known.tokens - candidate.tokens_at_snapshot)
    return candidate.tokens_after + known.limits.keep_tokens + growth


def _row_in_flight_and_near(known: _Known) -> _Wish | None:
    """A live job meets the limit: it is hurried, never doubled."""
    job = known.facts.job
    if job is None or not known.at_limit or job.kind in URGENT_KINDS:
        return None
    return _Wish(Action.HURRY, Reason.LIMIT_NEAR, Kind.DUE)


def _row_in_flight(known: _Known) -> _Wish | None:
    """One live job a session."""
    return _nothing(Reason.IN_FLIGHT) if known.facts.job else None


def _row_hard(known: _Known) -> _Wish | None:
    """At `hard` something always runs, whatever brake is on."""
    if not known.at_hard or known.facts.candidate:
        return None
    return _claim(Kind.DUE, Reason.HARD)


def _row_paused(known: _Known) -> _Wish | None:
    """Pause and thrash stop everything new below `hard`."""
    brakes = known.facts.brakes
    if known.at_hard or not (brakes.paused or brakes.thrash):
        return None
    return _nothing(Reason.PAUSED if brakes.paused else Reason.THRASH)


def _row_breaker(known: _Known) -> _Wish | None:
    """An open breaker stops what is speculative; what is due runs on the next provider."""
    if known.at_limit or not known.facts.brakes.breaker_open:
        return None
    return _nothing(Reason.BREAKER)


def _row_nothing_new(known: _Known) -> _Wish | None:
    """The last job found nothing to do, and little came since."""
    last = known.facts.last_try
    if last is None or known.tokens < last.tokens or (last.background and known.at_limit):
        return None
    enough = max(1, int(known.limits.keep_tokens * RETRY_GROWTH_SHARE))
    return _nothing(Reason.NOTHING_NEW) if known.tokens - last.tokens < enough else None


def _row_candidate_at_limit(known: _Known) -> _Wish | None:
    """At the limit a candidate is adopted by the next request, if it still fits."""
    candidate = known.facts.candidate
    if candidate is None or not known.at_limit:
        return None
    if _projected(known, candidate) < known.limits.limit:
        return _nothing(Reason.CANDIDATE_READY)
    return _claim(Kind.REFRESH, Reason.CANDIDATE_TOO_LONG, base=candidate.cid)


def _row_limit(known: _Known) -> _Wish | None:
    """At the limit without a candidate: now, on the urgent queue."""
    return _claim(Kind.DUE, Reason.LIMIT) if known.at_limit else None


def _row_candidate(known: _Known) -> _Wish | None:
    """Below the limit a candidate is refreshed when its tail gets too long while the refresh would run."""
    candidate, facts = known.facts.candidate, known.facts
    if candidate is None:
        return None
    growth = known.tokens - candidate.tokens_at_snapshot
    ahead = int(max(0.0, facts.growth_tokens_per_s) * facts.p95_job_s)
    # At most half of the growth allowed is spent on looking ahead, or a fast session would refresh without end.
    if facts.background and growth + min(ahead, known.limits.growth_max // 2) > known.limits.growth_max:
        return _claim(Kind.REFRESH, Reason.CANDIDATE_AGES, base=candidate.cid)
    return _nothing(Reason.CANDIDATE_READY)


def _row_idle(known: _Known) -> _Wish | None:
    """The cache is warm but not for long: the summary can still read it."""
    idle = known.facts.idle
    if idle is None or idle.done or known.tokens < idle.min_tokens:
        return None
    if not 0 < idle.expires_in_s <= idle.lead_s:
        return None
    return _claim(Kind.IDLE, Reason.CACHE_EXPIRES)


def _row_background_off(known: _Known) -> _Wish | None:
    """The policy wants nothing before the limit."""
    return None if known.facts.background else _nothing(Reason.BACKGROUND_OFF)


def _row_start(known: _Known) -> _Wish | None:
    """Past the start point: speculate."""
    facts = known.facts
    if known.tokens < start_point(known.limits, facts.growth_tokens_per_s, facts.p95_job_s):
        return None
    if known.tokens < minimum(known.limits):
        return _nothing(Reason.BELOW_MINIMUM)
    return _claim(Kind.SPECULATIVE, Reason.START)


TABLE: tuple[tuple[str, Row], ...] = (
    ("in_flight_and_near", _row_in_flight_and_near),
    ("in_flight", _row_in_flight),
    ("hard", _row_hard),
    ("paused", _row_paused),
    ("breaker", _row_breaker),
    ("nothing_new", _row_nothing_new),
    ("candidate_at_limit", _row_candidate_at_limit),
    ("limit", _row_limit),
    ("candidate", _row_candidate),
    ("background_off", _row_background_off),
    ("idle", _row_idle),
    ("start", _row_start),
)
"""Read from the top; `else`: below the start point."""
