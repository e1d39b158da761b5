"""What code knows word for word, added to a summary that a model wrote: nobody's memory has to be trusted for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from precompact_shared.engine.preset import Holding, Preset, Section
from precompact_shared.engine.summary.carried import Carried
from precompact_shared.engine.summary.headings import add_lines, has_heading
from precompact_shared.engine.summary.render import render_sections
from precompact_shared.engine.tokens import count_text

BY_CODE = frozenset({Holding.REQUESTS, Holding.CONSTRAINTS, Holding.FILES, Holding.OPEN, Holding.ADDRESSES})
MODEL_SHARE = 0.6
"""Of a summary's tokens; the rest is for what code adds."""
_NOTHING = "(nothing recorded)"
_SPARE_TOKENS = 24


def add_facts(text: str, carried: Carried, preset: Preset, max_tokens: int, focus: str | None = None) -> str:
    """The text with the user's words, constraints, files, open requests and addresses under the preset's headings.

    Never more than `max_tokens` unless the text was; a text without the headings stays as it is.
    """
    room = max_tokens - count_text(text) - _SPARE_TOKENS
    held = [section for section in _held_by_code(preset) if has_heading(text, section)]
    shares = sum(section.share for section in held)
    for section in held:
        budget = int(room * section.share / shares) if shares else 0
        body = _body(carried, section, budget, focus)
        text = add_lines(text, preset.summary.sections, section, [one for one in body if one not in text])
    return text


def _held_by_code(preset: Preset) -> Iterator[Section]:
    for section in preset.summary.sections:
        held = tuple(holding for holding in section.holds if holding in BY_CODE)
        if held:
            yield replace(section, holds=held)


def _body(carried: Carried, section: Section, budget: int, focus: str | None) -> list[str]:
    if budget <= _SPARE_TOKENS:
        return []
    bare = replace(section, closing="")
    [(_, body)] = render_sections(carried, [bare], budget, focus).sections or (("", ""),)
    return [] if body == _NOTHING else body.splitlines()
