"""Texts in the kept tail that are too long to show whole: head and tail, and the address of the rest.

History keeps the whole text. Calls, thinking and what the model itself said are never touched, nor what it has not
seen yet: a message that waits for its answer is shown as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

from precompact_shared.engine.formats import facts
from precompact_shared.engine.formats.reading import kind_of
from precompact_shared.engine.preset import CutRule
from precompact_shared.engine.shorten import Ends, Unit, shorten
from precompact_shared.engine.types import Edit, Entry, Facts, Format, Message, Role

_TEXTS = frozenset({"text", "input_text"})
_OUTPUTS = frozenset({"function_call_output", "custom_tool_call_output"})
_DEEPEST = 8
"""Levels of lists and parts that are looked through; a result with parts has four."""

Change = Callable[[str], str]


def oversized_edits(format: Format, entries: Sequence[Entry], rule: CutRule) -> tuple[Edit, ...]:  # noqa: A002
    """The edits that shorten texts longer than `rule.huge_characters`: of parts, or of whole messages.

    Cuts fall between grapheme clusters; a note in the gap names the entry. Empty where the rule shortens nothing.
    """
    if not rule.huge_characters:
        return ()
    known = [facts(format, entry.message) for entry in entries]
    return tuple(edit for entry in _seen(entries, known) for edit in shortening_edits(entry, rule))


def shortening_edits(entry: Entry, rule: CutRule) -> tuple[Edit, ...]:
    """The edits of one entry that the model has answered; see `oversized_edits`."""
    return tuple(_edits_of(entry, rule)) if rule.huge_characters else ()


def shown_tokens(entries: Sequence[Entry], known: Sequence[Facts], rule: CutRule) -> list[int]:
    """The entries' sizes in tokens as a tail shows them. O(n) in the number of texts."""
    sizes = [entry.tokens for entry in entries]
    if not rule.huge_characters:
        return sizes
    kept = rule.huge_head_characters + rule.huge_tail_characters
    positions = {entry.seq: place for place, entry in enumerate(entries)}
    for entry in _seen(entries, known):
        lengths = list(_lengths(entry.message))
        gone = sum(length - kept for length in lengths if length > rule.huge_characters)
        if gone > 0:
            sizes[positions[entry.seq]] = max(1, round(entry.tokens * (1 - gone / sum(lengths))))
    return sizes


def _seen(entries: Sequence[Entry], known: Sequence[Facts]) -> Iterator[Entry]:
    """Messages of users and tools that the model has answered."""
    places = (place for place in reversed(range(len(entries))) if known[place].role is Role.ASSISTANT)
    newest = next(places, 0)
    for entry, one in islice(zip(entries, known, strict=True), newest):
        if one.role in {Role.USER, Role.TOOL}:
            yield entry


def _edits_of(entry: Entry, rule: CutRule) -> Iterator[Edit]:
    ends = Ends(
        Unit.CHARACTERS, rule.huge_head_characters, rule.huge_tail_characters, over=rule.huge_characters
    )

    def change(text: str) -> str:
        return shorten(text, ends, address=f"[r:{entry.seq}]")

    key = "output" if kind_of(entry.message) in _OUTPUTS else "content"
    before = entry.message.get(key)
    if key == "content" and isinstance(before, list):
        changed = ((index, part, _changed(part, change)) for index, part in enumerate(before))
        yield from (Edit(entry.seq, part=index, value=new) for index, old, new in changed if new is not old)
    elif (after := _changed(before, change)) is not before:
        yield Edit(entry.seq, value={**entry.message, key: after})


def _changed(value: Any, change: Change, levels: int = _DEEPEST) -> Any:
    """The value with its texts changed; the same object where none was."""
    if isinstance(value, str):
        return value if (after := change(value)) == value else after
    if levels == 0:
        return value
    if isinstance(value, list):
        parts = [_changed(part, change, levels - 1) for part in value]
        return parts if any(new is not old for new, old in zip(parts, value, strict=True)) else value
    if isinstance(value, dict) and (key := _text_key(value)):
        inner = _changed(value.get(key), change, levels - 1)
        return value if inner is value.get(key) else {**value, key: inner}
    return value


def _text_key(part: dict[str, Any]) -> str | None:
    if kind_of(part) in _TEXTS:
        return "text"
    return "content" if part.get("type") == "tool_result" else None


def _lengths(message: Message) -> Iterator[int]:
    """Lengths of the texts that may be shortened."""
    content = message.get("output" if kind_of(message) in _OUTPUTS else "content")
    todo: list[tuple[Any, int]] = [(content, _DEEPEST)]
    while todo:
        value, levels = todo.pop()
        if isinstance(value, str):
            yield len(value)
        elif levels == 0:
            continue
        elif isinstance(value, list):
            todo.extend((part, levels - 1) for part in value)
        elif isinstance(value, dict) and (key := _text_key(value)):
            todo.append((value.get(key), levels - 1))
