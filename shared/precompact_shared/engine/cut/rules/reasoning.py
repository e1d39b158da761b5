"""Responses: what came with a reasoning item stays right behind it; both stay or both go (O4)."""

from __future__ import annotations

from collections.abc import Iterator

from precompact_shared.engine.cut.rules.rule import Rule
from precompact_shared.engine.cut.stretch import Stretch
from precompact_shared.engine.types import Role


def _inside_an_output(stretch: Stretch) -> Iterator[range]:
    """From a reasoning item to the end of the model's output, or to its next reasoning item."""
    inside = False
    for position, known in enumerate(stretch.facts):
        follows = inside and (known.role is Role.ASSISTANT or known.reasoning)
        opens_anew = known.reasoning and position > 0 and not stretch.facts[position - 1].reasoning
        if follows and not opens_anew:
            yield range(position, position + 1)
        inside = known.reasoning or follows


REASONING_WITH_ITEM = Rule("reasoning_with_item", _inside_an_output)
