"""Tokens by price class, and what they cost by our own table of prices."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from precompact_shared.engine.usage import Usage
from precompact_shared.prices import known_price


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """Of one call or of many, with what they cost."""

    input: int = 0
    read: int = 0
    write: int = 0
    """Kept for the usual time: 5 minutes, 30 at OpenAI."""
    write_hour: int = 0
    output: int = 0

    @property
    def written(self) -> int:
        """Of all lives."""
        return self.write + self.write_hour

    @property
    def prompt(self) -> int:
        """All that was sent."""
        return self.input + self.read + self.written

    @property
    def is_miss(self) -> bool:
        """Whether less than half of the prompt was read from the cache."""
        return 2 * self.read < self.prompt

    def cost_usd(self, model: str) -> float:
        """List price."""
        price = known_price(model)
        assert price is not None, model
        return price.cost_usd(Usage(self.input, self.read, self.written, self.output, self.write_hour))

    def __add__(self, other: Tokens) -> Tokens:
        """Class by class."""
        return Tokens(**{name: value + getattr(other, name) for name, value in asdict(self).items()})


@dataclass(frozen=True, slots=True)
class Priced:
    """Tokens of one model's, and what they cost."""

    tokens: Tokens
    cost_usd: float


def priced(tokens: Tokens, model: str) -> Priced:
    """By the list."""
    return Priced(tokens, tokens.cost_usd(model))


def total(parts: Iterable[Priced]) -> dict[str, Any]:
    """All together, as the report tells it."""
    parts = list(parts)
    told = summed(one.tokens for one in parts)
    return {
        "calls": len(parts),
        "tokens": {
            "input": told.input,
            "cache_read": told.read,
            "cache_write": told.write,
            "cache_write_1h": told.write_hour,
            "output": told.output,
        },
        "usd": round(sum(one.cost_usd for one in parts), 4),
    }


def summed(all_tokens: Iterable[Tokens]) -> Tokens:
    """All together."""
    return sum(all_tokens, Tokens())
