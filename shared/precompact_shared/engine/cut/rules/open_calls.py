"""Nothing open in front of a cut: a call whose answer may still come has to be in the tail."""

from __future__ import annotations

from collections.abc import Iterator

from precompact_shared.engine.cut.rules.rule import Rule
from precompact_shared.engine.cut.stretch import Stretch


def _behind_the_first_open_call(stretch: Stretch) -> Iterator[range]:
    first = min((position for position, _ in stretch.pairing.open), default=None)
    if first is not None:
        yield range(first + 1, len(stretch) + 1)


NOTHING_OPEN_IN_FRONT = Rule("nothing_open_in_front", _behind_the_first_open_call)
