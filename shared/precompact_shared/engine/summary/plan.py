"""The agent's plan as it last wrote it, read off its planning tool."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from precompact_shared.engine.summary.carried import Step
from precompact_shared.engine.summary.shorten import one_line, well_formed

_LISTS = ("todos", "plan", "items", "tasks", "steps")
_TEXTS = ("content", "step", "description", "subject", "text", "title", "task")
_LONGEST_STEP = 300
_MOST_STEPS = 40


def plan_of(arguments: Mapping[str, Any]) -> tuple[Step, ...]:
    """The steps with their status; empty where the call writes no list."""
    listed: list[Any] = next(
        (arguments[name] for name in _LISTS if isinstance(arguments.get(name), list)), []
    )
    steps = (_step(one) for one in listed[:_MOST_STEPS])
    return tuple(step for step in steps if step is not None)


def _step(item: Any) -> Step | None:
    if isinstance(item, str):
        return Step(one_line(well_formed(item), _LONGEST_STEP), "")
    if not isinstance(item, dict):
        return None
    text = next((item[name] for name in _TEXTS if isinstance(item.get(name), str)), "")
    status = item.get("status")
    kept = status if isinstance(status, str) else ""
    return Step(one_line(well_formed(text), _LONGEST_STEP), one_line(kept, 20)) if text.strip() else None
