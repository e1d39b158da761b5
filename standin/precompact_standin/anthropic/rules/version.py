"""A12 and the sampling parameters: what API version 2026-10-21 no longer takes; and service tiers."""

from __future__ import annotations

from collections.abc import Iterator

from precompact_standin.anthropic.headers import NEW_VERSION
from precompact_standin.anthropic.request import Request
from precompact_standin.refusal import Refusal, broken

GONE = ("temperature", "top_p", "top_k")


TIERS = ("auto", "standard_only")


def tier(request: Request) -> Iterator[Refusal]:
    """P2: service tiers there are."""
    told = request.body.get("service_tier", TIERS[0])
    if told not in TIERS:
        yield broken("P2", "service_tier: Input should be 'auto' or 'standard_only'", param="service_tier")


def sampling(request: Request) -> Iterator[Refusal]:
    """No `temperature`, `top_p`, `top_k`, even at their old defaults."""
    for name in GONE:
        if request.version == NEW_VERSION and name in request.body:
            yield broken("V1", f"{name}: not supported by anthropic-version {NEW_VERSION}", param=name)


def documents(request: Request) -> Iterator[Refusal]:
    """A12: no document right in an assistant message."""
    for index, message in enumerate(request.messages):
        content = message["content"]
        if message["role"] != "assistant" or not isinstance(content, list):
            continue
        if request.version == NEW_VERSION and any(block["type"] == "document" for block in content):
            yield broken("A12", f"messages.{index}: `document` blocks are not allowed in assistant messages")


def citations(request: Request) -> Iterator[Refusal]:
    """A12: no filled citations in a user's text."""
    for index, message in enumerate(request.messages):
        content = message["content"]
        if message["role"] != "user" or not isinstance(content, list) or request.version != NEW_VERSION:
            continue
        if any(block["type"] == "text" and block.get("citations") for block in content):
            yield broken("A12", f"messages.{index}: `citations` are not allowed in user messages")
