"""Knowing our own summary when it comes back in a caller's list."""

from __future__ import annotations

import re

from precompact_shared.engine.formats import facts, text_of_user
from precompact_shared.engine.types import Format, Message

_OPENING = re.compile(r'\s*<conversation-summary preset="([^"\n]{1,100})">')


def summary_preset(format: Format, message: Message) -> str | None:  # noqa: A002
    """Name and version (`codex/1`) of the preset that wrote this summary message; None for any other message.

    Only a user message that begins with the tag is one: a quotation of the tag further on is somebody's text.
    """
    if not facts(format, message).user_turn:
        return None
    found = _OPENING.match(text_of_user(format, message))
    return found.group(1) if found else None
