"""User messages of the covered part that a preset keeps word for word in front of or behind its summary."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from precompact_shared.engine.formats import facts, text_of_user, user_message
from precompact_shared.engine.preset import Injection
from precompact_shared.engine.shorten import Ends, Unit, shorten
from precompact_shared.engine.summary.voice import tell_apart
from precompact_shared.engine.types import Entry, Format, Message

_BYTES_PER_TOKEN = 4
_NOTE_BYTES = 100
"""Room for the note in a gap."""


def retained_texts(
    format: Format,  # noqa: A002
    covered: Sequence[Entry],
    earlier: Sequence[Message],
    rule: Injection,
) -> tuple[Message, ...]:
    """The user's own texts in order, the newest within `rule.user_texts_tokens` (4 bytes a token).

    Summaries, notices that agents put into the user's mouth, results and media are no text of the user; pinned
    entries travel by themselves. The text that crosses the line loses its middle (with its address) or, where the
    rule wants them whole, ends the walk without being kept; older ones are not tried.
    """
    if not rule.user_texts_tokens:
        return ()
    room = rule.user_texts_tokens * _BYTES_PER_TOKEN
    kept: list[str] = []
    for text, address in _newest_first(format, covered, earlier):
        size = len(text.encode("utf-8", "surrogatepass"))
        if size > room:
            if not rule.user_texts_whole and room > 2 * _NOTE_BYTES:
                kept.append(_without_middle(text, room - _NOTE_BYTES, address))
            break
        kept.append(text)
        room -= size
    return tuple(user_message(format, text) for text in reversed(kept))


def _newest_first(
    wire: Format, covered: Sequence[Entry], earlier: Sequence[Message]
) -> Iterator[tuple[str, str | None]]:
    listed: Iterable[tuple[Message, str | None]] = [
        *((message, None) for message in earlier),
        *((entry.message, f"[r:{entry.seq}]") for entry in covered if not entry.pinned),
    ]
    for message, address in reversed(list(listed)):
        if facts(wire, message).user_turn:
            text = text_of_user(wire, message)
            words = tell_apart(text).words
            if words:
                yield (text if words == text.strip() else words), address


def _without_middle(text: str, size: int, address: str | None) -> str:
    return shorten(text, Ends(Unit.BYTES, size // 2, size - size // 2), address=address)
