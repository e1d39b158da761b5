"""A trigger's numbers for one window."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from precompact_shared.engine.preset.records import Adoption, CutRule, Trigger
from precompact_shared.errors import Configuration


@dataclass(frozen=True, slots=True)
class Limits:
    """A preset's trigger for one window, in tokens. `start_low <= start_high <= limit <= hard < window`."""

    hard: int
    limit: int
    start_low: int
    start_high: int
    min_tokens: int
    keep_tokens: int
    growth_max: int
    """Largest growth since the snapshot at which a candidate is adopted below the limit."""
    limit_is_exceeded: bool
    limit_bytes: int = 0
    """Bytes of stored history that count as the limit; 0 = bytes do not matter."""

    def reached(self, tokens: int, stored_bytes: int = 0) -> bool:
        """Whether a request of this size, or a history stored in so many bytes, has reached the soft limit."""
        if self.limit_bytes and stored_bytes >= self.limit_bytes:
            return True
        return tokens > self.limit if self.limit_is_exceeded else tokens >= self.limit


def limits_for(trigger: Trigger, cut: CutRule, adoption: Adoption, *, window: int, max_output: int) -> Limits:
    """The numbers for a window and an output limit, both in tokens; raises `Configuration` when nothing is left."""
    output = min(max_output, trigger.output_max_tokens or max_output)
    hard = window - output - round(window * trigger.margin_share)
    limit = min(hard, *_terms(trigger, window, hard))
    if limit <= 0:
        raise Configuration(
            "The window leaves no room for any input; send the model's real window or a smaller max_output.",
            window=window,
            max_output=max_output,
        )
    keep = cut.budget(limit)
    earliest = limit - trigger.start_band_tokens if trigger.start_band_tokens else 0
    return Limits(
        hard=hard,
        limit=limit,
        start_low=max(int(limit * trigger.start_low), earliest),
        start_high=max(int(limit * trigger.start_high), earliest),
        min_tokens=_minimum(trigger, window, limit),
        keep_tokens=keep,
        growth_max=_growth_max(adoption, keep, limit, hard),
        limit_is_exceeded=trigger.limit_is_exceeded,
        limit_bytes=trigger.limit_bytes,
    )


def _terms(trigger: Trigger, window: int, hard: int) -> Iterator[int]:
    """The limits there are, `hard` itself among them. A reserve takes half of a small window at most."""
    yield hard
    if trigger.limit_share_of_hard:
        yield int(hard * trigger.limit_share_of_hard)
    if trigger.limit_share_of_window:
        yield int(window * trigger.limit_share_of_window)
    if trigger.limit_tokens:
        yield trigger.limit_tokens
    if trigger.limit_reserve_tokens or trigger.limit_reserve_share:
        yield max(window - _reserve(trigger, window), hard // 2)
    if trigger.limit_below_hard_tokens:
        yield max(hard - trigger.limit_below_hard_tokens, hard // 2)


def _reserve(trigger: Trigger, window: int) -> int:
    share = round(window * trigger.limit_reserve_share)
    return share if window < trigger.limit_reserve_min_window else max(trigger.limit_reserve_tokens, share)


def _minimum(trigger: Trigger, window: int, limit: int) -> int:
    if window < trigger.small_window_tokens:
        return int(limit * trigger.small_window_min_share)
    return trigger.min_tokens


def _growth_max(gate: Adoption, keep: int, limit: int, hard: int) -> int:
    growth = max(gate.growth_keeps * keep, gate.growth_min_tokens, gate.growth_limit_share * limit)
    return int(min(growth, gate.growth_hard_share_max * hard))
