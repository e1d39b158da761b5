"""What one process remembers, and for how long."""

from __future__ import annotations

from precompact_api.caches import Aging, Recent


def test_values_age() -> None:
    """After their time they are asked for again."""
    now = [0.0]
    aging: Aging[str, int] = Aging(3.0, 10, lambda: now[0])
    aging.put("a", 1)
    now[0] = 3.0
    assert aging.get("a") == 1
    now[0] = 3.1
    assert aging.get("a") is None


def test_an_aging_cache_is_bounded() -> None:
    """The oldest go first."""
    aging: Aging[int, int] = Aging(3.0, 2, lambda: 0.0)
    for number in range(4):
        aging.put(number, number)
    assert [aging.get(number) for number in range(4)] == [None, None, 2, 3]


def test_the_values_used_last_are_kept_within_their_weight() -> None:
    """Reading counts as use; one value larger than everything is kept until the next."""
    recent: Recent[str, int] = Recent(10)
    recent.put("a", 1, 5)
    recent.put("b", 2, 5)
    assert recent.get("a") == 1
    recent.put("c", 3, 5)
    assert (recent.get("a"), recent.get("b"), recent.get("c")) == (1, None, 3)
    recent.put("d", 4, 99)
    assert (recent.get("a"), recent.get("c"), recent.get("d")) == (None, None, 4)
    recent.forget("d")
    recent.put("e", 5, 10)
    assert recent.get("e") == 5
