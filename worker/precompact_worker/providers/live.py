"""What is known of the agent's live prefix and its cache, and whether using it is the cheaper way. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from precompact_shared.engine.mode import Mode, Offer, Sighting, Warmth, choose, warmth
from precompact_shared.engine.tokens import count_text, family_factor
from precompact_shared.engine.usage import Usage
from precompact_shared.policy import Policy
from precompact_shared.provider_spec import ProviderSpec
from precompact_shared.store.types import JobTag, SessionView

MODE = "prefix"
PROMPT_TOKENS = 1_000
"""What our own words add to either request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LivePrefix:
    """Sizes in the tokens of the session's model."""

    content: Mapping[str, Any]
    covered_tokens: int
    """Of the context up to the cut."""
    fixed_tokens: int
    """Of system prompt and tools."""
    summary_tokens: int
    """In o200k tokens."""
    seen: Warmth

    def is_cheaper(self, spec: ProviderSpec, model: str, policy: Policy) -> bool:
        """Whether the live prefix on the session's model costs less than a transcript on the spec's."""
        scale = family_factor(spec.writer) / family_factor(model)
        transcript = Offer(
            prompt_tokens=int(self.covered_tokens * scale) + PROMPT_TOKENS,
            output_tokens=int(self.summary_tokens * family_factor(spec.writer)),
            price=policy.price_of(spec.writer),
        )
        cached = self.covered_tokens + self.fixed_tokens
        prefix = Offer(
            prompt_tokens=cached + PROMPT_TOKENS,
            output_tokens=int(self.summary_tokens * family_factor(model)),
            price=policy.price_of(model),
        )
        found = choose(transcript, prefix, seen=self.seen, cached_tokens=cached, is_masked=False)
        return found.mode is Mode.PREFIX


def live_prefix(
    raw: bytes | None,
    view: SessionView,
    jobs: Iterable[JobTag],
    policy: Policy,
    *,
    covered: int,
    summary: int,
) -> LivePrefix | None:
    """The prefix on record with what our own calls saw of its cache; None for none.

    Before any call of ours, a session that was active within the cache's lifetime counts as warm: one miss then says no.
    """
    content = json.loads(raw) if raw else None
    if not isinstance(content, dict):
        return None
    seen = warmth(sightings(jobs), now_ms=view.now_ms, ttl_s=policy.cache_ttl_s)
    if seen is Warmth.UNSEEN and 0 <= view.now_ms - view.last_at_ms <= policy.cache_ttl_s * 1000:
        seen = Warmth.COLD if _missed_last(jobs) else Warmth.WARM
    fixed = {name: content.get(name) for name in ("system", "tools")}
    return LivePrefix(
        content=content,
        covered_tokens=covered,
        fixed_tokens=int(count_text(json.dumps(fixed)) * family_factor(view.model)),
        summary_tokens=summary,
        seen=seen,
    )


def sightings(jobs: Iterable[JobTag]) -> list[Sighting]:
    """Our own calls with the prefix that told their usage, oldest first."""
    return [
        Sighting(job.started_ms, _usage(call))
        for job in jobs
        for call in job.calls
        if call.get("mode") == MODE and call.get("outcome") == "ok"
    ]


def _missed_last(jobs: Iterable[JobTag]) -> bool:
    found = sightings(jobs)
    return bool(found) and not found[-1].usage.cache_read_tokens


def _usage(call: Mapping[str, Any]) -> Usage:
    names = ("input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens")
    return Usage(*(int(call.get(name) or 0) for name in names))
