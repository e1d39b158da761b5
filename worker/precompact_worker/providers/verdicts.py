"""What a provider's answer means for the worker, by what to do next; and the errors that say so, all of our own.

SDK exceptions never leave the providers: some of them do not pickle, and their messages quote requests.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from enum import StrEnum

from precompact_shared.errors import Overflow, Permanent, PrecompactError, Retryable

RETRY_DEFAULT_S = 1.0
RETRY_MOST_S = 300.0
"""Whatever a `Retry-After` says: servers have asked for weeks."""


class Verdict(StrEnum):
    """What to do next."""

    OK = "ok"
    EMPTY = "empty"
    """No text came; once more, then somebody else."""
    TRUNCATED = "truncated"
    """At the output limit; once more with twice the room."""
    REFUSED = "refused"
    """Not with this text; somebody else."""
    OVERFLOW = "overflow"
    """Too large; in smaller pieces."""
    RETRYABLE = "retryable"
    """Passes by itself."""
    CONFIG = "config"
    """A person has to change a key, a model or an account."""
    PERMANENT = "permanent"
    """Will fail again."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A verdict with its reason: a code, never text. `after_s` is set for `RETRYABLE` alone."""

    verdict: Verdict
    code: str
    after_s: float = 0.0
    is_limit: bool = field(default=False, compare=False)
    """It is a rate limit: whoever else asks there is told the same."""


OK = Finding(Verdict.OK, "ok")


@dataclass(frozen=True, slots=True)
class Failure:
    """What is known of a failed call, whatever SDK it came through. `status` None = no answer at all."""

    status: int | None
    type: str = ""
    code: str = ""
    text: str = ""
    """For matching alone; never logged, kept or shown."""
    after_s: float | None = None
    timed_out: bool = False
    unsent: bool = False
    """There was no connection: nobody received the request, and nothing can have been used."""
    cut_off: bool = False
    """A stream that ended without its end."""
    garbled: bool = False
    """An answer that is not what the protocol says: HTML, an empty body, half an event."""


class ProviderFailed(Retryable):
    """The provider failed for a reason that passes; the next in the chain is asked, or the job is tried later."""

    code = "provider_failed"


class ProviderLimited(ProviderFailed):
    """The provider's rate limit is reached; the next in the chain is asked, or the job is tried later."""


class ProviderHeld(ProviderFailed):
    """The provider told another job to leave it alone for a while; the next in the chain is asked, or the job waits."""

    code = "provider_held"


class ProviderTimeout(ProviderFailed):
    """The provider did not answer within its time; the next in the chain is asked."""

    code = "provider_timeout"


class ProviderRefused(Permanent):
    """The provider refuses this request for good; the next in the chain is asked."""

    code = "provider_refused"


class ProviderRejected(Permanent):
    """The provider says that the request is wrong; the next in the chain is asked. Look up the reason in its manual."""

    code = "provider_rejected"


class ProviderUnusable(Permanent):
    """The provider's answer cannot be used (empty or cut off, twice); the next in the chain is asked."""

    code = "provider_unusable"


class ProviderMisconfigured(Permanent):
    """The provider refuses the key, model or account; correct the policy's provider and requeue the job."""

    code = "provider_configuration"


class ProviderOverflow(Overflow):
    """The source is too large for this provider in whatever pieces; the next in the chain is asked."""

    code = "provider_overflow"


def error_of(finding: Finding) -> PrecompactError:
    """The error that stands for a finding other than `OK`; it pickles."""
    facts = {"reason": finding.code}
    match finding.verdict:
        case Verdict.RETRYABLE if finding.code == "timeout":
            return ProviderTimeout(retry_after_s=finding.after_s, **facts)
        case Verdict.RETRYABLE if finding.is_limit:
            return ProviderLimited(retry_after_s=finding.after_s, **facts)
        case Verdict.RETRYABLE:
            return ProviderFailed(retry_after_s=finding.after_s, **facts)
        case Verdict.CONFIG:
            return ProviderMisconfigured(**facts)
        case Verdict.REFUSED:
            return ProviderRefused(**facts)
        case Verdict.OVERFLOW:
            return ProviderOverflow(**facts)
        case Verdict.PERMANENT:
            return ProviderRejected(**facts)
        case _:
            return ProviderUnusable(**facts)


def bounded(after_s: float | None) -> float:
    """Seconds to wait: what was asked for, if it is sensible, within bounds."""
    if after_s is None or not math.isfinite(after_s) or after_s <= 0:
        return RETRY_DEFAULT_S
    return min(after_s, RETRY_MOST_S)


def retryable(code: str, after_s: float | None = None) -> Finding:
    """Passes by itself, in so many seconds."""
    return Finding(Verdict.RETRYABLE, code, bounded(after_s))


_LIMITS = frozenset({"rate_limit_error", "rate_limit_exceeded", "slow_down", "throttlingException"})
"""Codes and types; an error inside a stream has no other mark."""


def marked_limit(finding: Finding, failure: Failure) -> Finding:
    """The finding, marked if it is a rate limit that passes."""
    is_limit = failure.status == 429 or not _LIMITS.isdisjoint((failure.code, failure.type))
    return replace(finding, is_limit=True) if is_limit and finding.verdict is Verdict.RETRYABLE else finding


def judge_unanswered(failure: Failure) -> Finding | None:
    """What holds for every provider when no proper answer came; None where one came."""
    if failure.unsent:
        return retryable("no_connection")
    if failure.timed_out:
        return retryable("timeout", failure.after_s)
    if failure.garbled:
        return retryable("garbled")
    if failure.cut_off:
        return retryable("cut_off")
    return retryable("unreachable") if failure.status is None else None
