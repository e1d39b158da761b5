"""What the caller's own requests carry besides the context: headers, and fields of the body, as both SDKs take them."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from precompact_shared.engine.types import Format

ON_DEMAND_BETA = "compact-2026-09-04"
"""A signed block is read by calls with this header only."""
THRESHOLD_BETA = "compact-2026-01-12"
EDITING_BETA = "context-management-2025-06-27"
_LEAST_ANTHROPIC, _LEAST_OPENAI = 50_000, 1_000
"""Triggers below these are refused."""
CLEAR_AT_LEAST_TOKENS = 20_000
"""It spoils the prompt cache: not for less."""


class InBand(StrEnum):
    """What the provider is asked to do inside the caller's own requests, as a net under ours."""

    NOTHING = "nothing"
    CLEARING = "clearing"
    """Anthropic: old tool results are cleared by the provider at our soft limit."""
    THRESHOLD = "threshold"
    """The provider compacts by itself where the request would not fit any more."""


@dataclass(frozen=True, slots=True)
class Needs:
    """Both empty unless needed."""

    headers: dict[str, str] = field(default_factory=dict)
    body: dict[str, Any] = field(default_factory=dict)


def request_needs(
    format: Format,  # noqa: A002
    wanted: InBand,
    *,
    limit: int,
    hard: int,
    has_block: bool,
) -> Needs:
    """The needs of a context; `has_block`: a provider's own block opens it. Limits in tokens.

    A request with Anthropic's signed block cannot also compact at a threshold; clearing goes with it.
    """
    if format is Format.OPENAI_RESPONSES and wanted is InBand.THRESHOLD:
        rule = {"type": "compaction", "compact_threshold": max(_LEAST_OPENAI, hard)}
        return Needs(body={"context_management": [rule]})
    if format is not Format.ANTHROPIC:
        return Needs()
    betas = [ON_DEMAND_BETA] if has_block else []
    edit = _edit(wanted, limit, hard, has_block=has_block)
    if edit is not None:
        betas.append(THRESHOLD_BETA if wanted is InBand.THRESHOLD else EDITING_BETA)
    headers = {"anthropic-beta": ",".join(betas)} if betas else {}
    return Needs(headers, {} if edit is None else {"context_management": {"edits": [edit]}})


def _edit(wanted: InBand, limit: int, hard: int, *, has_block: bool) -> dict[str, Any] | None:
    if wanted is InBand.CLEARING:
        return {
            "type": "clear_tool_uses_20250919",
            "trigger": {"type": "input_tokens", "value": limit},
            "clear_at_least": {"type": "input_tokens", "value": CLEAR_AT_LEAST_TOKENS},
        }
    if wanted is InBand.THRESHOLD and not has_block:
        value = max(_LEAST_ANTHROPIC, hard)
        return {"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": value}}
    return None
