"""Tokens of reasoning: what a span adds to the prompt, and what leaves it when a new turn begins."""

from __future__ import annotations

from dataclasses import dataclass

from precompact_shared.engine.estimate.calibration import estimate, square
from precompact_shared.engine.estimate.masses import W
from precompact_shared.engine.estimate.rates import Measures, Parts
from precompact_shared.engine.estimate.spans import SpanOf, Turn
from precompact_shared.engine.estimate.states import State

_SEAL_CHARS, _CHARS_PER_TOKEN = 900, 6.0
"""Six recorded pieces of encrypted reasoning: 16,376 characters held 2,496 tokens, 12,900 held 1,920, 1,444 held 64."""


@dataclass(frozen=True, slots=True)
class Reasoning:
    """Of one span, in tokens of the family; the session's factor for thinking makes them its own."""

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
        shown = [rates.parts(load)[1] for load in (span.lead, early, span.late)]
        return Reasoning(shown[0], shown[1], shown[2], 0)
    lead = _of_lead(state, rates, span.lead)
    rest = span.total - span.lead
    before = early - (span.lead if ended else early)
    after = span.late if ended else rest
    unknown = _unknown(rest) + (lead < 0)
    lead = average(state) if lead < 0 else lead
    return Reasoning(
        lead,
        _expected(state, before) + lead if ended else 0.0,
        _expected(state, after) + (0.0 if ended else lead),
        unknown,
    )


def parts_of(rates: Measures[W], span: SpanOf[W], thought: Reasoning) -> Parts:
    """All that came in, by direction: thinking that the transcript holds, or reasoning that it does not."""
    text, thinking, structure = rates.parts(span.total)
    structure += rates.found(span.total)
    return text, thought.all if rates.counts_reasoning else thinking, structure


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
    if lead.sealed or not lead.thoughts:
        return sealed_tokens(lead)
    return -1.0


def _expected(state: State, load: W) -> float:
    return sealed_tokens(load) + average(state) * _unknown(load)


def _unknown(load: W) -> int:
    """Replies of which nobody says how much they reasoned."""
    return max(0, min(load.replies, load.thoughts) - load.sealed)


def sealed_tokens(load: W) -> float:
    """What encrypted reasoning seems to hold."""
    return max(0.0, (load.sealed_chars - _SEAL_CHARS * load.sealed) / _CHARS_PER_TOKEN)
