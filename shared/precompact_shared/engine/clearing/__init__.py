"""Clearing: old tool results give way to a note or to their two ends, in the projection alone. History is untouched."""

from __future__ import annotations

from precompact_shared.engine.clearing.plan import Clearing, Idle, NothingToClear, plan_clearing
from precompact_shared.engine.clearing.replacing import is_cleared, placeholder
from precompact_shared.engine.clearing.results import ToolResult, tool_results
from precompact_shared.engine.clearing.shares import tool_shares, unknown_tools
from precompact_shared.engine.preset.clearing import ClearingRule, ClearMode, KindRule

__all__ = [
    "ClearMode",
    "Clearing",
    "ClearingRule",
    "Idle",
    "KindRule",
    "NothingToClear",
    "ToolResult",
    "is_cleared",
    "placeholder",
    "plan_clearing",
    "tool_results",
    "tool_shares",
    "unknown_tools",
]
