"""Tokens of reasoning: what a span adds to the prompt, and what leaves it when a new turn begins."""

from __future__ import annotations

from dataclasses import dataclass

from precompact_shared.engine.estimate.calibration import estimate, square
from precompact_shared.engine.estimate.masses import W
from precompact_shared.engine.estimate.rates import Measures
from precompact_shared.engine.estimate.spans import SpanOf, Turn
from precompact_shared.engine.estimate.states import State

_SEAL_CHARS, _CHARS_PER_TOKEN = 900, 6.0
"""Six recorded pieces of encrypted reasoning: 16,376 characters held 2,496 tokens, 12,900 held 1,920, 1,444 held 64."""


@dataclass(frozen=True, slots=True)
class Reasoning:
    """Of one span, in tokens."""

    lead: float
    """Of the reply that came with the report."""
    early: float
    """Of all replies before the last turn began, the lead's among them; none where no turn began."""
    late: float
    """Of those after."""
    guessed: int
    """Replies whose reasoning is an average."""

    @property
    def all(self) -> float:
        """What came in, whether it left again or not."""
        return self.early + self.late


def reasoning_of(state: State, rates: Measures[W], span: SpanOf[W]) -> Reasoning:
    """What the span's replies reasoned: as reported, as encrypted text shows, else the session's average."""
    ended = span.turn is Turn.ENDED
    early = span.total - (span.late if ended else span.total)
    if not rates.counts_reasoning:
        lead = thinking_tokens(state, rates, span.lead)
        return Reasoning(
            lead, thinking_tokens(state, rates, early), thinking_tokens(state, rates, span.late), 0
        )
    lead = _of_lead(state, rates, span.lead)
    rest = span.total - span.lead
    before = early - (span.lead if ended else early)
    after = span.late if ended else rest
    unknown = max(0, rest.replies - rest.sealed) + (lead < 0)
    lead = average(state) if lead < 0 else lead
    return Reasoning(
        lead,
        _expected(state, before) + lead if ended else 0.0,
        _expected(state, after) + (0.0 if ended else lead),
        unknown,
    )


def thinking_tokens(state: State, rates: Measures[W], load: W) -> float:
    """Thinking that the transcript holds."""
    return estimate(state.factors, (0.0, rates.parts(load)[1], 0.0))


def average(state: State) -> float:
    """What a reply of this session reasons, leaving out the few long ones."""
    return square(state.root_reasoning)


def _of_lead(state: State, rates: Measures[W], lead: W) -> float:
    """-1: not known."""
    if not lead.replies:
        return 0.0
    if state.reasoned >= 0:
        return float(state.reasoned)
    if state.output > 0:
        return max(0.0, state.output - estimate(state.factors, rates.parts(lead)))
    return sealed_tokens(lead) if lead.sealed else -1.0


def _expected(state: State, load: W) -> float:
    return sealed_tokens(load) + average(state) * max(0, load.replies - load.sealed)


def sealed_tokens(load: W) -> float:
    """What encrypted reasoning seems to hold."""
    return max(0.0, (load.sealed_chars - _SEAL_CHARS * load.sealed) / _CHARS_PER_TOKEN)
