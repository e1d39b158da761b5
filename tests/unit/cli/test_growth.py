"""Prompts as they would be without any compaction, held to what was reported."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import pytest

from precompact_cli.growth import prompt_sizes, whole_reports
from precompact_cli.pacing import read_pace
from precompact_cli.recording import ModelCall, Recording
from precompact_shared.engine.types import Format

UPTO = list(accumulate([100] * 20, initial=0))
"""Twenty entries of a hundred tokens."""


def recording(*reports: tuple[int, int | None]) -> Recording:
    """Calls with what was reported."""
    return Recording(
        name="r",
        format=Format.ANTHROPIC,
        model=None,
        system=None,
        tools=None,
        messages=[{"role": "user", "content": "x"}] * 20,
        calls=tuple(ModelCall(prefix, prefix + 1, size) for prefix, size in reports),
        pace=read_pace(None, 20),
    )


def sizes(*reports: tuple[int, int | None], known: int = 0) -> list[int]:
    """The prompt with the first n entries."""
    return list(prompt_sizes(recording(*reports), UPTO, known))


def test_without_reports_estimates_stand_on_what_is_known_besides() -> None:
    """System text and tools."""
    assert sizes((3, None), known=50) == [50 + tokens for tokens in UPTO]


def test_a_reported_call_has_its_reported_size_and_the_rest_follows() -> None:
    """Between two calls in proportion, behind the last as the provider counts: two for one of ours, and 500 besides."""
    found = sizes((2, 700), (4, 900), (10, 2_500))
    assert (found[2], found[4], found[10]) == (700, 900, 2_500)
    assert found[7] == 1_700
    assert found[20] == 2_500 + 1_000 * 2
    assert len(found) == 21
    assert found[0] >= 0


def test_what_was_reported_behind_a_compaction_is_no_size_of_the_history() -> None:
    """It is far below what the entries must weigh."""
    told: Sequence[tuple[int, int | None]] = ((5, 700), (15, 1_700), (16, 300), (18, 500))
    assert whole_reports(recording(*told), UPTO) == [(5, 700), (15, 1_700)]
    assert sizes(*told)[20] == pytest.approx(2_200, abs=1)


def test_a_stale_report_from_before_what_is_shown_is_left_out() -> None:
    """The newest run counts that can be of these entries."""
    assert whole_reports(recording((1, 90_000), (3, 400), (9, 1_000)), UPTO) == [(3, 400), (9, 1_000)]


def test_calls_that_do_not_move_on_are_one() -> None:
    """The first of them counts."""
    assert whole_reports(recording((3, 400), (3, 410), (9, 1_000)), UPTO) == [(3, 400), (9, 1_000)]
