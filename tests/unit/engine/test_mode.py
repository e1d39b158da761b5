"""Live prefix or transcript: the cheaper one, by what was seen of the cache."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from precompact_shared.engine.mode import Mode, Offer, Reason, Seen, Sighting, Warmth, choose, look
from precompact_shared.engine.usage import Usage
from precompact_shared.prices import Longer, Price

BIG = Price(5, 0.5, 6.25, 25)
CHEAP = Price(1, 0.1, 1.25, 5)
HIT = Usage(1_000, 90_000, 500, 300)
MISS = Usage(91_000, 0, 500, 300)
REBUILT = Usage(0, 8_000, 60_000, 300)
SHORT = Usage(3_000, 0, 0, 300)
WARM = Seen(Warmth.WARM, 0.99)
KEPT = 90_500 / 91_500
NOW = 1_000_000


def offers(writer: Price | None = CHEAP, agent: Price | None = BIG) -> tuple[Offer, Offer]:
    """120,000 tokens of transcript by the writer; 150,000 of prefix by the agent's model."""
    return (
        Offer(prompt_tokens=120_000, output_tokens=4_000, price=writer),
        Offer(prompt_tokens=150_000, output_tokens=4_000, price=agent, is_cached=True),
    )


@pytest.mark.parametrize(
    ("writer", "seen", "mode", "reason"),
    [
        (BIG, WARM, Mode.PREFIX, Reason.CHEAPER),
        (BIG, Seen(Warmth.COLD), Mode.TRANSCRIPT, Reason.COLD),
        (BIG, Seen(Warmth.UNSEEN), Mode.TRANSCRIPT, Reason.COLD),
        (BIG, Seen(Warmth.WARM, 0.05), Mode.TRANSCRIPT, Reason.COLD),
        (CHEAP, WARM, Mode.TRANSCRIPT, Reason.CHEAPER),
        (CHEAP, Seen(Warmth.COLD), Mode.TRANSCRIPT, Reason.CHEAPER),
        (None, WARM, Mode.TRANSCRIPT, Reason.PRICE_UNKNOWN),
    ],
)
def test_the_cheaper_one_is_taken(writer: Price | None, seen: Seen, mode: Mode, reason: Reason) -> None:
    """A cheap model on a transcript often beats a cached prefix on a big one: its output is cheaper too."""
    transcript, prefix = offers(writer)
    found = choose(transcript, prefix, seen=seen)
    assert (found.mode, found.reason) == (mode, reason)


def test_a_long_prompt_is_reckoned_at_what_long_prompts_cost() -> None:
    """A cheap model that is dear beyond a length loses against a warm prefix, and wins below it."""
    long = Longer(100_000, Price(5, 0.5, 6.25, 25))
    writer = Price(1, 0.1, 1.25, 5, longer=(long,))
    _, prefix = offers()
    below, above = (Offer(prompt_tokens=size, output_tokens=500, price=writer) for size in (99_000, 101_000))
    assert choose(below, prefix, seen=WARM).mode is Mode.TRANSCRIPT
    assert choose(above, prefix, seen=WARM).mode is Mode.PREFIX


def test_a_transcript_larger_than_its_model_is_reckoned_in_parts() -> None:
    """None of them is a long prompt; each writes a record, which the next one reads."""
    price = Price(1, 1, 1, 10, longer=(Longer(150_000, Price(9, 9, 9, 90)),))
    whole = Offer(prompt_tokens=300_000, output_tokens=1_000, price=price)
    divided = replace(whole, most_tokens=100_000)
    assert whole.cost_usd() == pytest.approx((300_000 * 9 + 1_000 * 90) / 1e6)
    assert divided.cost_usd() == pytest.approx((300_000 + 2 * 1_000 + 3 * 1_000 * 10) / 1e6)
    assert replace(whole, most_tokens=300_000).cost_usd() == whole.cost_usd()


@pytest.mark.parametrize(
    ("ours", "agent", "seen"),
    [
        ([], None, Seen(Warmth.UNSEEN)),
        ([Sighting(900_000, HIT)], None, Seen(Warmth.WARM, KEPT)),
        ([Sighting(600_000, HIT)], None, Seen(Warmth.UNSEEN)),
        ([Sighting(900_000, HIT), Sighting(950_000, MISS)], None, Seen(Warmth.COLD)),
        ([Sighting(950_000, MISS), Sighting(960_000, HIT)], None, Seen(Warmth.WARM, KEPT)),
        ([Sighting(950_000, Usage())], None, Seen(Warmth.COLD)),
    ],
)
def test_our_newest_call_decides(ours: list[Sighting], agent: Sighting | None, seen: Seen) -> None:
    """One miss means cold until a hit of ours is seen."""
    assert look(ours, agent, now_ms=NOW, ttl_s=300) == seen


@pytest.mark.parametrize(
    ("ours", "agent", "seen"),
    [
        ([], Sighting(900_000, HIT), Seen(Warmth.WARM, KEPT)),
        ([], Sighting(600_000, HIT), Seen(Warmth.UNSEEN)),
        ([], Sighting(900_000, MISS), Seen(Warmth.COLD)),
        ([], Sighting(900_000, REBUILT), Seen(Warmth.COLD)),
        ([], Sighting(900_000, SHORT), Seen(Warmth.UNSEEN)),
        ([Sighting(800_000, HIT)], Sighting(900_000, MISS), Seen(Warmth.COLD)),
        ([Sighting(900_000, HIT)], Sighting(800_000, MISS), Seen(Warmth.WARM, KEPT)),
    ],
)
def test_the_agents_usage_is_a_sighting_too(ours: list[Sighting], agent: Sighting | None, seen: Seen) -> None:
    """The newest one within the lifetime; a long prompt of which little was read is a miss, a short one tells nothing."""
    assert look(ours, agent, now_ms=NOW, ttl_s=300) == seen


@given(st.integers(0, 10**6), st.lists(st.integers(0, 9 * 10**5)), st.integers(0, NOW))
def test_after_a_miss_of_ours_no_hit_of_the_agents_makes_it_warm(
    at: int, before: list[int], agent_at: int
) -> None:
    """Its key may belong to another workspace; the promise is one miss."""
    ours = [Sighting(min(one, at), HIT) for one in before if one < at] + [Sighting(at, MISS)]
    found = look(ours, Sighting(agent_at, HIT), now_ms=NOW, ttl_s=10**6)
    assert found == Seen(Warmth.COLD)


def test_a_second_call_reads_what_the_first_one_wrote() -> None:
    """On the live prefix; a transcript is paid in full again."""
    transcript, prefix = offers(CHEAP, BIG)
    twice = [
        Offer(
            prompt_tokens=one.prompt_tokens,
            output_tokens=one.output_tokens,
            price=one.price,
            calls=2,
            is_cached=one.is_cached,
        )
        for one in (transcript, prefix)
    ]
    deaf = Offer(
        prompt_tokens=150_000, output_tokens=4_000, price=BIG, calls=2, is_cached=True, reads_back=False
    )
    assert (deaf.cost_usd() or 0) > (twice[1].cost_usd() or 0) + 0.8
    more = [
        (two.cost_usd() or 0) - (one.cost_usd() or 0)
        for one, two in zip((transcript, prefix), twice, strict=True)
    ]
    assert more[0] == pytest.approx((124_000 * 1 + 4_000 * 5) / 1e6)
    assert more[1] == pytest.approx((150_000 * 0.5 + 4_000 * 6.25 + 4_000 * 25) / 1e6)


def test_what_is_not_read_is_written() -> None:
    """Our request has marks, so a cold prefix costs more than its plain input."""
    _, prefix = offers()
    assert prefix.cost_usd() == pytest.approx((150_000 * 6.25 + 4_000 * 25) / 1e6)
    assert prefix.cost_usd(1.0) == pytest.approx((150_000 * 0.5 + 4_000 * 25) / 1e6)


@given(
    st.integers(1, 10**6),
    st.integers(1, 10**6),
    st.floats(0, 1),
    st.sampled_from([Warmth.COLD, Warmth.UNSEEN]),
)
def test_a_cold_cache_never_costs_more_than_the_transcript(
    text: int, prompt: int, cached: float, seen: Warmth
) -> None:
    """The prefix is taken only where it is cheaper without any cache."""
    transcript = Offer(prompt_tokens=text, output_tokens=1_000, price=CHEAP)
    prefix = Offer(prompt_tokens=prompt, output_tokens=1_000, price=BIG, is_cached=True)
    found = choose(transcript, prefix, seen=Seen(seen, cached))
    real = transcript.cost_usd() if found.mode is Mode.TRANSCRIPT else prefix.cost_usd()
    assert real is not None
    assert real <= (transcript.cost_usd() or 0)
