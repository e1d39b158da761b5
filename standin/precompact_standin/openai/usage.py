"""Usage by OpenAI's convention: input includes what was read from and written to the cache."""

from __future__ import annotations

from typing import Any

from precompact_standin.caching import CachePlan
from precompact_standin.models import Model
from precompact_standin.saying import Said

STEP_TOKENS = 128
"""Older models report cache reads in steps of this size."""


def response_usage(plan: CachePlan, said: Said, model: Model) -> dict[str, Any]:
    """Usage of a Responses reply."""
    written = plan.written if model.charges_writes else 0
    details: dict[str, Any] = {"cached_tokens": cached(plan, model), "cache_write_tokens": written}
    if written:
        by_ttl = {f"ttl_{ttl}_tokens": plan.writes.get(ttl, 0) for ttl in ("30m", "12h")}
        details["cache_write_tokens_details"] = by_ttl
    return {
        "input_tokens": plan.total,
        "input_tokens_details": details,
        "output_tokens": said.tokens,
        "output_tokens_details": {"reasoning_tokens": said.thinking_tokens},
        "total_tokens": plan.total + said.tokens,
    }


def chat_usage(plan: CachePlan, said: Said, model: Model) -> dict[str, Any]:
    """Usage of a chat completion."""
    details = {"cached_tokens": cached(plan, model)}
    if model.charges_writes:
        details["cache_write_tokens"] = plan.written
    return {
        "prompt_tokens": plan.total,
        "completion_tokens": said.tokens,
        "total_tokens": plan.total + said.tokens,
        "prompt_tokens_details": details,
        "completion_tokens_details": {"reasoning_tokens": said.thinking_tokens},
    }


def cached(plan: CachePlan, model: Model) -> int:
    """Tokens read from the cache, as this model reports them."""
    return plan.read if model.charges_writes else plan.read // STEP_TOKENS * STEP_TOKENS
