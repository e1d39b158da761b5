"""P2: what a model has, whichever protocol asks for it: tokens of output, and service tiers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from precompact_standin.models import Model
from precompact_standin.openai.request import Request
from precompact_standin.refusal import Refusal, broken

TIERS = frozenset({"auto", "default", "fast", "flex", "priority", "scale"})
OUTPUT = ("max_output_tokens", "max_completion_tokens", "max_tokens")
MIN_OUTPUT_TOKENS = 16
"""Of a response; a chat may be shorter."""


def output(request: Request) -> Iterator[Refusal]:
    """No more than the model can write, and no response of a few tokens."""
    limit = request.body.get("max_output_tokens")
    if limit is not None and limit < MIN_OUTPUT_TOKENS:
        text = f"Invalid 'max_output_tokens': expected a value >= {MIN_OUTPUT_TOKENS}."
        yield broken("P2", text, param="max_output_tokens", code="integer_below_min_value")
    yield from output_of(request.body, request.model)


def tier(request: Request) -> Iterator[Refusal]:
    """Service tiers there are."""
    yield from tier_of(request.body)


def output_of(body: Mapping[str, Any], model: Model) -> Iterator[Refusal]:
    """The same for a body of either protocol."""
    for name in OUTPUT:
        asked = body.get(name)
        if isinstance(asked, int) and asked > model.max_output:
            text = f"{name} is too large: {asked}. This model supports at most {model.max_output} completion tokens."
            yield broken("P2", text, param=name, code="invalid_value")


def tier_of(body: Mapping[str, Any]) -> Iterator[Refusal]:
    """The same for a body of either protocol."""
    told = body.get("service_tier")
    if told is not None and told not in TIERS:
        text = f"Invalid value: '{told}'. Supported values are: {', '.join(sorted(TIERS))}."
        yield broken("P2", text, param="service_tier", code="invalid_value")
