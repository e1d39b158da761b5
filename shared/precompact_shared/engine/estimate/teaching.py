"""What one session adds to its tenant's lessons."""

from __future__ import annotations

from precompact_shared.engine.estimate.lessons import Lessons
from precompact_shared.engine.estimate.states import State

MOST_SESSIONS = 20
"""Older sessions fade: clients change."""
_ENOUGH_STEPS = 8
"""A session that has reported fewer growths teaches nothing."""


def learn(lessons: Lessons, state: State) -> Lessons:
    """The lessons with one more session in them; call it once per session, when it ends or pauses."""
    if state.steps < _ENOUGH_STEPS:
        return lessons
    sessions = min(lessons.sessions + 1, MOST_SESSIONS)
    text, thinking, structure = (
        old + (new - old) / sessions for old, new in zip(lessons.factors, state.factors, strict=True)
    )
    return Lessons(
        sessions=sessions,
        factors=(text, thinking, structure),
        leaves=lessons.leaves + (state.leaves - lessons.leaves) / sessions,
        root_reasoning=lessons.root_reasoning + (state.root_reasoning - lessons.root_reasoning) / sessions,
    )
