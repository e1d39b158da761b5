"""What any summary has to pass before it is stored, whoever wrote it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from precompact_shared.engine.preset import Preset, Section, SectionCheck
from precompact_shared.engine.summary.headings import QUOTED, heading_key


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
    """Whether the text is fit to stand for what it covers: something there, small enough, headings as the preset asks.

    Headings are lines of their own, in the preset's order; what is quoted between `<said>` tags is not looked at.
    """
    if not text.strip():
        return Rejected(RejectReason.BLANK)
    if tokens > max_tokens:
        return Rejected(RejectReason.TOO_LONG)
    if tokens >= covered_tokens:
        return Rejected(RejectReason.NOT_SMALLER)
    # A quotation may say anything, also our headings.
    lines = [heading_key(line) for line in QUOTED.sub("(quotation)", text).splitlines()]
    return _CHECKS[preset.summary.check](lines, preset.summary.sections)


def _check_none(_lines: list[str], _sections: Sequence[Section]) -> Accepted | Rejected:
    return Accepted()


def _check_any(lines: list[str], sections: Sequence[Section]) -> Accepted | Rejected:
    if any(heading_key(section.heading) in lines for section in sections):
        return Accepted()
    return Rejected(RejectReason.SECTION_MISSING, sections[0].heading)


def _check_all(lines: list[str], sections: Sequence[Section]) -> Accepted | Rejected:
    places: list[int] = []
    for section in sections:
        if heading_key(section.heading) not in lines:
            return Rejected(RejectReason.SECTION_MISSING, section.heading)
        places.append(lines.index(heading_key(section.heading)))
    for section, place, following in zip(sections, places, [*places[1:], len(lines)], strict=True):
        if following < place:
            return Rejected(RejectReason.SECTION_ORDER, section.heading)
        body = [line for line in lines[place + 1 : following] if line != heading_key(section.closing)]
        if section.holds and not any(body):
            return Rejected(RejectReason.SECTION_EMPTY, section.heading)
    return Accepted()


_CHECKS: dict[SectionCheck, Callable[[list[str], Sequence[Section]], Accepted | Rejected]] = {
    SectionCheck.ALL: _check_all,
    SectionCheck.ANY: _check_any,
    SectionCheck.NONE: _check_none,
}
