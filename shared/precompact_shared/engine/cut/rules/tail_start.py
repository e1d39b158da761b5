"""The tail starts neither with a result nor with an item of unknown type, which may belong to what stands before it."""

from __future__ import annotations

from collections.abc import Iterator

from precompact_shared.engine.cut.rules.rule import Rule
from precompact_shared.engine.cut.stretch import Stretch
from precompact_shared.engine.types import Role


def _before_results_and_unknowns(stretch: Stretch) -> Iterator[range]:
    for position, known in enumerate(stretch.facts):
        # Results of server tools stand inside the assistant message that called them.
        answers = bool(known.results) and known.role is not Role.ASSISTANT
        if position and (answers or known.role in {Role.OTHER, Role.TOOL}):
            yield range(position, position + 1)


TAIL_STARTS_WHOLE = Rule("tail_starts_whole", _before_results_and_unknowns)
