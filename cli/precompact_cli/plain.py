"""Words out of somebody's log, fit for a terminal or a picture."""

from __future__ import annotations


def plain(text: str) -> str:
    """The text without line breaks, control characters and halves of characters; a `?` stands for each."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)
