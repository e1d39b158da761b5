"""Cutting text to size where a reader sees a border: between grapheme clusters, never inside an emoji."""

from __future__ import annotations

import re

from precompact_shared.engine.shorten import border_at_or_after, border_at_or_before

_SURROGATE = re.compile(r"[\ud800-\udfff]")
_HEAD_SHARE = 0.6
_MARK_CHARACTERS = 40


def shorten_middle(text: str, max_characters: int) -> str:
    """The text, or its beginning and end around a note of how many characters are left out.

    Never longer than `max_characters` (at least 0); cuts between grapheme clusters, so what stays is as it was.
    """
    if len(text) <= max_characters:
        return text
    room = max_characters - _MARK_CHARACTERS
    if room < _MARK_CHARACTERS:
        return text[: border_at_or_before(text, max(0, max_characters))]
    head = border_at_or_before(text, int(room * _HEAD_SHARE))
    tail = border_at_or_after(text, len(text) - (room - head))
    return f"{text[:head]} […{tail - head} characters left out…] {text[tail:]}"


def well_formed(text: str) -> str:
    """The text with halves of surrogate pairs joined or, where one is missing, replaced: it can be encoded."""
    if _SURROGATE.search(text) is None:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def one_line(text: str, max_characters: int) -> str:
    """The text on one line, white space as single blanks, shortened in the middle."""
    return shorten_middle(" ".join(text.split()), max_characters)
