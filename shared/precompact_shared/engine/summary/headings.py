"""Where the sections of a written summary are, and adding lines to one of them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from precompact_shared.engine.preset import Section

QUOTED = re.compile(r"<said\b[^>]*>(?:(?!<said\b).)*?</said>", re.DOTALL)


def heading_key(line: str) -> str:
    """A line as headings are compared: case, outer white space and a final colon do not matter."""
    return line.strip().rstrip(":").casefold()


def add_lines(text: str, sections: Sequence[Section], section: Section, added: Sequence[str]) -> str:
    """The text with lines at the end of a section, in front of its closing line; unchanged where it has no such heading."""
    lines = text.splitlines()
    start = _place(lines, section.heading)
    if start is None or not added:
        return text
    stop = _end(lines, sections, section, start)
    while stop > start + 1 and not lines[stop - 1].strip():
        stop -= 1
    return "\n".join([*lines[:stop], *added, *lines[stop:]])


def has_heading(text: str, section: Section) -> bool:
    """Whether the section's heading stands on a line of its own."""
    return _place(text.splitlines(), section.heading) is not None


def _end(lines: Sequence[str], sections: Sequence[Section], section: Section, start: int) -> int:
    """Where the section's body ends: at its closing line, the next heading of ours, or the end."""
    ends = {heading_key(one.heading) for one in sections} - {heading_key(section.heading)}
    if section.closing:
        ends.add(heading_key(section.closing))
    return next((at for at in range(start + 1, len(lines)) if heading_key(lines[at]) in ends), len(lines))


def _place(lines: Sequence[str], heading: str) -> int | None:
    wanted = heading_key(heading)
    return next((at for at, line in enumerate(lines) if heading_key(line) == wanted), None)
