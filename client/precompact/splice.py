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
    `{seq, after}`; a null value leaves the part or the message out. No argument is changed.
    """
    by_seq: dict[int, list[Edit]] = {}
    for edit in edits:
        by_seq.setdefault(edit["seq"], []).append(edit)
    spliced = list(insert)
    for seq in range(keep_from, len(messages)):
        spliced += _edited(messages[seq], by_seq[seq]) if seq in by_seq else [messages[seq]]
    return spliced


def _edited(message: Message, edits: Sequence[Edit]) -> list[Message]:
    whole: Message | None = message
    parts = {edit["part"]: edit["value"] for edit in edits if edit.get("part") is not None}
    for edit in edits:
        if "after" not in edit and edit.get("part") is None:
            whole = edit["value"]
    if whole is not None and parts:
        whole = _with_parts(whole, parts)
    after = [extra for edit in edits for extra in edit.get("after", ())]
    return after if whole is None else [whole, *after]


def _with_parts(message: Message, parts: Mapping[int, Any]) -> Message:
    name = "content" if "content" in message else "output"
    content = message.get(name)
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    edited = (parts.get(index, part) for index, part in enumerate(content or ()))
    return message | {name: [part for part in edited if part is not None]}


def fresh(value: Any) -> Any:
    """A copy of a JSON value that shares nothing that can change with the original."""
    if isinstance(value, Mapping):
        return {name: fresh(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [fresh(item) for item in value]
    return value
