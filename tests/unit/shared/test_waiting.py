"""The waiting helper waits no longer than it must and says what did not happen."""

from __future__ import annotations

import pytest

from tests.support.waiting import eventually, eventually_async


def test_the_value_is_returned_as_soon_as_it_is_there() -> None:
    """Third look succeeds."""
    looks = iter([None, 0, "there"])
    assert eventually(lambda: next(looks), 5, "the value") == "there"


def test_a_passed_deadline_names_what_was_waited_for() -> None:
    """The failure reads as a sentence."""
    with pytest.raises(AssertionError, match=r"the moon did not come true within 0.02 s; last seen: \[\]"):
        eventually(list, 0.02, "the moon")


async def test_a_coroutine_can_be_waited_for_too() -> None:
    """Same promise, same failure."""
    looks = iter([False, True])

    async def look() -> bool:
        return next(looks)

    async def never() -> bool:
        return False

    assert await eventually_async(look, 5, "the value")
    with pytest.raises(AssertionError, match="the moon"):
        await eventually_async(never, 0.02, "the moon")
