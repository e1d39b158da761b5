"""Tokens of texts and of messages, without the network."""

from __future__ import annotations

from typing import Any

from precompact_shared.engine.estimate.loads import Load, Piece, load_of
from precompact_shared.engine.estimate.rates import rates_of
from precompact_shared.engine.estimate.weighing import entry_tokens, mass_of
from precompact_shared.engine.formats import InvalidEntry
from precompact_shared.engine.tokenizer import (
    DOCUMENT_TOKENS,
    IMAGE_TOKENS,
    count_text,
    family_factor,
    warm_up,
)
from precompact_shared.engine.types import Format
from precompact_shared.engine.weight import weigh

__all__ = [
    "DOCUMENT_TOKENS",
    "IMAGE_TOKENS",
    "count_message",
    "count_text",
    "family_factor",
    "warm_up",
]


def count_message(format: Format, message: Any, model: str | None) -> int:  # noqa: A002 - the design's word
    """Estimated tokens of one message by the rates of the model's family, at least 1: as the store weighs an entry.

    Base64 is never counted as text. Without a model it is counted for the format's newest. What is no message of the
    format counts as text of the caller.
    """
    rates = rates_of(format, model)
    return entry_tokens(rates, mass_of(rates, _load(format, message)))


def _load(wire: Format, message: Any) -> Load:
    try:
        piece: Piece = load_of(wire, message)
    except InvalidEntry:
        weight = weigh(message)
        given = sum(map(count_text, weight.texts))
        return Load(given=given, images=weight.images, documents=weight.documents)
    return piece.load
