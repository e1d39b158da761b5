"""A13: cache marks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from precompact_standin.anthropic.request import Request
from precompact_standin.refusal import Refusal, broken

MAX_MARKS = 4
LIFETIMES = ("5m", "1h")


def number(request: Request) -> Iterator[Refusal]:
    """4 marks at most, the automatic one included."""
    marks = len(list(_marks(request)))
    automatic = request.body.get("cache_control") is not None
    if marks + automatic > MAX_MARKS:
        yield broken(
            "A13", f"A maximum of 4 blocks with cache_control may be provided. Found {marks + automatic}."
        )


def places(request: Request) -> Iterator[Refusal]:
    """Not on empty text, not on thinking (which has no field for it), of a lifetime that exists."""
    for path, block in _marks(request):
        if block.get("type") == "text" and not block.get("text"):
            yield broken("A13", f"{path}: cache_control cannot be set for empty text blocks")
        if _lifetime(block["cache_control"]) not in LIFETIMES:
            yield broken("A13", f"{path}.cache_control.ttl: Input should be '5m' or '1h'")


def lifetimes(request: Request) -> Iterator[Refusal]:
    """In the order tools, system, messages no 1h follows a 5m."""
    found = [_lifetime(block["cache_control"]) for _, block in _marks(request)]
    if request.body.get("cache_control") is not None:
        found.append(_lifetime(request.body["cache_control"]))
    if "5m" in found and "1h" in found[found.index("5m") :]:
        yield broken(
            "A13", "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block"
        )


def _marks(request: Request) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every marked tool, system block and block of a message, parts of tool results included."""
    return (
        (path, part)
        for path, part in _markable(request)
        if isinstance(part, dict) and isinstance(part.get("cache_control"), dict)
    )


def _markable(request: Request) -> Iterator[tuple[str, Any]]:
    for at, tool in enumerate(request.body.get("tools") or []):
        yield f"tools.{at}", tool
    system = request.body.get("system")
    for at, block in enumerate(system if isinstance(system, list) else []):
        yield f"system.{at}", block
    for path, block in request.blocks():
        if isinstance(block.get("content"), list):
            yield from ((f"{path}.content.{at}", part) for at, part in enumerate(block["content"]))
        yield path, block


def _lifetime(mark: dict[str, Any]) -> str:
    return str(mark.get("ttl", "5m"))
