"""What is known of the agent's live prefix and its cache, and whether using it is the cheaper way. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from precompact_shared.engine.mode import (
    ASKING_TOKENS,
    USUAL_OUTPUT_TOKENS,
    Choice,
    Offer,
    Seen,
    Sighting,
    Warmth,
    choose,
    look,
    transcript_offer,
)
from precompact_shared.engine.summary import spoken
from precompact_shared.engine.tokens import count_text, family_factor
from precompact_shared.engine.usage import Usage
from precompact_shared.models import ModelWindow
from precompact_shared.policy import Policy
from precompact_shared.provider_spec import ProviderName, ProviderSpec
from precompact_shared.store.spending import DaySpent
from precompact_shared.store.types import JobKind, JobTag, SessionView
from precompact_worker.providers.base import Request
from precompact_worker.providers.prefix_body import matches_cache

MODE = "prefix"
MODES = frozenset({MODE, "transcript"})
"""Of calls that write a summary in words."""
TELLING_CALLS = 4
"""So many calls with the prefix on a tenant's day, and less than `COLD_SHARE` of their prompts read, mean cold for all
its sessions: two to four sessions have found out."""
COLD_SHARE = 0.6
"""A miss followed by a second call that reads it back reads half."""
MOST_CALLS = 2
"""For one part of a summary: the first, and the one that is told what is missing."""


@dataclass(frozen=True, slots=True)
class Habit:
    """What summaries of the session have been like: how long, in o200k tokens, and how many calls one takes."""

    output_tokens: int
    calls: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What is on record when a job begins."""

    prefix: bytes | None
    """The caller's, as it was sent."""
    view: SessionView
    job: JobTag
    jobs: Sequence[JobTag]
    """Of the session, oldest first."""
    spent: Sequence[DaySpent] = ()
    """The tenant's newest day with calls."""

    @property
    def is_on_open_base(self) -> bool:
        """Whether the job builds on a candidate nobody has adopted: what it would send no agent has ever sent."""
        return self.job.base is not None and self.job.base != self.view.checkpoint


@dataclass(frozen=True, slots=True, kw_only=True)
class LivePrefix:
    """Sizes in the tokens of the session's model, unless said otherwise."""

    content: Mapping[str, Any]
    prompt_tokens: int
    """Of the request without our own words."""
    transcript_tokens: int
    """Of the same as a transcript, in o200k tokens."""
    habit: Habit
    seen: Seen
    reads_back: bool
    """Whether a second call of ours reads what the first one wrote."""
    sends_tail: bool
    """Whether the whole context is sent, as the agent last sent it, or what stands before the cut."""

    def choice(
        self, spec: ProviderSpec, model: str, policy: Policy, window: ModelWindow | None = None
    ) -> Choice:
        """Between the live prefix on the session's model and a transcript on the spec's, whose window this is."""
        transcript = transcript_offer(
            self.transcript_tokens,
            self.habit.output_tokens,
            factor=family_factor(spec.writer),
            price=policy.price_of(spec.writer),
            calls=self.habit.calls,
            is_cached=spec.name is ProviderName.OPENAI,  # by itself, wanted or not
            most_tokens=window.window - window.max_output if window else None,
        )
        prefix = Offer(
            prompt_tokens=self.prompt_tokens + int(ASKING_TOKENS * family_factor(model)),
            output_tokens=int(self.habit.output_tokens * family_factor(model)),
            price=policy.price_of(model),
            calls=self.habit.calls,
            is_cached=True,
            reads_back=self.reads_back,
        )
        return choose(transcript, prefix, seen=self.seen)


def live_prefix(record: Record, policy: Policy, request: Request) -> LivePrefix | None:
    """The prefix on record with what was seen of its cache; None for none. O(characters of what is covered).

    The agent's newest request is what its cache surely holds: so the whole context is sent, where it fits, and not
    the part up to the cut, which the agent may have sent last long ago.
    """
    content = json.loads(record.prefix) if record.prefix else None
    if not isinstance(content, dict):
        return None
    view = record.view
    sends_tail = record.job.kind is not JobKind.OVERFLOW and _fits(view, policy)
    prompt = view.tokens if sends_tail else view.tokens - sum(entry.tokens for entry in request.tail)
    said = spoken(request.format, request.covered, request.preset.summary)
    return LivePrefix(
        content=content,
        prompt_tokens=prompt,
        transcript_tokens=sum(one.tokens for one in said) + count_text(request.previous),
        habit=habit_of(record, request.max_tokens),
        seen=seen_of(record, policy) if matches_cache(content) else Seen(Warmth.COLD),
        reads_back=reads_back(record.jobs, view.model),
        sends_tail=sends_tail,
    )


def seen_of(record: Record, policy: Policy) -> Seen:
    """What our calls and the agent's usage told of the cache.

    An agent that never told any counts as warm while it is active, until a call of ours says no.
    """
    view, told = record.view, record.view.agent_cache
    if record.is_on_open_base or is_cold_for_tenant(record.spent, view.model):
        return Seen(Warmth.COLD)
    agent = None
    if told is not None:
        plain = max(0, told.prompt_tokens - told.read_tokens - told.written_tokens)
        agent = Sighting(told.at_ms, Usage(plain, told.read_tokens, told.written_tokens, 0))
    found = look(sightings(record.jobs, view.model), agent, now_ms=view.now_ms, ttl_s=policy.cache_ttl_s)
    is_active = 0 <= view.now_ms - view.last_at_ms <= policy.cache_ttl_s * 1000
    if found.warmth is Warmth.UNSEEN and told is None and is_active:
        return Seen(Warmth.WARM, 1.0)
    return found


def is_cold_for_tenant(spent: Iterable[DaySpent], model: str | None) -> bool:
    """Whether our calls with the prefix on a tenant's day found too little: its key may be of another workspace."""
    told = [one for one in spent if one.mode == MODE and one.model == model]
    # A call that was refused or broken off tells of a busy provider, not of its cache.
    calls = sum(one.calls - one.silent_calls for one in told)
    read = sum(one.cache_read_tokens for one in told)
    other = sum(one.input_tokens + one.cache_write_tokens - one.estimated_tokens for one in told)
    return calls >= TELLING_CALLS and read < COLD_SHARE * (read + other)


def sightings(jobs: Iterable[JobTag], model: str | None) -> list[Sighting]:
    """One call with this model's prefix of each job that told its usage: the first that missed, else its first.

    A hit of a later call is none: it reads what the first one of the job wrote. Nor is a refresh: see `is_on_open_base`.
    """
    seen = ([Sighting(job.started_ms, _usage(one)) for one in _with_prefix(job, model)] for job in jobs)
    return [next((one for one in calls if not one.is_hit), calls[0]) for calls in seen if calls]


def reads_back(jobs: Iterable[JobTag], model: str | None) -> bool:
    """Whether the newest second call of a job read what the first one wrote; True before there was one."""
    seconds = [calls[1] for job in jobs if len(calls := _with_prefix(job, model)) > 1]
    return not seconds or Sighting(0, _usage(seconds[-1])).is_hit


def habit_of(record: Record, most_tokens: int) -> Habit:
    """As the session's newest summary was; before there is one as the tenant's were; before that, what is usual."""
    made = [
        calls for job in record.jobs if (calls := [one for one in _answered(job) if one["mode"] in MODES])
    ]
    if not made:
        return Habit(min(_of_tenant(record.spent) or USUAL_OUTPUT_TOKENS, most_tokens), 1.0)
    last = made[-1][-1]
    written = int(last["output_tokens"] / family_factor(last.get("model")))
    return Habit(written, sum(min(MOST_CALLS, len(calls)) for calls in made) / len(made))


def _of_tenant(spent: Iterable[DaySpent]) -> int:
    """What one call wrote on average, in o200k tokens; 0 where none did."""
    told = [one for one in spent if one.mode in MODES and one.output_tokens]
    written = sum(one.output_tokens / family_factor(one.model) for one in told)
    return int(written / max(1, sum(one.calls - one.silent_calls for one in told)))


def _fits(view: SessionView, policy: Policy) -> bool:
    limits = policy.limits_of(view.model, view.window, view.max_output, view.observed_limit)
    return limits is not None and view.tokens <= limits.hard


def _with_prefix(job: JobTag, model: str | None) -> list[dict[str, Any]]:
    if job.kind is JobKind.REFRESH:
        return []
    return [one for one in _answered(job) if one.get("mode") == MODE and one.get("model") == model]


def _answered(job: JobTag) -> list[dict[str, Any]]:
    return [call for call in job.calls if call.get("outcome") == "ok" and not call.get("estimated")]


def _usage(call: Mapping[str, Any]) -> Usage:
    names = ("input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens")
    return Usage(*(int(call.get(name) or 0) for name in names))
