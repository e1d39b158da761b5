"""A context applied to the caller's own list: the whole of what a client in any language has to write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Message = dict[str, Any]
Edit = Mapping[str, Any]


def apply_context(
    messages: Sequence[Message], insert: Sequence[Message], keep_from: int, edits: Sequence[Edit]
) -> list[Message]:
    """`insert` in place of `[0, keep_from)`, the rest of `messages` behind it with `edits` applied.

    `edits` are in history coordinates and have three forms: `{seq, part, value}`, `{seq, value}` and
    `{seq, after}`; a null value leaves the part or the message out, and an edit of the whole message beats those
    of its parts. No argument is changed.
    """
    by_seq: dict[int, list[Edit]] = {}
    for edit in edits:
        by_seq.setdefault(edit["seq"], []).append(edit)
    spliced = list(insert)
    for seq in range(keep_from, len(messages)):
        spliced += _edited(messages[seq], by_seq[seq]) if seq in by_seq else [messages[seq]]
    return spliced


def _edited(message: Message, edits: Sequence[Edit]) -> list[Message]:
    after = [extra for edit in edits for extra in edit.get("after", ())]
    whole = [edit["value"] for edit in edits if "part" not in edit and "after" not in edit]
    if whole:
        return after if whole[-1] is None else [whole[-1], *after]
    parts = {edit["part"]: edit["value"] for edit in edits if "part" in edit}
    return [_with_parts(message, parts) if parts else message, *after]


def _with_parts(message: Message, changed: Mapping[int, Any]) -> Message:
    content = message["content"]
    before = content if isinstance(content, list) else [content]
    values = (changed.get(index, part) for index, part in enumerate(before))
    return {**message, "content": [value for value in values if value is not None]}


def fresh(value: Any) -> Any:
    """A copy of a JSON value that shares nothing that can change with the original."""
    if isinstance(value, Mapping):
        return {name: fresh(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [fresh(item) for item in value]
    return value
