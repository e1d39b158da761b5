"""Usage as the Messages API reports it: uncached, written and read input apart; compactions in `iterations`."""

from __future__ import annotations

from typing import Any

from precompact_standin.caching import CachePlan
from precompact_standin.saying import Said


def entry(kind: str, plan: CachePlan, output_tokens: int) -> dict[str, Any]:
    """One entry of `iterations`."""
    return {"type": kind, **_input(plan), "output_tokens": output_tokens}


def message_usage(plan: CachePlan, said: Said, iterations: list[dict[str, Any]]) -> dict[str, Any]:
    """Usage of an ordinary reply; with `iterations` the compaction stands there alone."""
    usage: dict[str, Any] = {**_input(plan), "output_tokens": said.tokens, "service_tier": "standard"}
    if said.thinking_tokens:
        usage["output_tokens_details"] = {"thinking_tokens": said.thinking_tokens}
    return {**usage, "iterations": iterations} if iterations else usage


def compaction_usage(iterations: list[dict[str, Any]]) -> dict[str, Any]:
    """Usage of a reply that is nothing but a compaction: 0 and 0 on top."""
    empty = _input(CachePlan(0))
    return {**empty, "output_tokens": 0, "service_tier": "standard", "iterations": iterations}


def _input(plan: CachePlan) -> dict[str, Any]:
    return {
        "input_tokens": plan.uncached,
        "cache_creation_input_tokens": plan.written,
        "cache_read_input_tokens": plan.read,
        "cache_creation": {
            "ephemeral_5m_input_tokens": plan.writes.get("5m", 0),
            "ephemeral_1h_input_tokens": plan.writes.get("1h", 0),
        },
    }
