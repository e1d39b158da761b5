"""Long text as its beginning and its end: cut where a reader sees a border, with a note of what is missing and where it is.

Sizes are in characters, UTF-8 bytes or lines. A border lies between grapheme clusters, so no emoji, accent or flag is
ever cut in two; a cluster that would cross it is left out as a whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import regex  # type: ignore[import-untyped]

_CLUSTER = regex.compile(r"\X")
_CALM = regex.compile(r"(?r)[\p{L}\p{N}\p{P}\p{Z}--\u1100-\u11ff]{2}", regex.VERSION1)
_NOTE = regex.compile(
    r"(?:^|\n)\[… [\d,]+ (?:characters|bytes|lines) left out[^\n\]]*(?:\[r:\d+\])?[^\n\]]* …\]\n"
)


class Unit(StrEnum):
    """What a size is counted in."""

    CHARACTERS = "characters"
    """Unicode code points."""
    BYTES = "bytes"
    """Of UTF-8."""
    LINES = "lines"


@dataclass(frozen=True, slots=True)
class Ends:
    """How much of the beginning and of the end stays, and from what size on text is cut at all."""

    unit: Unit
    head: int
    tail: int
    over: int = 0
    """Text up to this size stays whole; 0 = up to `head + tail`."""

    @property
    def limit(self) -> int:
        """Largest size that stays whole."""
        return max(self.over, self.head + self.tail)


def size_in(unit: Unit, text: str) -> int:
    """The size of `text`; a last line without a newline counts, an empty text has none."""
    match unit:
        case Unit.CHARACTERS:
            return len(text)
        case Unit.BYTES:
            return len(_utf8(text))
        case Unit.LINES:
            return text.count("\n") + (not text.endswith("\n")) if text else 0


def shorten(text: str, ends: Ends, *, address: str | None = None) -> str:
    """The text with its middle left out, or the same text where it is small enough or nothing would be won.

    What stands between head and tail is a line that says how much is missing and, with `address` (`[r:57]`), where the
    whole text can be read. Never longer than the text; the same input gives the same output. O(length).
    """
    if size_in(ends.unit, text) <= ends.limit:
        return text
    start, stop = _middle(text, ends)
    missing = size_in(ends.unit, text[start:stop])
    short = text[:start] + _note(missing, ends.unit, address) + text[stop:]
    return short if len(_utf8(short)) < len(_utf8(text)) else text


def is_shortened(text: str) -> bool:
    """Whether `text` holds a note that `shorten` wrote."""
    return _NOTE.search(text) is not None


def border_at_or_before(text: str, position: int) -> int:
    """The last place not behind `position` (0 to the length) that lies between two grapheme clusters."""
    if position <= 0 or position >= len(text):
        return max(0, min(position, len(text)))
    found = 0
    for cluster in _CLUSTER.finditer(text, _calm_place(text, position)):
        if cluster.end() > position:
            return int(cluster.start())
        found = cluster.end()
    return int(found)


def border_at_or_after(text: str, position: int) -> int:
    """The first place not in front of `position` that lies between two grapheme clusters."""
    if position <= 0 or position >= len(text):
        return max(0, min(position, len(text)))
    clusters = _CLUSTER.finditer(text, _calm_place(text, position))
    return next((int(cluster.end()) for cluster in clusters if cluster.end() >= position), len(text))


def _note(missing: int, unit: Unit, address: str | None) -> str:
    where = f"; {address} has the whole text" if address else ""
    opening = "" if unit is Unit.LINES else "\n"
    return f"{opening}[… {missing:,} {unit} left out{where} …]\n"


def _middle(text: str, ends: Ends) -> tuple[int, int]:
    """Where the part that is left out begins and stops."""
    if ends.unit is Unit.LINES:
        return _end_of_line(text, ends.head), _start_of_line(text, ends.tail)
    start, stop = ends.head, len(text) - ends.tail
    if ends.unit is Unit.BYTES:
        start, stop = _characters_of_bytes(_utf8(text), ends)
    start = border_at_or_before(text, start)
    return start, max(start, border_at_or_after(text, stop))


def _characters_of_bytes(encoded: bytes, ends: Ends) -> tuple[int, int]:
    """The same places counted in characters; a character that crosses an end is left out."""
    start, stop = min(ends.head, len(encoded)), max(0, len(encoded) - ends.tail)
    while 0 < start < len(encoded) and _goes_on(encoded[start]):
        start -= 1
    while stop < len(encoded) and _goes_on(encoded[stop]):
        stop += 1
    return tuple(len(encoded[:place].decode("utf-8", "surrogatepass")) for place in (start, stop))  # type: ignore[return-value]


def _goes_on(byte: int) -> bool:
    return byte & 0xC0 == 0x80


def _end_of_line(text: str, lines: int) -> int:
    """Where the first so many lines end, behind the newline."""
    place = 0
    for _ in range(lines):
        place = text.index("\n", place) + 1
    return place


def _start_of_line(text: str, lines: int) -> int:
    """Where the last so many lines begin."""
    place = len(text) - text.endswith("\n")
    for _ in range(lines):
        place = text.rindex("\n", 0, place)
    return len(text) if lines == 0 else place + 1


def _calm_place(text: str, position: int) -> int:
    """The nearest place before `position` where a cluster surely begins: between two plain letters, or the start."""
    found = _CALM.search(text, 0, position)
    return int(found.start()) + 1 if found else 0


def _utf8(text: str) -> bytes:
    """Lone surrogates count as the three bytes they would be."""
    return text.encode("utf-8", "surrogatepass")
