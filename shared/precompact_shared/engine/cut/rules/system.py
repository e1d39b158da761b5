"""Anthropic: system text in mid-conversation follows a user turn (A16) and stays behind it."""

from __future__ import annotations

from collections.abc import Iterator

from precompact_shared.engine.cut.rules.rule import Rule
from precompact_shared.engine.cut.stretch import Stretch
from precompact_shared.engine.types import Format, Role


def _before_system_text(stretch: Stretch) -> Iterator[range]:
    if stretch.format is not Format.ANTHROPIC:
        return
    for position, known in enumerate(stretch.facts):
        if known.role is Role.SYSTEM and position:
            yield range(position, position + 1)


SYSTEM_BEHIND_ITS_TURN = Rule("system_behind_its_turn", _before_system_text)
