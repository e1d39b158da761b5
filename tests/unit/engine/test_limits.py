"""The numbers a session is held against."""

from __future__ import annotations

import pytest

from precompact_shared.engine.limits import LimitOverrides, limits, margin_tokens
from precompact_shared.engine.preset import load_preset
from precompact_shared.errors import Configuration

PRESET = load_preset("precompact")


def test_hard_is_the_window_less_output_and_two_percent() -> None:
    """200,000 − 32,000 − 4,000."""
    found = limits(PRESET, window=200_000, max_output=32_000)
    assert found.hard == 164_000
    assert found.limit == int(164_000 * 0.9)
    assert margin_tokens(PRESET, 200_000) == 4_000


def test_speculation_starts_between_65_and_85_percent_of_the_limit() -> None:
    """The bounds of the start point."""
    found = limits(PRESET, window=200_000, max_output=32_000)
    assert found.start_low == int(found.limit * 0.65)
    assert found.start_high == int(found.limit * 0.85)


def test_a_small_window_has_half_its_limit_as_minimum() -> None:
    """64,000 tokens would never be met in a small window."""
    assert limits(PRESET, window=200_000, max_output=8_000).min_tokens == 64_000
    small = limits(PRESET, window=100_000, max_output=8_000)
    assert small.min_tokens == small.limit // 2


def test_a_policy_overrides_each_number() -> None:
    """Every override reaches the limits."""
    wanted = LimitOverrides(
        limit_share=0.5, start_low=0.2, start_high=0.3, min_tokens=1_000, keep_tokens=2_000
    )
    found = limits(PRESET, window=200_000, max_output=32_000, overrides=wanted)
    assert found.limit == 82_000
    assert (found.start_low, found.start_high) == (16_400, 24_600)
    assert (found.min_tokens, found.keep_tokens) == (1_000, 2_000)


def test_a_refused_size_lowers_hard_and_what_follows_from_it() -> None:
    """Overflow stores the observed limit; a limit above it would never be met in time."""
    before = limits(PRESET, window=200_000, max_output=32_000)
    found = limits(PRESET, window=200_000, max_output=32_000, observed_limit=100_000)
    assert found.hard == 100_000
    assert found.limit == pytest.approx(90_000, abs=2)
    assert found.start_high < before.start_high
    assert limits(PRESET, window=200_000, max_output=32_000, observed_limit=999_999) == before


def test_a_window_without_room_is_refused() -> None:
    """Never a limit below zero that nothing can keep."""
    with pytest.raises(Configuration, match="no room"):
        limits(PRESET, window=10_000, max_output=10_000)


def test_a_share_replaces_the_reserve_of_a_preset() -> None:
    """`pi` reckons with a reserve; a policy's share wins."""
    found = limits(load_preset("pi"), window=200_000, max_output=0, overrides=LimitOverrides(limit_share=0.5))
    assert found.limit == 98_000
