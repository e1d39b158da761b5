"""What any summary has to pass before it is stored, whoever wrote it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from precompact_shared.engine.preset import Preset

_QUOTED = re.compile(r"<said\b[^>]*>(?:(?!<said\b).)*?</said>", re.DOTALL)


class RejectReason(StrEnum):
    """Why a summary is not stored."""

    BLANK = "blank"
    TOO_LONG = "too_long"
    """More than the preset or the caller allows."""
    NOT_SMALLER = "not_smaller"
    """As large as what it is to replace, or larger."""
    SECTION_MISSING = "section_missing"
    SECTION_ORDER = "section_order"
    SECTION_EMPTY = "section_empty"


@dataclass(frozen=True, slots=True)
class Accepted:
    """The summary may be stored."""


@dataclass(frozen=True, slots=True)
class Rejected:
    """The summary must not be stored. `section` names the heading it failed on, if it was one."""

    reason: RejectReason
    section: str | None = None


def check_summary(
    text: str, *, tokens: int, covered_tokens: int, max_tokens: int, preset: Preset
) -> Accepted | Rejected:
    """Whether the text is fit to stand for what it covers: something there, small enough, every section filled.

    Headings are lines of their own, in the preset's order; what is quoted between `<said>` tags is not looked at.
    """
    if not text.strip():
        return Rejected(RejectReason.BLANK)
    if tokens > max_tokens:
        return Rejected(RejectReason.TOO_LONG)
    if tokens >= covered_tokens:
        return Rejected(RejectReason.NOT_SMALLER)
    return _check_sections(text, [section.heading for section in preset.summary.sections])


def _check_sections(text: str, headings: list[str]) -> Accepted | Rejected:
    # A quotation may say anything, also our headings.
    lines = [_heading(line) for line in _QUOTED.sub("(quotation)", text).splitlines()]
    places: list[int] = []
    for heading in headings:
        if _heading(heading) not in lines:
            return Rejected(RejectReason.SECTION_MISSING, heading)
        places.append(lines.index(_heading(heading)))
    for heading, place, following in zip(headings, places, [*places[1:], len(lines)], strict=True):
        if following < place:
            return Rejected(RejectReason.SECTION_ORDER, heading)
        if not any(lines[place + 1 : following]):
            return Rejected(RejectReason.SECTION_EMPTY, heading)
    return Accepted()


def _heading(line: str) -> str:
    return line.strip().rstrip(":").casefold()
