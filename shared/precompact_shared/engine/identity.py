"""Identity of entries: the canonical form that survives a round trip through an SDK, and its keyed digest."""

from __future__ import annotations

import hmac
import json
from typing import Any

import msgspec

from precompact_shared.engine.formats import of
from precompact_shared.engine.types import Format

_PAYLOADS = frozenset({"input", "arguments"})
"""Keys whose value is the model's own JSON: there a null is content and nothing is left out."""

_encode = json.JSONEncoder(
    ensure_ascii=False, separators=(",", ":"), sort_keys=True, check_circular=False
).encode
_encode_fast = msgspec.json.Encoder(order="sorted").encode
"""The same bytes in an eighth of the time, but for floats, which it writes otherwise, and surrogates, which it refuses."""


def canonical(format: Format, message: Any) -> bytes:  # noqa: A002 - the word of the design
    """The canonical entry as compact UTF-8 JSON; equal bytes mean the same entry.

    Keys are sorted; nulls and `cache_control` marks are left out, except inside the payload of a call; of
    Responses items `status` and the item's id too; string content is one text part. Defined for every JSON
    value: lone surrogates are encoded as they are, depth and size of numbers are not limited.
    """
    shaped = of(format).one_shape(message) if type(message) is dict else message
    try:
        return _write(_strip(shaped))
    except (RecursionError, ValueError):
        return _write_deep(shaped).encode("utf-8", "surrogatepass")


def digest(canonical: bytes, key: bytes) -> str:
    """HMAC-SHA256 of a canonical entry, 64 hex digits."""
    return hmac.digest(key, canonical, "sha256").hex()


def _strip(value: Any) -> Any:
    if type(value) is dict:
        return {
            key: inner if key in _PAYLOADS else _strip(inner)
            for key, inner in value.items()
            if inner is not None and key != "cache_control"
        }
    if type(value) is list:
        return [_strip(inner) for inner in value]
    return value


def _write(value: Any) -> bytes:
    if not _holds_float(value):
        try:
            return _encode_fast(value)
        except UnicodeEncodeError:
            pass
    return _encode(value).encode("utf-8", "surrogatepass")


def _holds_float(value: Any) -> bool:
    todo = [value]
    while todo:
        current = todo.pop()
        kind = type(current)
        if kind is dict:
            todo.extend(current.values())
        elif kind is list:
            todo.extend(current)
        elif kind is float:
            return True
    return False


class _Raw(str):
    """Text that is JSON already."""

    __slots__ = ()


def _write_deep(value: Any) -> str:
    """Write the same text with a stack of its own, for values nested too deep or numbers too long."""
    written: list[str] = []
    todo: list[tuple[Any, bool]] = [(value, False)]
    while todo:
        current, verbatim = todo.pop()
        if isinstance(current, _Raw):
            written.append(current)
        elif type(current) is dict:
            todo.extend(reversed(_tokens_of_object(current, verbatim=verbatim)))
        elif type(current) is list:
            todo.extend(reversed(_tokens_of_array(current, verbatim=verbatim)))
        else:
            written.append(_write_scalar(current))
    return "".join(written)


def _tokens_of_object(value: dict[str, Any], *, verbatim: bool) -> list[tuple[Any, bool]]:
    tokens: list[tuple[Any, bool]] = []
    for key in sorted(value):
        if not verbatim and (value[key] is None or key == "cache_control"):
            continue
        tokens.append((_Raw(("," if tokens else "{") + _encode(key) + ":"), verbatim))
        tokens.append((value[key], verbatim or key in _PAYLOADS))
    return [*tokens, (_Raw("}" if tokens else "{}"), verbatim)]


def _tokens_of_array(value: list[Any], *, verbatim: bool) -> list[tuple[Any, bool]]:
    tokens: list[tuple[Any, bool]] = []
    for inner in value:
        tokens.append((_Raw("," if tokens else "["), verbatim))
        tokens.append((inner, verbatim))
    return [*tokens, (_Raw("]" if tokens else "[]"), verbatim)]


def _write_scalar(value: Any) -> str:
    try:
        return _encode(value)
    except ValueError:  # an integer with more digits than Python prints
        return hex(value)
