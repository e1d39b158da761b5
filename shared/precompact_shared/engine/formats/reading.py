"""Reading JSON values that others wrote: each function returns the wanted type or raises `InvalidEntry`."""

from __future__ import annotations

import json
from typing import Any

import msgspec

_compact = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_compact_fast = msgspec.json.Encoder().encode
"""The same in a tenth of the time, but for exponents (`1e16`, not `1e+16`); refuses surrogates and huge numbers."""


class InvalidEntry(ValueError):
    """The value is no message of the format.

    `code` is one of `not_an_object`, `missing`, `wrong_type`, `unknown_role`; `where` is the JSON path of the
    offending place inside the message (`content[2].tool_use_id`, empty for the message itself), never its text.
    """

    def __init__(self, code: str, where: str) -> None:
        super().__init__(f"{code} at {where or 'the message'}: send the message in the session's wire format")
        self.code = code
        self.where = where


def read_object(value: Any, where: str) -> dict[str, Any]:
    """Return `value` if it is a JSON object."""
    if type(value) is dict:
        return value
    raise InvalidEntry("not_an_object", where)


def read_text(owner: dict[str, Any], key: str, where: str) -> str:
    """Return the string under `key`."""
    value = owner.get(key)
    if type(value) is str:
        return value
    raise InvalidEntry("missing" if value is None else "wrong_type", f"{where}{key}")


def read_parts(value: Any, where: str) -> list[dict[str, Any]] | str:
    """Return content: a string as it is, or a list whose members are objects with a string `type`."""
    if type(value) is str:
        return value
    if type(value) is not list:
        raise InvalidEntry("missing" if value is None else "wrong_type", where)
    for index, part in enumerate(value):
        if type(part) is dict and type(part.get("type")) is str:
            continue
        read_text(read_object(part, f"{where}[{index}]"), "type", f"{where}[{index}].")
    return value


def kind_of(part: dict[str, Any]) -> str:
    """The `type` of a part or item that nobody has checked; empty where it is no string."""
    kind = part.get("type")
    return kind if type(kind) is str else ""


def as_json(value: Any) -> str:
    """Compact JSON text of a payload the caller sent as an object; a string stays as it is."""
    if type(value) is str:
        return value
    try:
        return _compact_fast(value).decode()
    except (RecursionError, ValueError, OverflowError, TypeError):
        pass
    try:
        return _compact(value)
    except (RecursionError, ValueError):
        return ""


def is_blank_text(part: dict[str, Any], types: frozenset[str]) -> bool:
    """Whether `part` is a text part of one of `types` without a visible character."""
    if part.get("type") not in types:
        return False
    text = part.get("text")
    return type(text) is not str or not text.strip()


def is_blank(content: list[dict[str, Any]] | str, types: frozenset[str]) -> bool:
    """Whether content holds nothing a model could read: no parts, or blank text alone."""
    if isinstance(content, str):
        return not content.strip()
    return all(is_blank_text(part, types) for part in content)
