"""The rules, one a file. Adding a provider's rule is adding a file and a line here."""

from __future__ import annotations

from precompact_shared.engine.cut.rules.batch import BATCH_INTACT
from precompact_shared.engine.cut.rules.open_calls import NOTHING_OPEN_IN_FRONT
from precompact_shared.engine.cut.rules.reasoning import REASONING_WITH_ITEM
from precompact_shared.engine.cut.rules.results import CALL_WITH_RESULTS
from precompact_shared.engine.cut.rules.rule import Rule
from precompact_shared.engine.cut.rules.system import SYSTEM_BEHIND_ITS_TURN
from precompact_shared.engine.cut.rules.tail_start import TAIL_STARTS_WHOLE

RULES: tuple[Rule, ...] = (
    CALL_WITH_RESULTS,
    BATCH_INTACT,
    NOTHING_OPEN_IN_FRONT,
    REASONING_WITH_ITEM,
    SYSTEM_BEHIND_ITS_TURN,
    TAIL_STARTS_WHOLE,
)

__all__ = ["RULES", "Rule"]
