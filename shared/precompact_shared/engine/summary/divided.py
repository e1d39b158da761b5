"""A summary of a cut inside a turn: of what came before the turn, and of the turn's head under headings of its own. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from precompact_shared.engine.preset import Preset, Section

_LEAST_TOKENS = 64
"""For the heading between the two."""


class Budgets(NamedTuple):
    """Tokens of the two parts; both together with the heading between them never exceed the whole."""

    history: int
    head: int


class Presets(NamedTuple):
    """A preset for each part."""

    history: Preset
    head: Preset


def budgets_of(preset: Preset, max_tokens: int) -> Budgets:
    """What each part may have of `max_tokens`."""
    head = min(preset.summary.split_max_tokens, max_tokens // 2)
    return Budgets(max_tokens - head - _LEAST_TOKENS, head)


def join_parts(history: str, head: str, preset: Preset) -> str:
    """The whole text."""
    return f"{history}\n\n{preset.summary.split_heading}\n\n{head}"


def head_preset(preset: Preset) -> Preset:
    """The preset for the head alone: its headings, nothing divided."""
    return _with_sections(preset, preset.summary.split_sections)


def whole_preset(preset: Preset) -> Preset:
    """The preset for both in one text: all headings, the one between them included."""
    rule = preset.summary
    between = Section(rule.split_heading, "", "", (), 0.0, 0)
    return _with_sections(preset, (*rule.sections, between, *rule.split_sections))


def filling_presets(preset: Preset) -> Presets:
    """A `whole_preset` twice, for code to fill in: with nothing to fill in under the head's headings, and with that alone."""
    rule = preset.summary
    whole = rule.sections
    first = next(place for place, one in enumerate(whole) if one.heading == rule.split_heading)
    history = (*whole[:first], *map(_unfilled, whole[first:]))
    head = (*map(_unfilled, whole[:first]), *whole[first:])
    return Presets(_with_sections(preset, history), _with_sections(preset, head))


def _with_sections(preset: Preset, sections: tuple[Section, ...]) -> Preset:
    return replace(preset, summary=replace(preset.summary, sections=sections, split_sections=()))


def _unfilled(section: Section) -> Section:
    return replace(section, holds=())
