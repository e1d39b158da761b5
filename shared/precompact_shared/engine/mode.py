"""How a model summary is asked for: on the agent's live prefix at cache prices, or on a transcript by a model of choice.

Computed from prices, sizes and warmth as observed, never assumed: a cache belongs to a workspace, is evicted at will, and one
miss means cold.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from precompact_shared.engine.usage import Usage

READ_SHARE_THAT_IS_A_HIT = 0.5
"""Of a prompt; less means that the part that costs was not in the cache."""


class Mode(StrEnum):
    """What is sent."""

    TRANSCRIPT = "transcript"
    PREFIX = "prefix"


class Reason(StrEnum):
    """Why this mode."""

    CHEAPER = "cheaper"
    PREFIX_UNKNOWN = "prefix_unknown"
    """The caller's system prompt, tools and parameters are not on record."""
    MASKED = "masked"
    """Secrets are masked before anything is sent: the live prefix is not the conversation any more."""
    PRICE_UNKNOWN = "price_unknown"
    """Nobody can say which is cheaper; a transcript has a known size."""
    COLD = "cold"
    """The prefix would be the cheaper one if it were in the cache."""


class Warmth(StrEnum):
    """What was last seen of the prompt cache."""

    WARM = "warm"
    COLD = "cold"
    UNSEEN = "unseen"
    """Nothing was seen within its lifetime; counted as cold."""


class Prices(Protocol):
    """What a model costs; `Price` is one."""

    def cost_usd(self, usage: Usage) -> float:
        """What this usage costs."""
        ...


@dataclass(frozen=True, slots=True)
class Sighting:
    """One call with the agent's prefix, ours or the agent's own: when it began, and what it used."""

    at_ms: int
    usage: Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """One mode's calls: sizes in the tokens of the model that would be asked, and its prices."""

    prompt_tokens: int
    output_tokens: int
    price: Prices | None

    def cost_usd(self, cached_tokens: int = 0) -> float | None:
        """What it costs with so much of the prompt read from the cache; None where no price is known."""
        if self.price is None:
            return None
        cached = min(cached_tokens, self.prompt_tokens)
        return self.price.cost_usd(Usage(self.prompt_tokens - cached, cached, 0, self.output_tokens))


@dataclass(frozen=True, slots=True)
class Choice:
    """The mode, why, and what both would cost in dollars as far as that is known."""

    mode: Mode
    reason: Reason
    transcript_usd: float | None
    prefix_usd: float | None


def warmth(sightings: Iterable[Sighting], *, now_ms: int, ttl_s: float) -> Warmth:
    """Warm when the newest call within the cache's lifetime was a hit; one miss means cold until a hit is seen again."""
    newest = max(sightings, key=lambda one: one.at_ms, default=None)
    if newest is None or now_ms - newest.at_ms > ttl_s * 1000:
        return Warmth.UNSEEN
    read = newest.usage.cache_read_tokens
    return (
        Warmth.WARM if read >= READ_SHARE_THAT_IS_A_HIT * max(1, newest.usage.prompt_tokens) else Warmth.COLD
    )


def choose(
    transcript: Offer, prefix: Offer | None, *, seen: Warmth, cached_tokens: int, is_masked: bool
) -> Choice:
    """The cheaper mode. `prefix` None = not on record; `cached_tokens`: how much of it a warm cache holds.

    Never the prefix on a guess: unseen and cold caches count as empty.
    """
    text_usd = transcript.cost_usd()
    if is_masked or prefix is None:
        return Choice(Mode.TRANSCRIPT, Reason.MASKED if is_masked else Reason.PREFIX_UNKNOWN, text_usd, None)
    prefix_usd = prefix.cost_usd(cached_tokens if seen is Warmth.WARM else 0)
    if text_usd is None or prefix_usd is None:
        return Choice(Mode.TRANSCRIPT, Reason.PRICE_UNKNOWN, text_usd, prefix_usd)
    if prefix_usd < text_usd:
        return Choice(Mode.PREFIX, Reason.CHEAPER, text_usd, prefix_usd)
    warm_usd = prefix.cost_usd(cached_tokens)
    would_win = warm_usd is not None and warm_usd < text_usd
    return Choice(Mode.TRANSCRIPT, Reason.COLD if would_win else Reason.CHEAPER, text_usd, prefix_usd)
