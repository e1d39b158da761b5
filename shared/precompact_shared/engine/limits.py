"""The numbers one session is held against: a preset's trigger, a policy's wishes, and the window at hand."""

from __future__ import annotations

from dataclasses import dataclass, replace

from precompact_shared.engine.preset import Limits, Preset

__all__ = ["LimitOverrides", "Limits", "apply_overrides", "limits", "margin_tokens"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitOverrides:
    """What a policy wants otherwise than its preset; None = as the preset says."""

    limit_share: float | None = None
    """Soft limit as a share of `hard`."""
    start_low: float | None = None
    """Earliest start of speculation, share of the limit."""
    start_high: float | None = None
    """Latest start of speculation, share of the limit."""
    min_tokens: int | None = None
    """No background work below this size."""
    keep_tokens: int | None = None
    """Newest tokens that stay word for word."""


def limits(
    preset: Preset,
    *,
    window: int,
    max_output: int,
    overrides: LimitOverrides | None = None,
    observed_limit: int | None = None,
) -> Limits:
    """The limits for a window and an output reserve, in tokens.

    `observed_limit`: a request of that size was refused by the provider, so `hard` is not above it, whatever the
    window is said to be. Raises `Configuration` when nothing is left of the window.
    """
    wanted = apply_overrides(preset, overrides or LimitOverrides())
    found = wanted.limits(window=window, max_output=max_output)
    if observed_limit is None or observed_limit >= found.hard:
        return found
    output = min(max_output, wanted.trigger.output_max_tokens or max_output)
    really = round((observed_limit + output) / (1 - wanted.trigger.margin_share))
    return replace(wanted.limits(window=really, max_output=max_output), hard=observed_limit)


def apply_overrides(preset: Preset, overrides: LimitOverrides) -> Preset:
    """The preset as the policy wants it. A limit given as a share replaces the preset's own, or only lowers it."""
    trigger, cut = preset.trigger, preset.cut
    if overrides.limit_share is not None:
        trigger = trigger.with_limit_share(overrides.limit_share)
    if overrides.start_low is not None:
        trigger = replace(trigger, start_low=overrides.start_low)
    if overrides.start_high is not None:
        trigger = replace(trigger, start_high=overrides.start_high)
    if overrides.min_tokens is not None:
        trigger = replace(trigger, min_tokens=overrides.min_tokens, small_window_tokens=0)
    if overrides.keep_tokens is not None:
        cut = cut.with_keep_tokens(overrides.keep_tokens)
    return replace(preset, trigger=trigger, cut=cut)


def margin_tokens(preset: Preset, window: int) -> int:
    """What stays free of a window besides the output: 2 % of it in the presets that ship."""
    return round(window * preset.trigger.margin_share)
