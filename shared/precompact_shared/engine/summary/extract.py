"""Reading the facts off covered entries, from where the previous generation stopped."""

from __future__ import annotations

from collections.abc import Sequence

from precompact_shared.engine.catalogue import SHIPPED, Catalogue
from precompact_shared.engine.cut.stretch import Stretch
from precompact_shared.engine.formats import result_text, text_of_user
from precompact_shared.engine.formats.reading import kind_of
from precompact_shared.engine.summary.calls import Doing, doings
from precompact_shared.engine.summary.carried import Carried
from precompact_shared.engine.summary.notebook import Notebook
from precompact_shared.engine.summary.shorten import well_formed
from precompact_shared.engine.summary.voice import tell_apart, words_in_refusal
from precompact_shared.engine.types import Entry, Format, Message, Role

_SPOKEN = frozenset({"text", "output_text"})


def extract(
    format: Format,  # noqa: A002
    entries: Sequence[Entry],
    previous: Carried | None,
    catalogue: Catalogue = SHIPPED,
) -> Carried:
    """The facts of everything covered so far: those of `previous` and of these entries, which follow it.

    The entries end at a safe cut. Two steps give what one step over both stretches gives, within the bounds of the
    lists. Pinned entries are read too: what they say stays true. `catalogue` says what tools are for. Raises `InvalidEntry` for what is no message.
    """
    stretch = Stretch.of(format, entries)
    notes = Notebook(previous or Carried(start=_start(entries), stop=_start(entries)))
    made = doings(stretch, catalogue)
    for position, entry in enumerate(entries):
        known = stretch.facts[position]
        if known.user_turn:
            _hear_user(notes, entry.seq, text_of_user(format, entry.message))
        elif known.role is Role.ASSISTANT and not known.reasoning:
            _hear_assistant(notes, entry, calls=bool(known.calls))
        for result in known.results:
            if result.is_error:
                _hear_user(notes, entry.seq, words_in_refusal(result_text(format, entry.message, result)))
        for doing in made.get(position, ()):
            _note_doing(notes, entry.seq, doing, stretch)
        notes.reach(entry.seq)
    return notes.close()


def _start(entries: Sequence[Entry]) -> int:
    return entries[0].seq if entries else 0


def _hear_user(notes: Notebook, seq: int, text: str) -> None:
    voices = tell_apart(well_formed(text))
    if voices.earlier_summary:
        notes.keep_earlier_summary(seq, voices.earlier_summary)
    notes.keep_constraints(seq, f"{voices.rules}\n{voices.words}")
    if voices.words:
        notes.open_request(seq, voices.words)


def _hear_assistant(notes: Notebook, entry: Entry, *, calls: bool) -> None:
    said = well_formed(_spoken(entry.message))
    if said.strip():
        notes.keep_last_words(entry.seq, said)
    if calls or entry.message.get("phase") == "commentary":
        notes.work_on()
    elif said.strip():
        notes.answer(said)


def _note_doing(notes: Notebook, seq: int, doing: Doing, stretch: Stretch) -> None:
    text = ""
    if doing.result is not None and doing.result_position is not None:
        text = result_text(stretch.format, stretch.entries[doing.result_position].message, doing.result)
    notes.keep_doing(seq, doing, well_formed(text))


def _spoken(message: Message) -> str:
    """The assistant's own text; calls and thinking left out."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = (part.get("text") for part in parts if isinstance(part, dict) and kind_of(part) in _SPOKEN)
    return "\n".join(text for text in texts if isinstance(text, str))
