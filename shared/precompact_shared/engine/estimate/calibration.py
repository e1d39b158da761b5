"""One growth, three factors: a Kalman filter that doubts what looks unlike all before."""

from __future__ import annotations

from math import sqrt

from precompact_shared.engine.estimate.rates import Parts

STEP_NOISE_TOKENS = 30.0
"""What a growth differs by that no text explains: wrappers, counters, a client's hidden reminders."""
TEXT_NOISE = 0.12
"""And what one text differs by from another, relative to its size."""
_ORDINARY = 2.0
"""Deviations up to which a growth is believed; beyond, it counts for as much less as it lies farther off."""
_LEAST, _MOST = (0.4, 0.0, 0.4), 2.5
"""Reasoning may turn out not to be in the prompt at all: Chat Completions report it and leave it out."""

Doubt = tuple[float, float, float, float, float, float]


def noise(tokens: float, steps: int = 1) -> float:
    """Variance of a growth around a perfectly calibrated estimate."""
    return steps * square(STEP_NOISE_TOKENS) + square(TEXT_NOISE * tokens)


def variance(doubt: Doubt, parts: Parts) -> float:
    """Variance of the estimate of `parts` that comes from not knowing the factors."""
    return _dot(parts, _times(doubt, parts))


def correct(factors: Parts, doubt: Doubt, parts: Parts, growth: float, noise_: float) -> tuple[Parts, Doubt]:
    """The factors after a growth of `growth` tokens where `parts` was estimated, and how sure they are now."""
    surprise = growth - _dot(factors, parts)
    unsure = variance(doubt, parts)
    deviation = abs(surprise) / sqrt(unsure + noise_)
    if deviation > _ORDINARY:
        noise_ *= square(deviation / _ORDINARY)
    reach = _times(doubt, parts)
    gain = tuple(one / (unsure + noise_) for one in reach)
    moved = tuple(
        min(_MOST, max(least, factor + step * surprise))
        for factor, step, least in zip(factors, gain, _LEAST, strict=True)
    )
    rows = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
    surer = tuple(old - gain[row] * reach[column] for old, (row, column) in zip(doubt, rows, strict=True))
    return (moved[0], moved[1], moved[2]), (surer[0], surer[1], surer[2], surer[3], surer[4], surer[5])


def tokens_in(parts: Parts) -> float:
    """All directions, added from left to right: what `sum` does with fractions is not the same everywhere."""
    return parts[0] + parts[1] + parts[2]


def square(value: float) -> float:
    """By multiplying: the store's scripts get the same to the last bit, which no power function promises."""
    return value * value


def estimate(factors: Parts, parts: Parts) -> float:
    """Tokens of `parts` in this session."""
    return _dot(factors, parts)


def _dot(left: Parts, right: Parts) -> float:
    return left[0] * right[0] + left[1] * right[1] + left[2] * right[2]


def _times(doubt: Doubt, parts: Parts) -> Parts:
    a, b, c, d, e, f = doubt
    x, y, z = parts
    return a * x + b * y + c * z, b * x + d * y + e * z, c * x + e * y + f * z
