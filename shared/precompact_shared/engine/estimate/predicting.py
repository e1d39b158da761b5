"""The size of the next request, where it comes from, and how far off it may be."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from math import floor, sqrt

from precompact_shared.engine.estimate.calibration import estimate, noise, square, tokens_in, variance
from precompact_shared.engine.estimate.masses import W
from precompact_shared.engine.estimate.rates import Measures
from precompact_shared.engine.estimate.reasoning import average, parts_of, reasoning_of
from precompact_shared.engine.estimate.spans import SpanOf, Turn
from precompact_shared.engine.estimate.states import State

_SPREAD_DEVIATIONS = 1.6
"""Nine in ten recorded sizes lie inside; the bench prints the share."""


class Source(StrEnum):
    """What a size rests on."""

    REPORTED = "reported"
    """The provider's own count; nothing came after it."""
    EXTENDED = "extended"
    """The provider's count and an estimate of what came after."""
    ESTIMATED = "estimated"
    """No valid report: only what we hold is in it. System prompt and tools, where we do not hold them, are not."""


@dataclass(frozen=True, slots=True)
class Size:
    """Tokens of the next prompt."""

    tokens: int
    source: Source
    spread: int | None
    """Nine times in ten the truth is no farther off. None: unknown, since nothing valid was reported."""


def predict(state: State, rates: Measures[W], span: SpanOf[W]) -> Size:
    """The size with the span's entries in it. Never negative; without a valid report the span has to be the context."""
    thought = reasoning_of(state, rates, span)
    parts = parts_of(rates, span, thought)
    growth = estimate(state.factors, parts)
    if not state.base:
        return Size(max(0, whole(growth)), Source.ESTIMATED, None)
    if span.last is None:
        return Size(state.base, Source.REPORTED, 0)
    old = state.carried + thought.early if span.turn is Turn.ENDED else 0.0
    leaving = state.leaves * state.factors[1] * old
    spread = sqrt(
        variance(state.doubt, parts)
        + noise(tokens_in(parts), max(1, span.total.replies))
        + thought.guessed * square(2 * average(state))
    )
    return Size(
        max(0, whole(state.base + growth - leaving)),
        Source.EXTENDED,
        whole(_SPREAD_DEVIATIONS * spread),
    )


def whole(tokens: float) -> int:
    """The nearest whole number, halves upwards."""
    return floor(tokens + 0.5)
