"""How large the next request is: the last size a provider reported, and a calibrated estimate of what came after it.

Three pure steps on small frozen values: `load_of` weighs one entry, `extend` folds it into a `Span` (what came after
the report), `predict` says the size. `observe` takes in the next report and learns from the growth between the two.
"""

from __future__ import annotations

from precompact_shared.engine.estimate.lessons import Lessons
from precompact_shared.engine.estimate.loads import Load, Piece, Side, load_of
from precompact_shared.engine.estimate.observing import Report, observe
from precompact_shared.engine.estimate.predicting import Size, Source, predict
from precompact_shared.engine.estimate.rates import Rates, rates_of
from precompact_shared.engine.estimate.spans import EMPTY, Span, extend, span_of
from precompact_shared.engine.estimate.states import State, begin, forget, pack, unpack
from precompact_shared.engine.estimate.teaching import learn

__all__ = [
    "EMPTY",
    "Lessons",
    "Load",
    "Piece",
    "Rates",
    "Report",
    "Side",
    "Size",
    "Source",
    "Span",
    "State",
    "begin",
    "extend",
    "forget",
    "learn",
    "load_of",
    "observe",
    "pack",
    "predict",
    "rates_of",
    "span_of",
    "unpack",
]
