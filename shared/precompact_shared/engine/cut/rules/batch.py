"""Calls that stand side by side are one batch and stay together, also where some were never answered (A3, O1)."""

from __future__ import annotations

from collections.abc import Iterator

from precompact_shared.engine.cut.rules.rule import Rule
from precompact_shared.engine.cut.stretch import Stretch


def _between_neighbouring_calls(stretch: Stretch) -> Iterator[range]:
    for position in range(1, len(stretch)):
        if stretch.facts[position - 1].calls and stretch.facts[position].calls:
            yield range(position, position + 1)


BATCH_INTACT = Rule("batch_intact", _between_neighbouring_calls)
