"""Cutting text to size where a reader sees a border: between grapheme clusters, never inside an emoji."""

from __future__ import annotations

import regex  # type: ignore[import-untyped]

_CLUSTER = regex.compile(r"\X")
_SURROGATE = regex.compile(r"[\ud800-\udfff]")
_PLAIN = regex.compile(r"[\p{L}\p{N}\p{P}\p{Z}--\u1100-\u11ff]{2}", regex.VERSION1)
_LONGEST_CLUSTER = 64
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
        return text[: _border_at_or_before(text, max(0, max_characters))]
    head = _border_at_or_before(text, int(room * _HEAD_SHARE))
    tail = _border_at_or_after(text, len(text) - (room - head))
    return f"{text[:head]} […{tail - head} characters left out…] {text[tail:]}"


def well_formed(text: str) -> str:
    """The text with halves of surrogate pairs joined or, where one is missing, replaced: it can be encoded."""
    if _SURROGATE.search(text) is None:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def one_line(text: str, max_characters: int) -> str:
    """The text on one line, white space as single blanks, shortened in the middle."""
    return shorten_middle(" ".join(text.split()), max_characters)


def _border_at_or_before(text: str, position: int) -> int:
    return _border(text, position, up=False)


def _border_at_or_after(text: str, position: int) -> int:
    return _border(text, position, up=True)


def _border(text: str, position: int, *, up: bool) -> int:
    start = _calm_place(text, max(0, position - _LONGEST_CLUSTER))
    for cluster in _CLUSTER.finditer(text, start):
        if cluster.end() == position:
            return position
        if cluster.end() > position:
            return int(cluster.end() if up else cluster.start())
    return len(text)


def _calm_place(text: str, position: int) -> int:
    """The nearest place before `position` where a cluster surely begins: between two plain letters, or the start."""
    for place in range(min(position, len(text) - 1), 0, -1):
        if _PLAIN.match(text, place - 1) is not None:
            return place
    return 0
