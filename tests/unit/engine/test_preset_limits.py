"""A trigger's terms, one by one, and the order its numbers keep whatever the window."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from precompact_shared.engine.limits import LimitOverrides, limits
from precompact_shared.engine.preset import Limits, load_preset, preset_names
from precompact_shared.engine.trigger import Kind, SizeFacts, decide
from precompact_shared.errors import Configuration
from tests.unit.engine.presets.talk import with_cut, with_trigger

OURS = load_preset("precompact")


def found(*, window: int = 100_000, max_output: int = 10_000, **terms: Any) -> Limits:
    """The limits of a trigger with these terms alone, and no margin."""
    bare = with_trigger(OURS, limit_share_of_hard=0.0, margin_share=0.0)
    return with_trigger(bare, **terms).limits(window=window, max_output=max_output)


@pytest.mark.parametrize(
    ("terms", "limit"),
    [
        ({}, 90_000),
        ({"limit_share_of_hard": 0.5}, 45_000),
        ({"limit_share_of_window": 0.5}, 50_000),
        ({"limit_tokens": 70_000}, 70_000),
        ({"limit_tokens": 95_000}, 90_000),
        ({"limit_reserve_tokens": 30_000}, 70_000),
        ({"limit_reserve_tokens": 30_000, "limit_reserve_share": 0.4}, 60_000),
        (
            {"limit_reserve_tokens": 30_000, "limit_reserve_share": 0.2, "limit_reserve_min_window": 100_001},
            80_000,
        ),
        ({"limit_below_hard_tokens": 15_000}, 75_000),
        # a reserve never takes more than half of what is usable
        ({"limit_reserve_tokens": 99_000}, 45_000),
        ({"limit_below_hard_tokens": 80_000}, 45_000),
        # the least of several
        ({"limit_share_of_window": 0.8, "limit_tokens": 60_000, "limit_below_hard_tokens": 20_000}, 60_000),
    ],
)
def test_the_limit_is_the_least_of_its_terms(terms: dict[str, Any], limit: int) -> None:
    """Terms that are 0 do not count."""
    assert found(**terms).limit == limit


def test_at_most_so_much_is_set_aside_for_output() -> None:
    """A system that lowers max_tokens before anything else needs no more."""
    assert found(max_output=64_000, output_max_tokens=20_000).hard == 80_000
    assert found(max_output=8_000, output_max_tokens=20_000).hard == 92_000


def test_the_start_lies_in_the_last_band_if_that_is_later() -> None:
    """The shares alone decide in small windows."""
    banded = found(limit_tokens=80_000, start_low=0.5, start_high=0.95, start_band_tokens=10_000)
    assert (banded.start_low, banded.start_high) == (70_000, 76_000)


@pytest.mark.parametrize(("threshold", "start"), [(0.80, 70_000), (0.75, 65_000)])
def test_a_start_ten_points_under_the_limit(threshold: float, start: int) -> None:
    """Chapter 8, 1 and 2: window 100,000: not a token earlier, and not at the limit itself."""
    numbers = found(
        limit_share_of_window=threshold,
        start_low=0.1,
        start_high=0.1,
        start_band_tokens=10_000,
        min_tokens=0,
        small_window_tokens=0,
    )
    kinds = [
        decide(SizeFacts(tokens=size, limits=numbers)).kind for size in (start - 1, start, numbers.limit)
    ]
    assert kinds == [None, Kind.SPECULATIVE, Kind.DUE]


@pytest.mark.parametrize("name", preset_names())
@given(
    st.integers(1_000, 2_000_000),
    st.integers(0, 200_000),
    st.one_of(st.none(), st.floats(0.06, 1.0)),
    st.one_of(st.none(), st.integers(1_000, 2_000_000)),
)
def test_the_numbers_keep_their_order(
    name: str, window: int, max_output: int, share: float | None, observed: int | None
) -> None:
    """start_low <= start_high <= limit <= hard < window, keep <= limit; or the window is refused."""
    try:
        numbers = limits(
            load_preset(name),
            window=window,
            max_output=max_output,
            overrides=LimitOverrides(limit_share=share),
            observed_limit=observed,
        )
    except Configuration:
        return
    assert 0 <= numbers.start_low <= numbers.start_high <= numbers.limit <= numbers.hard <= window
    assert 0 <= numbers.keep_tokens <= numbers.limit
    assert numbers.growth_max >= 0


def test_a_policys_keep_replaces_a_share_between_bounds() -> None:
    """What somebody asks for is what they get, below the preset's ceiling."""
    wanted = LimitOverrides(keep_tokens=5_000)
    fork = with_cut(load_preset("opencode"), keep_share=0.5)
    assert limits(fork, window=200_000, max_output=0, overrides=wanted).keep_tokens == 5_000
    tiny = limits(OURS, window=20_000, max_output=1_000, overrides=wanted)
    assert tiny.keep_tokens == int(tiny.limit * 0.25)


def test_bytes_count_only_where_a_preset_says_so() -> None:
    """Most systems look at tokens alone."""
    assert not found(limit_tokens=50_000).reached(10, stored_bytes=10**9)
    assert found(limit_tokens=50_000, limit_bytes=1_000).reached(10, stored_bytes=1_000)
