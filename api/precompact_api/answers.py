"""Answers as bytes, with the pair every session answer carries as its ETag."""

from __future__ import annotations

import re
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from precompact_api.problems import Code, Problem
from precompact_shared.store.types import Seen, SessionView

JSON = "application/json"
_ETAG = re.compile(r'(?:W/)?"(\d{1,16})-(\d{1,16})"')


def etag(version: int, length: int) -> dict[str, str]:
    """The header that names a state of a session."""
    return {"etag": f'"{version}-{length}"'}


def answer(body: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A JSON answer."""
    return Response(msgspec.json.encode(body), status, headers, JSON)


def session_answer(view: SessionView, body: Any, status: int = 200) -> Response:
    """A JSON answer about a session."""
    return answer(body, status, etag(view.version, view.length))


def if_match(request: Request) -> Seen | None:
    """The state the caller speaks of; None when it does not say, or says any."""
    value = request.headers.get("if-match")
    if value is None or value.strip() == "*":
        return None
    found = _ETAG.fullmatch(value.strip())
    if found is None:
        raise Problem(Code.INVALID_REQUEST, where="header If-Match")
    return Seen(int(found[1]), int(found[2]))


def preferred_wait_s(request: Request, most_s: float = 600.0) -> float:
    """Seconds of `Prefer: wait=N` (RFC 7240); 0 without."""
    for preference in request.headers.get("prefer", "").split(","):
        name, _, value = preference.strip().partition("=")
        if name.lower() == "wait" and value.isdecimal():
            return min(float(value), most_s)
    return 0.0
