"""The numbers a session is held against, and the mode they put a call in."""

from __future__ import annotations

from dataclasses import dataclass

from precompact_api.auth import Caller
from precompact_api.problems import Code, Problem
from precompact_shared.engine.preset import Limits
from precompact_shared.engine.trigger import FAR_AWAY_MS
from precompact_shared.store.types import SessionView

NEW_SESSION_AFTER = 8
"""From this many compactions on, starting anew is better advice."""
FIXED_SHARE = 0.5
"""More than this share of `hard` in system text and tools is too much."""
LEAST_OUTPUT_TOKENS = 1_024


@dataclass(frozen=True, slots=True)
class Held:
    """A sizing that can be kept."""

    limits: Limits
    window: int
    max_output: int


def size_up(caller: Caller, view: SessionView) -> Held:
    """The limits of a session. Raises Problem `window_unknown` when nobody said how large the window is."""
    found = caller.tenant.sizing(view.model, view.window, view.max_output, view.observed_limit)
    if found is None:
        raise Problem(Code.WINDOW_UNKNOWN)
    if found.limits is None:
        raise Problem(
            Code.WINDOW_UNKNOWN,
            "The window leaves no room for any input; send the model's real `window` or a smaller `max_output`.",
            window=found.window,
            max_output=found.max_output,
        )
    return Held(found.limits, found.window, found.max_output)


def advice(view: SessionView, sizing: Held) -> list[str]:
    """What the caller can do about its size, as codes."""
    said = []
    if view.tokens >= sizing.limits.hard and _fits_with_less_output(view, sizing):
        said.append("lower_max_output")
    if view.anchored and view.checkpoint is None:
        fixed = view.tokens - view.history_tokens
        if fixed > FIXED_SHARE * sizing.limits.hard:
            said.append("fixed_part_too_large")
    if view.checkpoint_n >= NEW_SESSION_AFTER:
        said.append("new_session")
    return said


def _fits_with_less_output(view: SessionView, sizing: Held) -> bool:
    return view.tokens < sizing.limits.hard + sizing.max_output - LEAST_OUTPUT_TOKENS


def urgency_ms(view: SessionView, limits: Limits) -> int:
    """Predicted milliseconds until the soft limit; smaller is sooner."""
    left = limits.limit - view.tokens
    if left <= 0:
        return 0
    if view.growth_tokens_per_s <= 0:
        return FAR_AWAY_MS
    return min(FAR_AWAY_MS, int(1000 * left / view.growth_tokens_per_s))
