"""How a model summary is asked for: on the agent's live prefix at cache prices, or on a transcript by a model of choice.

Computed from prices, sizes and warmth as observed, never assumed: a cache belongs to a workspace, is evicted at will, and
one miss of ours means cold. What is compared is the summary's own calls: the context afterwards is of the same shape
whoever writes, so the agent rebuilds its cache at the same price.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from precompact_shared.engine.usage import Usage

ASKING_TOKENS = 1_000
"""What our own words add to either request."""
USUAL_OUTPUT_TOKENS = 2_600
"""Of a summary, in o200k tokens, before the tenant has had one: the six that stand in recorded sessions have 2,474 to
3,359, the middle of them 2,650, whatever was allowed."""
READ_SHARE_THAT_IS_A_HIT = 0.5
"""Of a prompt; less means that the part that costs was not in the cache."""
LEAST_TELLING_TOKENS = 8_192
"""Of the agent's prompt: twice what the choosiest model caches. A miss of a shorter one tells nothing."""


class Mode(StrEnum):
    """What is sent."""

    TRANSCRIPT = "transcript"
    PREFIX = "prefix"


class Reason(StrEnum):
    """Why this mode."""

    CHEAPER = "cheaper"
    ASKED_FOR = "asked_for"
    """The policy names the mode."""
    OTHER_CONTENT = "other_content"
    """The live prefix is another provider's, or holds other entries: a rebuild, a run by hand from a place on."""
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

    @property
    def is_hit(self) -> bool:
        """Whether the part that costs was read from the cache."""
        return self.usage.cache_read_tokens >= READ_SHARE_THAT_IS_A_HIT * max(1, self.usage.prompt_tokens)

    @property
    def is_telling(self) -> bool:
        """Whether a miss says anything: a short prompt is not cached in the first place."""
        return self.is_hit or self.usage.prompt_tokens >= LEAST_TELLING_TOKENS

    @property
    def kept_share(self) -> float:
        """How much of the prompt the cache has held since then: less than all where the agent's marks stand early."""
        kept = self.usage.cache_read_tokens + self.usage.cache_write_tokens
        return kept / max(1, self.usage.prompt_tokens)


@dataclass(frozen=True, slots=True)
class Seen:
    """What is known of the cache: how warm it is, and the share of the agent's prompts that it holds."""

    warmth: Warmth
    cached_share: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """One mode's calls: sizes in the tokens of the model that would be asked, and its prices."""

    prompt_tokens: int
    output_tokens: int
    price: Prices | None
    calls: float = 1.0
    """How many a summary takes: each one after the first is the one before with its answer and what that lacks."""
    is_cached: bool = False
    """Whether the prompt goes through the cache: what is not read is written."""
    reads_back: bool = True
    """Whether a second call reads what the first one wrote: so it should, until it was seen not to."""
    most_tokens: int | None = None
    """What one prompt can hold; a larger one goes in equal parts, each after the first with the record of those before."""

    def cost_usd(self, cached_share: float = 0.0) -> float | None:
        """What it costs with so much of the first prompt read from the cache; None where no price is known."""
        if self.price is None:
            return None
        parts = self._parts
        prompt = self.prompt_tokens // parts
        first = self.price.cost_usd(self._usage(prompt, int(prompt * cached_share)))
        later = self.price.cost_usd(self._usage(prompt + self.output_tokens, 0))
        again = self.price.cost_usd(
            self._usage(prompt + self.output_tokens, prompt if self.reads_back else 0)
        )
        return first + (parts - 1) * later + max(0.0, self.calls - 1) * again

    @property
    def _parts(self) -> int:
        return 1 if not self.most_tokens else max(1, -(-self.prompt_tokens // self.most_tokens))

    def _usage(self, prompt: int, cached: int) -> Usage:
        if not self.is_cached:
            return Usage(prompt, 0, 0, self.output_tokens)
        read = min(cached, prompt)
        return Usage(0, read, prompt - read, self.output_tokens)


def transcript_offer(
    tokens: int,
    output_tokens: int,
    *,
    factor: float,
    price: Prices | None,
    calls: float = 1.0,
    is_cached: bool = False,
    most_tokens: int | None = None,
) -> Offer:
    """A transcript and its record, of so many o200k tokens, by a model whose tokens are `factor` of these."""
    return Offer(
        prompt_tokens=int((tokens + ASKING_TOKENS) * factor),
        output_tokens=int(output_tokens * factor),
        price=price,
        calls=calls,
        is_cached=is_cached,
        most_tokens=most_tokens,
    )


@dataclass(frozen=True, slots=True)
class Choice:
    """The mode, why, and what both would cost in dollars as far as that is known."""

    mode: Mode
    reason: Reason
    transcript_usd: float | None = None
    prefix_usd: float | None = None


def look(ours: Iterable[Sighting], agent: Sighting | None, *, now_ms: int, ttl_s: float) -> Seen:
    """What was seen last, by us or by the agent, within the cache's lifetime.

    `ours`: one call of each of our jobs with the prefix, one that missed if there was any. A newest one that missed means
    cold for good: an agent's hits say nothing of a key in another workspace, so only a hit of ours could refute it.
    """
    newest = max(ours, key=lambda one: one.at_ms, default=None)
    if newest is not None and not newest.is_hit:
        return Seen(Warmth.COLD)
    told = agent if agent is not None and agent.is_telling else None
    alive = [one for one in (newest, told) if one is not None and now_ms - one.at_ms <= ttl_s * 1000]
    last = max(alive, key=lambda one: one.at_ms, default=None)
    if last is None:
        return Seen(Warmth.UNSEEN)
    return Seen(Warmth.WARM, last.kept_share) if last.is_hit else Seen(Warmth.COLD)


def choose(transcript: Offer, prefix: Offer, *, seen: Seen) -> Choice:
    """The cheaper mode. Never the prefix on a guess: unseen and cold caches count as empty."""
    text_usd = transcript.cost_usd()
    prefix_usd = prefix.cost_usd(seen.cached_share if seen.warmth is Warmth.WARM else 0.0)
    if text_usd is None or prefix_usd is None:
        return Choice(Mode.TRANSCRIPT, Reason.PRICE_UNKNOWN, text_usd, prefix_usd)
    if prefix_usd < text_usd:
        return Choice(Mode.PREFIX, Reason.CHEAPER, text_usd, prefix_usd)
    warm_usd = prefix.cost_usd(1.0)
    would_win = warm_usd is not None and warm_usd < text_usd
    return Choice(Mode.TRANSCRIPT, Reason.COLD if would_win else Reason.CHEAPER, text_usd, prefix_usd)
