"""Where: the safe places to cut a history, and the one to take.

A cut at position p covers entries `[0, p)` and keeps `[p, n)`. A place is safe when every rule in `rules/` allows it.
"""

from __future__ import annotations

from precompact_shared.engine.cut.by_hand import Span, span_by_hand
from precompact_shared.engine.cut.outcome import Cut, CutReason, Skip, SkipReason
from precompact_shared.engine.cut.plan import plan_cut
from precompact_shared.engine.cut.safe import safe_cuts

__all__ = ["Cut", "CutReason", "Skip", "SkipReason", "Span", "plan_cut", "safe_cuts", "span_by_hand"]
