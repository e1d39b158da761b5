"""Live prefix or transcript: the cheaper one, by what was seen of the cache."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from precompact_shared.engine.mode import Mode, Offer, Reason, Sighting, Warmth, choose, warmth
from precompact_shared.engine.usage import Usage
from precompact_shared.prices import Price

BIG = Price(5, 0.5, 6.25, 25)
CHEAP = Price(1, 0.1, 1.25, 5)
HIT = Usage(1_000, 90_000, 500, 300)
MISS = Usage(91_000, 0, 500, 300)


def offers(writer: Price | None = CHEAP, agent: Price | None = BIG) -> tuple[Offer, Offer]:
    """120,000 tokens of transcript by the writer; 150,000 of prefix by the agent's model."""
    return (
        Offer(prompt_tokens=120_000, output_tokens=4_000, price=writer),
        Offer(prompt_tokens=150_000, output_tokens=4_000, price=agent),
    )


@pytest.mark.parametrize(
    ("writer", "seen", "mode", "reason"),
    [
        (BIG, Warmth.WARM, Mode.PREFIX, Reason.CHEAPER),
        (BIG, Warmth.COLD, Mode.TRANSCRIPT, Reason.COLD),
        (BIG, Warmth.UNSEEN, Mode.TRANSCRIPT, Reason.COLD),
        (CHEAP, Warmth.WARM, Mode.TRANSCRIPT, Reason.CHEAPER),
        (CHEAP, Warmth.COLD, Mode.TRANSCRIPT, Reason.CHEAPER),
        (None, Warmth.WARM, Mode.TRANSCRIPT, Reason.PRICE_UNKNOWN),
    ],
)
def test_the_cheaper_one_is_taken(writer: Price | None, seen: Warmth, mode: Mode, reason: Reason) -> None:
    """A cheap model on a transcript often beats a cached prefix on a big one: its output is cheaper too."""
    transcript, prefix = offers(writer)
    found = choose(transcript, prefix, seen=seen, cached_tokens=148_000, is_masked=False)
    assert (found.mode, found.reason) == (mode, reason)


def test_without_a_prefix_on_record_or_with_masking_it_is_the_transcript() -> None:
    """Whatever it costs."""
    transcript, prefix = offers(BIG)
    unknown = choose(transcript, None, seen=Warmth.WARM, cached_tokens=9, is_masked=False)
    masked = choose(transcript, prefix, seen=Warmth.WARM, cached_tokens=148_000, is_masked=True)
    assert (unknown.reason, masked.reason) == (Reason.PREFIX_UNKNOWN, Reason.MASKED)
    assert {unknown.mode, masked.mode} == {Mode.TRANSCRIPT}


@pytest.mark.parametrize(
    ("sightings", "seen"),
    [
        ([], Warmth.UNSEEN),
        ([Sighting(900_000, HIT)], Warmth.WARM),
        ([Sighting(600_000, HIT)], Warmth.UNSEEN),
        ([Sighting(900_000, HIT), Sighting(950_000, MISS)], Warmth.COLD),
        ([Sighting(950_000, MISS), Sighting(960_000, HIT)], Warmth.WARM),
        ([Sighting(950_000, Usage())], Warmth.COLD),
    ],
)
def test_one_miss_means_cold_until_a_hit_is_seen(sightings: list[Sighting], seen: Warmth) -> None:
    """The newest call within the lifetime decides."""
    assert warmth(sightings, now_ms=1_000_000, ttl_s=300) is seen


@given(
    st.integers(1, 10**6),
    st.integers(1, 10**6),
    st.integers(0, 10**6),
    st.sampled_from([Warmth.COLD, Warmth.UNSEEN]),
)
def test_a_cold_cache_never_costs_more_than_the_transcript(
    text: int, prompt: int, cached: int, seen: Warmth
) -> None:
    """The prefix is taken only where it is cheaper without any cache."""
    transcript = Offer(prompt_tokens=text, output_tokens=1_000, price=CHEAP)
    prefix = Offer(prompt_tokens=prompt, output_tokens=1_000, price=BIG)
    found = choose(transcript, prefix, seen=seen, cached_tokens=cached, is_masked=False)
    real = transcript.cost_usd() if found.mode is Mode.TRANSCRIPT else prefix.cost_usd()
    assert real is not None
    assert real <= (transcript.cost_usd() or 0)
