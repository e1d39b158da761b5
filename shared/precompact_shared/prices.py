"""What models cost and how large their windows are, from the maintained tables of `genai-prices`; no network.

The package ships its data; prices and windows change with its releases (docs/decisions/0009-windows-and-prices.md).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING

from precompact_shared.engine.usage import Usage

if TYPE_CHECKING:  # a tenth of a second, which no command line should pay that asks for no price
    from genai_prices import types

MILLION = 1_000_000
_VERSION = re.compile(r"-v\d+(?::\d+)?$")
"""How Bedrock ends the names of its models."""
SHORT_TOKENS = 1_000
"""Of a prompt that no model takes for a long one."""


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens, by price class."""

    input: float
    cache_read: float
    cache_write: float
    output: float
    cache_write_hour: float | None = None
    """Of what is kept for an hour; None where that has no price of its own."""
    longer: tuple[Longer, ...] = ()
    """What longer prompts cost, shortest first."""

    def of(self, prompt_tokens: int) -> Price:
        """The price of a prompt of this size: all of its tokens, and the reply's, cost what its length costs."""
        fitting = [one.price for one in self.longer if prompt_tokens > one.above_tokens]
        return fitting[-1] if fitting else self

    def cost_usd(self, usage: Usage) -> float:
        """What the usage of one call costs."""
        price, for_an_hour = self.of(usage.prompt_tokens), usage.cache_write_hour_tokens
        hour = price.cache_write if price.cache_write_hour is None else price.cache_write_hour
        return (
            usage.input_tokens * price.input
            + usage.cache_read_tokens * price.cache_read
            + (usage.cache_write_tokens - for_an_hour) * price.cache_write
            + for_an_hour * hour
            + usage.output_tokens * price.output
        ) / MILLION


@dataclass(frozen=True, slots=True)
class Longer:
    """What a prompt costs that has more than so many tokens, cached or not."""

    above_tokens: int
    price: Price


@lru_cache(maxsize=512)
def known_price(model: str) -> Price | None:
    """The list price of a model, that of long prompts included; None for one that the tables do not know."""
    found = _find(model)
    short = _price_at(model, SHORT_TOKENS)
    if found is None or short is None:
        return None
    longer = [Longer(start, price) for start in _starts(found) if (price := _price_at(model, start + 1))]
    return replace(short, longer=tuple(longer))


@lru_cache(maxsize=512)
def known_window(model: str) -> int | None:
    """The window of a model in tokens; None for one that the tables do not know."""
    found = _find(model)
    return found.model.context_window if found is not None else None


def warm_up() -> None:
    """Load the tables (a second, once per process), so that no event loop has to wait for them."""
    known_price("claude-haiku-4-5")


def _starts(found: types.PriceCalculation) -> list[int]:
    """Prompts above these sizes have prices of their own."""
    tiers = [getattr(price, "tiers", ()) for price in vars(found.model_price).values()]
    return sorted({tier.start for some in tiers for tier in some})


def _price_at(model: str, prompt: int) -> Price | None:
    """The price of each class in a prompt of so many tokens, by what the package says that it costs."""
    plain, output = _input(model, prompt), _output(model, prompt)
    if plain is None or output is None:
        return None
    read = _input(model, prompt, cache_read_tokens=prompt)
    write = _input(model, prompt, cache_write_tokens=prompt)
    hour = _input(model, prompt, cache_write_tokens=prompt, cache_write_1h_tokens=prompt)
    return Price(
        plain,
        plain if read is None else read,
        plain if write is None else write,
        output,
        cache_write_hour=hour,
    )


def _input(model: str, prompt: int, **tokens: int) -> float | None:
    """Dollars per million of a prompt's tokens, all of one class."""
    found = _calculate(model, input_tokens=prompt, **tokens)
    return None if found is None else float(found.input_price * MILLION / Decimal(prompt))


def _output(model: str, prompt: int) -> float | None:
    found = _calculate(model, input_tokens=prompt, output_tokens=SHORT_TOKENS)
    return None if found is None else float(found.output_price * MILLION / Decimal(SHORT_TOKENS))


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
