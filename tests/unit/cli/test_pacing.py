"""When things happened, and how fast it is played."""

from __future__ import annotations

import math
from typing import Any

import pytest

from precompact_cli.pacing import IDLE_MOST_S, STEP_S, choose_speed, read_pace


def test_gaps_are_those_between_the_recorded_times() -> None:
    """ISO texts and milliseconds since the epoch both tell seconds."""
    assert read_pace(["2026-06-26T12:24:10Z", "2026-06-26T12:24:12.5Z"], 2).gaps_s == (0.0, 2.5)
    assert read_pace([1_773_620_447_000, 1_773_620_450_500], 2).gaps_s == (0.0, 3.5)


def test_missing_and_unreadable_times_are_ten_seconds_apart() -> None:
    """A gap with an unknown end is assumed, and counted."""
    pace = read_pace(["2026-06-26T12:24:10Z", None, "soon", True], 5)
    assert pace.gaps_s == (0.0, STEP_S, STEP_S, STEP_S, STEP_S)
    assert pace.assumed == 4


@pytest.mark.parametrize(
    "absurd",
    [10**400, -(10**400), float("nan"), float("inf"), 1e300, "0001-01-01T00:00:00", "9999-12-31", [], {}],
)
def test_times_that_can_be_none_are_unknown_or_cut(absurd: Any) -> None:
    """Whatever a damaged file says."""
    pace = read_pace([1_000_000_000, absurd, 1_000_000_005], 3)
    assert all(0 <= gap <= IDLE_MOST_S for gap in pace.gaps_s)
    assert math.isfinite(pace.cut_s)


def test_without_any_times_every_message_is_ten_seconds_after_the_last() -> None:
    """A recording without `timestamps` plays too."""
    assert read_pace(None, 3).total_s == 2 * STEP_S


def test_idle_gaps_are_cut_and_the_cut_is_told() -> None:
    """An hour away becomes a minute; what was left out is known."""
    pace = read_pace([1_000_000_000_000, 1_000_003_600_000, 1_000_003_605_000], 3)
    assert pace.gaps_s == (0.0, IDLE_MOST_S, 5.0)
    assert (pace.cut, pace.cut_s) == (1, 3600 - IDLE_MOST_S)


def test_times_that_run_backwards_are_no_gap() -> None:
    """Clocks of several processes do not always agree."""
    assert read_pace([1_000_000_005_000, 1_000_000_001_000], 2).gaps_s == (0.0, 0.0)


def test_time_between_two_messages_is_the_sum_of_the_gaps() -> None:
    """From message 0 to message 2."""
    assert read_pace(None, 4).between(1, 3) == 2 * STEP_S


@pytest.mark.parametrize(
    ("total_s", "speed"), [(10, 20), (1_000, 30), (1_500, 40), (2_000, 60), (90_000, 80)]
)
def test_speed_is_the_slowest_that_plays_in_time(total_s: float, speed: float) -> None:
    """A short session is not rushed; a long one gets the fastest there is."""
    assert choose_speed(total_s) == speed
