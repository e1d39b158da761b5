"""A call stays next to its results (A5, A6, O1-O3, C1, C2)."""

from __future__ import annotations

from collections.abc import Iterator

from precompact_shared.engine.cut.rules.rule import Rule
from precompact_shared.engine.cut.stretch import Stretch


def _between_call_and_last_result(stretch: Stretch) -> Iterator[range]:
    last: dict[int, int] = {}
    for (result, _), (call, _) in stretch.pairing.owner.items():
        last[call] = max(last.get(call, call), result)
    for call, result in last.items():
        yield range(call + 1, result + 1)


CALL_WITH_RESULTS = Rule("call_with_results", _between_call_and_last_result)
