"""The summary made by code of what one cut covers: of the history, and of the head of a turn that the cut divides."""

from __future__ import annotations

from collections.abc import Sequence

from precompact_shared.engine.cut.plan import Cut
from precompact_shared.engine.preset import Preset
from precompact_shared.engine.summary.carried import Carried
from precompact_shared.engine.summary.divided import budgets_of, join_parts
from precompact_shared.engine.summary.extract import extract
from precompact_shared.engine.summary.render import Summary, render, render_sections
from precompact_shared.engine.tokens import count_text
from precompact_shared.engine.types import Entry, Format


def summarise_by_code(
    format: Format,  # noqa: A002
    covered: Sequence[Entry],
    cut: Cut,
    preset: Preset,
    *,
    previous: Carried | None = None,
    max_tokens: int | None = None,
    focus: str | None = None,
) -> tuple[Summary, Carried]:
    """The summary of `covered` (from the last cut to this one) and the facts to carry on.

    Where the cut divides a turn and the preset has sections for that, the head of the turn gets a summary of its own
    behind the other one: first the history up to the turn, then the head. Both together never exceed `max_tokens`
    (None = the preset's), and file lists of earlier compactions stay in the first.
    """
    room = preset.summary.max_tokens if max_tokens is None else max_tokens
    carried = extract(format, covered, previous)
    head = [entry for entry in covered if cut.turn_start is not None and entry.seq >= cut.turn_start]
    if not head or not preset.summary.split_sections:
        return render(carried, preset, room, focus), carried
    history = extract(format, covered[: len(covered) - len(head)], previous)
    return render_split(history, extract(format, head, None), preset, room, focus), carried


def render_split(
    history: Carried, head: Carried, preset: Preset, max_tokens: int, focus: str | None = None
) -> Summary:
    """The summary of the history, then that of the head of the turn under its own heading; together within the bound."""
    budgets = budgets_of(preset, max_tokens)
    second = render_sections(head, preset.summary.split_sections, budgets.head, focus)
    first = render(history, preset, budgets.history, focus)
    text = join_parts(first.text, second.text, preset)
    return Summary(text, count_text(text), (*first.sections, *second.sections))
