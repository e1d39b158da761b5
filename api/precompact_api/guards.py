"""Limits on what comes in, checked before anything is parsed or kept: bytes, nesting, list lengths, ids."""

from __future__ import annotations

import re
from typing import Any, TypeVar

import msgspec
from starlette.requests import Request

from precompact_api.problems import Code, Problem

T = TypeVar("T")
_SESSION_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@-]{0,199}")
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_ONE_KIND = bytes.maketrans(b"{}", b"[]")
_WHERE = re.compile(r"`(\$[^`]*)`$")
IDEMPOTENCY_KEY_MAX = 200


def session_id(value: str) -> str:
    """The id, if it may be one."""
    if not _SESSION_ID.fullmatch(value):
        raise Problem(Code.INVALID_SESSION_ID)
    return value


def idempotency_key(request: Request) -> str | None:
    """The `Idempotency-Key` header: printable, at most 200 characters."""
    value = request.headers.get("idempotency-key")
    if value is None:
        return None
    if not value or len(value) > IDEMPOTENCY_KEY_MAX or not value.isprintable():
        raise Problem(Code.INVALID_REQUEST, where="header Idempotency-Key")
    return value


async def read_body(request: Request, limit_bytes: int) -> bytes:
    """The body, refused as soon as it is known to be too large, with or without a content length."""
    announced = request.headers.get("content-length", "")
    if announced.isdecimal() and int(announced) > limit_bytes:
        raise Problem(Code.BODY_TOO_LARGE, limit=limit_bytes)
    chunks: list[bytes] = []
    size, more = 0, True
    while more:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise Problem(Code.INVALID_JSON)
        chunks.append(message.get("body", b""))
        more = message.get("more_body", False)
        size += len(chunks[-1])
        if size > limit_bytes:
            raise Problem(Code.BODY_TOO_LARGE, limit=limit_bytes)
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def check_depth(body: bytes, limit: int) -> None:
    """Refuses JSON nested deeper than `limit` by its brackets alone; broken JSON passes, the parser refuses it."""
    if body.count(b"[") + body.count(b"{") <= limit:
        return
    brackets = _STRING.sub(b"", body).translate(_ONE_KIND, _NOT_BRACKETS)
    for _ in range(limit):
        # Each round takes away the innermost level of everything.
        shorter = brackets.replace(b"[]", b"")
        if len(shorter) == len(brackets):
            return
        brackets = shorter
    if b"[]" in brackets:
        raise Problem(Code.TOO_DEEP, limit=limit)


def parse(decoder: msgspec.json.Decoder[T], body: bytes, *, nesting_limit: int) -> T:
    """The body as the struct of `decoder`. An empty body is an empty object. Problems name the place, never the value."""
    check_depth(body, nesting_limit)
    try:
        return decoder.decode(body or b"{}")
    except msgspec.ValidationError as error:
        raise Problem(Code.INVALID_REQUEST, where=place_of(error)) from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise Problem(Code.INVALID_JSON) from None
    except RecursionError:
        raise Problem(Code.TOO_DEEP, limit=nesting_limit) from None


def place_of(error: msgspec.ValidationError) -> str:
    """The JSON path an error speaks of; it holds field names of ours and indexes only."""
    found = _WHERE.search(str(error))
    return found[1] if found else "$"


def parse_value(raw: msgspec.Raw, where: str) -> Any:
    """One JSON value of the caller's, from its exact bytes."""
    try:
        return msgspec.json.decode(raw)
    except (msgspec.ValidationError, msgspec.DecodeError, UnicodeDecodeError):
        raise Problem(Code.INVALID_JSON, where=where) from None
    except RecursionError:
        raise Problem(Code.TOO_DEEP, where=where) from None
