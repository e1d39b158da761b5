"""Masking private keys: whole ones, and what is left of one whose first or last lines were not read. Pure, linear."""

from __future__ import annotations

import re

MASK = "[secret: private key]"
LONGEST = 20_000
"""Characters between the two ends: an RSA key of 16,384 bits has 12,800."""
_ENDS = re.compile(
    r"-{4,5} ?(BEGIN|END) (?:[A-Z0-9]{1,12} ){0,4}PRIVATE KEY(?: BLOCK)? ?-{4,5}|(Private-Lines): \d+"
)
_BASE64 = r"[A-Za-z0-9+/]{16,}+={0,2}+"
_GAP = r"(?:\\{1,7}[rnt]|[\s\"'+|→]|\d{1,6}[\t→:|]){0,60}+"
"""What editors, diffs and JSON write between two lines."""
_LINE = rf"(?:{_BASE64}|(?:Proc-Type|DEK-Info|Version|Comment|Hash)\b[^\n\\]{{1,80}}+)"
_LINES = re.compile(rf"{_LINE}(?:{_GAP}{_LINE})*+")
_BODY = re.compile(_GAP + _LINES.pattern)
_RUN = re.compile(_BASE64)
_BETWEEN = re.compile(r"(?:\\{1,7}[rnt]|[\s\"'+|→=]|\d{1,6}[\t→:|]|[A-Za-z0-9+/]{1,15}={0,2}){0,60}+")
"""What may stand between the last full line and the end of a key."""


def mask_private_keys(text: str) -> str:
    """The text with each private key in PEM, OpenPGP or PuTTY's form replaced; mere talk of such a key stays."""
    ends = list(_ENDS.finditer(text))
    pieces: list[str] = []
    done = 0
    for place, found in enumerate(ends):
        if found.start() < done:
            continue
        following = ends[place + 1] if place + 1 < len(ends) else None
        start, stop = _span(text, done, found, following)
        if start < stop:
            pieces += (text[done:start], MASK)
            done = stop
    return "".join((*pieces, text[done:]))


def _span(text: str, done: int, found: re.Match[str], following: re.Match[str] | None) -> tuple[int, int]:
    """What belongs to a key of which one end was found; empty for talk of one."""
    if found[1] == "END":
        return _before(text, max(done, found.start() - LONGEST), found.start()), found.end()
    if following is not None and following[1] == "END" and following.start() - found.end() <= LONGEST:
        is_key = _RUN.search(text, found.end(), following.start()) is not None
        return found.start(), following.end() if is_key else found.start()
    body = _BODY.match(text, found.end())
    return found.start(), body.end() if body else found.start()


def _before(text: str, first: int, stop: int) -> int:
    """Where the lines begin that lead up to the end of a key; beyond it for none."""
    for lines in _LINES.finditer(text, first, stop):
        rest = _BETWEEN.match(text, lines.end(), stop)
        if rest is not None and rest.end() == stop:
            return lines.start()
    return len(text)
