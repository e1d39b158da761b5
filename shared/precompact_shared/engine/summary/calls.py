"""What the covered calls did, each with the result that answered it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from precompact_shared.engine.catalogue import (
    SHIPPED,
    Catalogue,
    FileTouch,
    Tool,
    arguments_of,
    command_of,
    files_of,
)
from precompact_shared.engine.cut.stretch import Stretch
from precompact_shared.engine.types import Call, Result


@dataclass(frozen=True, slots=True)
class Doing:
    """One call, understood as far as the catalogue knows its tool."""

    name: str
    tool: Tool
    arguments: dict[str, Any]
    command: str | None
    files: tuple[FileTouch, ...]
    result: Result | None
    """None where no result was recorded."""
    result_position: int | None


def doings(stretch: Stretch, catalogue: Catalogue = SHIPPED) -> dict[int, list[Doing]]:
    """The calls of a stretch by position, in order."""
    results = {call: result for result, call in stretch.pairing.owner.items()}
    made: dict[int, list[Doing]] = {}
    for position, known in enumerate(stretch.facts):
        for index, call in enumerate(known.calls):
            place = results.get((position, index))
            result = None if place is None else stretch.facts[place[0]].results[place[1]]
            made.setdefault(position, []).append(
                _doing(catalogue.find(call.name), call, result, None if place is None else place[0])
            )
    return made


def _doing(tool: Tool, call: Call, result: Result | None, position: int | None) -> Doing:
    arguments = arguments_of(call)
    return Doing(
        name=call.name,
        tool=tool,
        arguments=arguments,
        command=command_of(tool, arguments),
        files=files_of(tool, arguments),
        result=result,
        result_position=position,
    )
