"""Where: the safe places to cut a history, and the one to take.

A cut at position p covers entries `[0, p)` and keeps `[p, n)`. A place is safe when every rule in `rules/` allows it.
"""

from __future__ import annotations

from precompact_shared.engine.cut.plan import Cut, Skip, SkipReason, plan_cut
from precompact_shared.engine.cut.safe import safe_cuts

__all__ = ["Cut", "Skip", "SkipReason", "plan_cut", "safe_cuts"]
