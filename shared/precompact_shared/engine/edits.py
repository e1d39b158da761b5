"""Edits of kept entries: their JSON form, and the splice that makes a context of history, insert and edits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from precompact_shared.engine.types import Edit, Message


class InvalidEdit(ValueError):
    """The JSON is no edit, or the edit names a part that its entry does not have."""


def edit_to_json(edit: Edit) -> dict[str, Any]:
    """One of `{seq, part, value}`, `{seq, value}`, `{seq, after}`."""
    if edit.after:
        return {"seq": edit.seq, "after": list(edit.after)}
    if edit.part is not None:
        return {"seq": edit.seq, "part": edit.part, "value": edit.value}
    return {"seq": edit.seq, "value": edit.value}


def edit_from_json(obj: Any) -> Edit:
    """Read one of the three forms; raises `InvalidEdit` for anything else."""
    if not isinstance(obj, Mapping) or not _is_index(obj.get("seq")):
        raise InvalidEdit("an edit is an object with a `seq` from 0")
    seq = obj["seq"]
    if set(obj) == {"seq", "after"} and _is_list_of_messages(obj["after"]):
        return Edit(seq, after=tuple(obj["after"]))
    if set(obj) == {"seq", "part", "value"} and _is_index(obj["part"]):
        return Edit(seq, part=obj["part"], value=obj["value"])
    if set(obj) == {"seq", "value"}:
        return Edit(seq, value=obj["value"])
    raise InvalidEdit("an edit has `value`, or `part` and `value`, or `after` beside its `seq`")


def apply_context(
    messages: Sequence[Message], insert: Sequence[Message], keep_from: int, edits: Iterable[Edit]
) -> list[Message]:
    """Put `insert` in place of `messages[0:keep_from]` and edit what is kept.

    `seq` counts in `messages`; edits in front of `keep_from` change nothing. All part indexes are those of the
    entry as it was. Where an entry has a whole-message edit, its part edits change nothing; what stands in
    `after` is put behind the entry even if the entry is left out. Nothing given is changed in place. Raises
    `InvalidEdit` for a part that the entry does not have.
    """
    by_seq: dict[int, list[Edit]] = {}
    for edit in edits:
        by_seq.setdefault(edit.seq, []).append(edit)
    context = list(insert)
    for seq in range(keep_from, len(messages)):
        context += _edited(messages[seq], by_seq[seq]) if seq in by_seq else [messages[seq]]
    return context


def _edited(message: Message, edits: Sequence[Edit]) -> list[Message]:
    whole = [edit for edit in edits if edit.part is None and not edit.after]
    after = [extra for edit in edits for extra in edit.after]
    if whole:
        return ([] if whole[-1].value is None else [whole[-1].value]) + after
    parts = {edit.part: edit.value for edit in edits if edit.part is not None}
    return [_with_parts(message, parts) if parts else message, *after]


def _with_parts(message: Message, changed: Mapping[int, Any]) -> Message:
    content = message.get("content")
    before = content if isinstance(content, list) else [content]
    if content is None or not all(0 <= index < len(before) for index in changed):
        raise InvalidEdit("an edit names a part that its entry does not have")
    values = [changed.get(index, part) for index, part in enumerate(before)]
    return {**message, "content": [value for value in values if value is not None]}


def _is_index(value: Any) -> bool:
    return type(value) is int and value >= 0


def _is_list_of_messages(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, dict) for item in value)
