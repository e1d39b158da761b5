"""Which window a recording is played in."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import pytest

from precompact_cli.exits import InputRefused
from precompact_cli.pacing import read_pace
from precompact_cli.recording import ModelCall, Recording
from precompact_cli.sizes import Sizes, measure
from precompact_cli.windows import LADDER, Choice, choose_window
from precompact_shared.engine.types import Format
from precompact_shared.policy import Policy

CLAUDE = "claude-sonnet-4-5"
POLICY = Policy()


def sizes(count: int, each: int, fixed: int = 0) -> Sizes:
    """`count` messages of equal size."""
    tokens = (each,) * count
    return Sizes(tokens, tuple(accumulate(tokens, initial=0)), fixed)


def recording(count: int, model: str | None, calls: Sequence[ModelCall] | None = None) -> Recording:
    """`count` messages; the model was called before every one but the first, and nothing was counted."""
    return Recording(
        name="r",
        format=Format.ANTHROPIC,
        model=model,
        system=None,
        tools=None,
        messages=[{"role": "user", "content": "x"}] * count,
        calls=tuple(calls or (ModelCall(prefix, prefix + 1) for prefix in range(1, count))),
        pace=read_pace(None, count),
    )


def choose(
    count: int, each: int, model: str | None = CLAUDE, *, fixed: int = 0, window: int | None = None
) -> Choice:
    """The window for `count` messages of `each` tokens."""
    return choose_window(recording(count, model), sizes(count, each, fixed), POLICY, window)


def test_the_models_window_is_taken_when_the_recording_reaches_its_limit() -> None:
    """170,000 tokens meet the limit of a 200,000 window."""
    choice = choose(170, 1_000)
    assert (choice.window, choice.foreseen) == (200_000, 1)


def test_a_smaller_recording_gets_the_largest_window_with_two_compactions() -> None:
    """The next larger one would bring fewer than two."""
    choice = choose(100, 1_000)
    assert choice.foreseen >= 2
    larger = LADDER[LADDER.index(choice.window) - 1]
    assert choose(100, 1_000, window=larger).foreseen < 2


def test_a_window_that_the_fixed_part_fills_is_not_chosen() -> None:
    """Where system prompt and tools leave no room compactions help nobody."""
    choice = choose(80, 500, fixed=40_000)
    assert choice.foreseen >= 1
    assert choice.window not in LADDER


def test_a_recording_too_short_for_a_compaction_gets_a_window_that_holds_it() -> None:
    """And it is told why nothing will happen."""
    choice = choose(3, 100)
    assert (choice.window, choice.foreseen) == (200_000, 0)
    assert "too short" in choice.why


def test_a_recording_whose_prompts_hold_what_is_not_in_it_gets_a_window_for_all() -> None:
    """Compactions cannot help; in the model's window the service would refuse nearly every call."""
    counted = [ModelCall(prefix, prefix + 1, 178_000 + prefix) for prefix in range(1, 10)]
    played = recording(10, CLAUDE, counted)
    choice = choose_window(played, sizes(10, 10, fixed=178_000), POLICY)
    assert choice.window == 300_000
    assert "not in the file" in choice.why


def test_limits_are_those_of_the_policy_it_is_played_under() -> None:
    """The model's window is taken as soon as the policy's limit is met in it."""
    policy = Policy(limit_share=0.2, keep_tokens=2_000)
    played, counted = recording(60, CLAUDE), sizes(60, 1_000)
    assert choose_window(played, counted, policy).window == 200_000
    assert choose_window(played, counted, POLICY).window < 200_000


def test_a_window_is_chosen_by_what_the_provider_counted() -> None:
    """Searches and reasoning fill a prompt without standing in the messages; a small window would never hold it."""
    counted = [ModelCall(prefix, prefix + 1, 4_000 * prefix) for prefix in range(1, 50)]
    choice = choose_window(recording(50, CLAUDE, counted), sizes(50, 1_000), POLICY)
    assert choice.window == 200_000
    assert choice.foreseen >= 1
    assert choose(50, 1_000).window < 100_000


def test_a_window_asked_for_is_taken_as_it_is() -> None:
    """Also one in which nothing ever happens."""
    assert choose(3, 10, None, window=50_000).window == 50_000


def test_a_window_without_room_is_refused() -> None:
    """One token of window cannot hold anything."""
    with pytest.raises(InputRefused, match="no room"):
        choose(3, 10, None, window=1)


def test_reported_tokens_are_scaled_from_the_whole_history_to_the_context() -> None:
    """Fixed 1,000; the provider counted twice our estimate; a context of half the history costs half of that."""
    call = ModelCall(prefix=10, end=11, reported=3_000)
    assert sizes(10, 100, fixed=1_000).reported(call, 500) == 2_000
    assert sizes(10, 100, fixed=1_000).reported(ModelCall(10, 11), 500) is None


def test_usage_measured_on_another_history_is_no_measure() -> None:
    """Before a great drop the counts belong to what was there before a compaction of the agent's own."""
    calls = [
        ModelCall(1, 2, 180_000),
        ModelCall(3, 4, 181_000),
        ModelCall(5, 6, 1_500),
        ModelCall(7, 8, 1_900),
    ]
    found = measure(recording(8, None, calls))
    assert 1_000 < found.fixed < 1_900
    assert found.reported(calls[0], 10) is None
    assert found.reported(calls[2], 10) is not None
