"""Words for a terminal or a picture: out of somebody's log, and with a number."""

from __future__ import annotations


def plain(text: str) -> str:
    """The text without line breaks, control characters and halves of characters; a `?` stands for each."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def plain_text(text: str) -> str:
    """The same of a text of several lines, which it stays; tabs become blanks."""
    return "\n".join(map(plain, text.expandtabs(4).split("\n")))


def counted(number: int, one: str, more: str | None = None) -> str:
    """The number with the word that goes with it; `more` unless an s will do."""
    return f"{number:,} {one if number == 1 else more or one + 's'}"
