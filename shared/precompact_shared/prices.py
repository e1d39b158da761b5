"""What models cost and how large their windows are, from the maintained tables of `genai-prices`; no network.

The package ships its data; prices and windows change with its releases (docs/decisions/0009-windows-and-prices.md).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from precompact_shared.engine.usage import Usage

if TYPE_CHECKING:  # a tenth of a second, which no command line should pay that asks for no price
    from genai_prices import types

MILLION = 1_000_000
_VERSION = re.compile(r"-v\d+(?::\d+)?$")
"""How Bedrock ends the names of its models."""


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens, by price class."""

    input: float
    cache_read: float
    cache_write: float
    output: float
    cache_write_hour: float | None = None
    """Of what is kept for an hour; None where that has no price of its own."""

    def cost_usd(self, usage: Usage) -> float:
        """What this usage costs."""
        for_an_hour = usage.cache_write_hour_tokens
        hour = self.cache_write if self.cache_write_hour is None else self.cache_write_hour
        return (
            usage.input_tokens * self.input
            + usage.cache_read_tokens * self.cache_read
            + (usage.cache_write_tokens - for_an_hour) * self.cache_write
            + for_an_hour * hour
            + usage.output_tokens * self.output
        ) / MILLION


@lru_cache(maxsize=512)
def known_price(model: str) -> Price | None:
    """The list price of a model for a short prompt; None for one that the tables do not know."""
    found = _find(model)
    if found is None:
        return None
    plain = _dollars(model, input_tokens=1000)
    read = _dollars(model, input_tokens=1000, cache_read_tokens=1000)
    write = _dollars(model, input_tokens=1000, cache_write_tokens=1000)
    hour = _dollars(model, input_tokens=1000, cache_write_tokens=1000, cache_write_1h_tokens=1000)
    output = _dollars(model, output_tokens=1000)
    if plain is None or output is None:
        return None
    write = plain if write is None else write
    return Price(plain, plain if read is None else read, write, output, hour)


@lru_cache(maxsize=512)
def known_window(model: str) -> int | None:
    """The window of a model in tokens; None for one that the tables do not know."""
    found = _find(model)
    return found.model.context_window if found is not None else None


def warm_up() -> None:
    """Load the tables (a second, once per process), so that no event loop has to wait for them."""
    known_price("claude-haiku-4-5")


def _dollars(model: str, **tokens: int) -> float | None:
    """Dollars per million of the tokens given by the thousand."""
    found = _calculate(model, **tokens)
    return None if found is None else float(found.total_price) * 1000


def _find(model: str) -> types.PriceCalculation | None:
    return _calculate(model, input_tokens=1)


def _calculate(model: str, **tokens: int) -> types.PriceCalculation | None:
    import genai_prices

    try:
        return genai_prices.calc_price(genai_prices.Usage(**tokens), bare_name(model))
    except (LookupError, ValueError):
        return None


def bare_name(model: str) -> str:
    """A model's own name, without vendor, region or path in front and version behind: `eu.anthropic.claude-x-v1:0`."""
    name = model.rsplit("/", 1)[-1]
    return _VERSION.sub("", name.split("anthropic.", 1)[-1]) if "anthropic." in name else name
