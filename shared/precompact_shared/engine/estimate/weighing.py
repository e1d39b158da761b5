"""Entries reduced to what the rates of a family make of them: all that has to be kept to size what follows a report."""

from __future__ import annotations

from dataclasses import dataclass
from math import floor

from precompact_shared.engine.estimate.loads import Load
from precompact_shared.engine.estimate.masses import Mass
from precompact_shared.engine.estimate.rates import Parts, Rates
from precompact_shared.engine.estimate.reasoning import sealed_tokens
from precompact_shared.engine.estimate.spans import SpanOf

NOTHING = SpanOf(Mass(), Mass(), Mass(), Mass())
"""The span of no entries, in masses."""


@dataclass(frozen=True, slots=True)
class Weighed:
    """What is left to know of a family's rates when every entry was weighed by them."""

    counts_reasoning: bool

    def parts(self, mass: Mass) -> Parts:
        """As `Rates.parts`."""
        return mass.text, mass.thinking, mass.structure

    def found(self, _: Mass) -> float:
        """Nothing: a report that holds what searches found is no base, and the next one follows at once."""
        return 0.0


def mass_of(rates: Rates, load: Load) -> Mass:
    """The load by these rates, each direction rounded to whole tokens."""
    text, thinking, structure = rates.parts(load)
    whole = floor(text + 0.5), floor(thinking + 0.5), floor(structure + 0.5)
    return Mass(*whole, load.sealed_chars, load.sealed, load.thoughts, load.replies)


def entry_tokens(rates: Rates, mass: Mass) -> int:
    """One entry's size by the family's rates, at least 1; encrypted reasoning counts where the family has it."""
    hidden = floor(sealed_tokens(mass)) if mass.sealed and rates.counts_reasoning else 0
    return max(1, mass.text + mass.thinking + mass.structure + hidden)
