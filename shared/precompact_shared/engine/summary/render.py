"""Writing what is carried into a preset's sections, within a budget of tokens."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from precompact_shared.engine.preset import Preset, Section
from precompact_shared.engine.summary.carried import Carried
from precompact_shared.engine.summary.items import Item, items_of
from precompact_shared.engine.summary.shorten import shorten_middle
from precompact_shared.engine.tokens import count_text

_FOCUS_WORD = re.compile(r"\w[\w./-]*\w\w|[^\W\x00-\x7f]+")
_NOTHING = "(nothing recorded)"
_LEAST_WORTH_SHORTENING = 60
"""Tokens below which a shortened quotation says nothing."""
_OMISSION_TOKENS = 16
"""Room for the line that says how much was left out."""


@dataclass(frozen=True, slots=True)
class Summary:
    """A summary's text, its size in tokens, and its sections as (heading, body) in order."""

    text: str
    tokens: int
    sections: tuple[tuple[str, str], ...]


def render(carried: Carried, preset: Preset, max_tokens: int, focus: str | None = None) -> Summary:
    """The carried facts in the preset's sections, never more than `max_tokens`.

    Every section first gets its share; what some leave over goes to the others in the preset's order, the newest
    user requests first. Facts that hold a word of `focus` come before the others of their kind.
    """
    return render_sections(carried, preset.summary.sections, max_tokens, focus)


def render_sections(
    carried: Carried, sections: Iterable[Section], max_tokens: int, focus: str | None = None
) -> Summary:
    """As `render`, for sections of any kind."""
    drafts = [_Draft.of(section, carried, focus) for section in sections]
    free = max_tokens - sum(draft.tokens for draft in drafts)
    room = max(0, free)
    for draft in drafts:
        free -= draft.take(min(free, int(room * draft.section.share)))
    for draft in drafts:
        free -= draft.take(free)
        free -= draft.take_shortened(free)
    return _fitted(drafts, max_tokens)


def _fitted(drafts: list[_Draft], max_tokens: int) -> Summary:
    """Joined text may count a few tokens more than its parts; then the least important items go."""
    while (summary := _written(drafts)).tokens > max_tokens:
        fullest = max(drafts, key=lambda draft: len(draft.chosen))
        if not fullest.chosen:
            return _cut_down(summary, max_tokens)
        fullest.chosen.pop()
    return summary


def _written(drafts: list[_Draft]) -> Summary:
    sections = tuple((draft.section.heading, draft.body()) for draft in drafts)
    text = "\n\n".join(draft.written() for draft in drafts)
    return Summary(text, count_text(text), sections)


def _cut_down(summary: Summary, max_tokens: int) -> Summary:
    """Not even the headings fit: what is left is too small to be accepted, but it keeps its promise."""
    size = len(summary.text)
    text = summary.text
    while text and count_text(text) > max_tokens:
        size //= 2
        text = shorten_middle(summary.text, size)
    return Summary(text, count_text(text), ())


@dataclass(slots=True)
class _Draft:
    """One section being filled: what is offered, what is chosen of it."""

    section: Section
    offered: list[Item]
    tokens: int
    """Of the heading and the line that stands for nothing or for what was left out."""
    chosen: list[Item] = field(default_factory=list)
    size: int = 0
    """Items there were at first."""

    @classmethod
    def of(cls, section: Section, carried: Carried, focus: str | None) -> _Draft:
        offered = [
            replace(item, group=group)
            for group, holding in enumerate(section.holds)
            for item in _in_focus(items_of(carried, holding), focus)
        ]
        size = len(offered)
        if section.most:
            offered = offered[: section.most]
        fixed = count_text(f"{section.heading}\n{_NOTHING}\n{section.closing}\n\n")
        return cls(section, offered[::-1], fixed + (_OMISSION_TOKENS if offered else 0), size=size)

    def take(self, room: int) -> int:
        """Chooses offered items as long as they fit the room; returns the tokens used."""
        used = 0
        while self.offered:
            tokens = count_text(f"{self.offered[-1].text}\n")
            if used + tokens > room:
                break
            used += tokens
            self.chosen.append(self.offered.pop())
        return used

    def take_shortened(self, room: int) -> int:
        """Chooses the next item in a shorter form, if it has one and the room is worth it; returns the tokens."""
        shorten = self.offered[-1].shorten if self.offered else None
        size = len(self.offered[-1].text) if self.offered else 0
        while shorten is not None and room >= _LEAST_WORTH_SHORTENING and size > _LEAST_WORTH_SHORTENING:
            size = int(size * 0.8)
            text = shorten(size)
            if (tokens := count_text(f"{text}\n")) <= room:
                self.chosen.append(replace(self.offered.pop(), text=text))
                return tokens
        return 0

    def written(self) -> str:
        """Heading, body and closing line, as far as there are any."""
        lines = (self.section.heading, self.body(), self.section.closing)
        return "\n".join(line for line in lines if line)

    def body(self) -> str:
        """The chosen items by group and place, and how many were left out; empty over sections of its own."""
        if not self.section.holds:
            return ""
        lines = [item.text for item in sorted(self.chosen, key=lambda item: (item.group, item.place))]
        if not lines:
            lines = [_NOTHING]
        if 0 < len(self.chosen) < self.size:
            lines.append(f"- and {self.size - len(self.chosen)} more, not shown here")
        return "\n".join(lines)


def _in_focus(items: list[Item], focus: str | None) -> Iterable[Item]:
    words = set(_FOCUS_WORD.findall((focus or "")[:1_000].casefold()))
    if not words:
        return items
    return sorted(items, key=lambda item: not any(word in item.text.casefold() for word in words))
