"""Taking in a report: a new base, and what the growth since the last one teaches."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

from msgspec.structs import replace

from precompact_shared.engine.estimate.calibration import correct, estimate, noise, square, tokens_in
from precompact_shared.engine.estimate.masses import W
from precompact_shared.engine.estimate.rates import Measures, Parts
from precompact_shared.engine.estimate.reasoning import Reasoning, average, parts_of, reasoning_of
from precompact_shared.engine.estimate.spans import SpanOf, Turn
from precompact_shared.engine.estimate.states import UNSAID, State

_BREAK_TOKENS, _BREAK_SHARE = 10_000, 0.05
"""A fall by more than both, beyond all reasoning that can leave: somebody cut the history, which teaches nothing."""
_WORTH_TELLING_TOKENS = 100
"""Less reasoning than this cannot be told from noise when it leaves."""
_LEAVES_WEIGHT_MOST, _LEAVES_NOISE = 30.0, 0.05
_LEAVING_DOUBT = 0.3
"""Of the reasoning that left, as a share of it: it is known less well than text."""
_REASONING_FADES = 0.9
_LONG = 2.0
"""A reply's reasoning counts up to this many averages, and 100 tokens."""


@dataclass(frozen=True, slots=True)
class Report:
    """What a provider said of one call."""

    total: int
    """The whole prompt by that provider's convention, cached or not."""
    version: int = 0
    """Of the context that was measured."""
    output: int = UNSAID
    """Of the reply, reasoning included; UNSAID where the record is not to be trusted."""
    reasoned: int = UNSAID
    inner_calls: bool = False
    """The reply used server-side tools: the report counts passes and results that no transcript holds."""


def observe(state: State, rates: Measures[W], report: Report, span: SpanOf[W]) -> State:
    """The state after a report on a prompt that ends with the span.

    An empty report, and one measured on an older version, changes nothing.
    """
    if report.total <= 0 or report.version < state.version:
        return state
    grows_on = state.base and state.version == report.version and span.last is not None
    learned = _learn(state, rates, report, span) if grows_on else state
    return replace(
        learned,
        base=report.total,
        version=report.version,
        output=report.output,
        reasoned=report.reasoned,
        carried=learned.carried if state.version == report.version and state.base else 0.0,
    )


@dataclass(frozen=True, slots=True)
class _Growth:
    """Of the prompt between two reports, in tokens."""

    parts: Parts
    tokens: float
    carried: float
    """Reasoning of the turn that was there before."""
    old: float
    """The same with what came in before a new turn began, or with all where none did, in tokens of the family."""
    fresh: float
    """What came in after that, likewise."""
    leaving: float
    """The old in tokens of the session: this may have left."""
    ended: bool
    """Whether a new turn began behind a reply."""


def _learn(state: State, rates: Measures[W], report: Report, span: SpanOf[W]) -> State:
    """The calibration after this growth; `carried` is then that of the new prompt."""
    thought = reasoning_of(state, rates, span)
    growth = _growth(state, rates, report, span, thought)
    expected = state.leaves if growth.ended else 0.0
    if report.inner_calls:
        return _carry(state, growth, expected)
    if growth.tokens < -max(_BREAK_TOKENS, _BREAK_SHARE * state.base) - growth.carried:
        return replace(state, carried=0.0)
    if rates.counts_reasoning:
        state = _learn_reasoning(state, span, thought)
    if span.turn is Turn.NONE or growth.leaving <= _WORTH_TELLING_TOKENS:
        return _calibrate(_carry(state, growth, expected), growth, expected, doubt=0.0)
    share = (estimate(state.factors, growth.parts) - growth.tokens) / growth.leaving
    left = 1.0 if share > 0.5 else 0.0
    if not growth.ended:
        return _calibrate(_carry(state, growth, left), growth, left, doubt=0.0)
    state = _learn_leaving(state, share, noise(tokens_in(growth.parts)) / square(growth.leaving))
    return _calibrate(_carry(state, growth, left), growth, left, doubt=_LEAVING_DOUBT * growth.leaving)


def _growth(state: State, rates: Measures[W], report: Report, span: SpanOf[W], thought: Reasoning) -> _Growth:
    ended = span.turn is Turn.ENDED
    old = state.carried + (thought.early if ended else thought.late)
    return _Growth(
        parts=parts_of(rates, span, thought),
        tokens=report.total - state.base,
        carried=state.factors[1] * state.carried,
        old=old,
        fresh=thought.late if ended else 0.0,
        leaving=state.factors[1] * old,
        ended=ended,
    )


def _carry(state: State, growth: _Growth, left: float) -> State:
    """What outlives the turn it belongs to stays for good, and is part of the base like any text."""
    return replace(state, carried=growth.fresh if growth.ended else (1 - left) * growth.old)


def _calibrate(state: State, growth: _Growth, left: float, *, doubt: float) -> State:
    """`doubt`: how far the reasoning that left may be misjudged."""
    kept = growth.tokens + left * growth.leaving
    spread = noise(tokens_in(growth.parts)) + square(doubt)
    factors, unsure = correct(state.factors, state.doubt, growth.parts, kept, spread)
    return replace(state, factors=factors, doubt=unsure, steps=state.steps + 1)


def _learn_leaving(state: State, share: float, noise_: float) -> State:
    """`share`: how much of what could leave seems to have left."""
    if not -0.5 < share < 1.5:
        return state
    weight = 1 / (noise_ + square(_LEAVES_NOISE))
    whole = state.leaves_weight + weight
    moved = (state.leaves * state.leaves_weight + share * weight) / whole
    return replace(state, leaves=min(1.0, max(0.0, moved)), leaves_weight=min(whole, _LEAVES_WEIGHT_MOST))


def _learn_reasoning(state: State, span: SpanOf[W], thought: Reasoning) -> State:
    if not span.lead.replies or thought.guessed > max(0, span.total.replies - 1):
        return state
    weight = state.reasoning_weight * _REASONING_FADES + 1
    counted = min(thought.lead, _LONG * average(state) + 100)
    root = state.root_reasoning + (sqrt(counted) - state.root_reasoning) / weight
    return replace(state, root_reasoning=root, reasoning_weight=weight)
