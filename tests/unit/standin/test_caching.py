"""The accounting of one prompt against the cache, as tables."""

from __future__ import annotations

import pytest

from precompact_standin.caching import TTL_S, CachePlan, Piece, Place, PromptCache, fingerprint
from precompact_standin.scenario import CacheLies


class Hand:
    """A clock moved by hand."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        """Seconds."""
        return self.now


def prompt(text: str, marks: dict[int, str] | None = None, tokens: int = 100) -> list[Piece]:
    """A piece per letter; `marks` are breakpoints by index."""
    marks = marks or {}
    return [Piece(fingerprint(letter), tokens, marks.get(at, "")) for at, letter in enumerate(text)]


PLACE = Place(b"w", min_tokens=200)


def served(cache: PromptCache, pieces: list[Piece], place: Place = PLACE) -> CachePlan:
    """Look up and begin the reply."""
    plan = cache.look_up(pieces, place)
    cache.commit(plan)
    return plan


@pytest.mark.parametrize(
    ("first", "second", "read", "written", "uncached"),
    [
        (prompt("abcd", {3: "5m"}), prompt("abcd", {3: "5m"}), 400, 0, 0),
        (prompt("abcd", {3: "5m"}), prompt("abcdef", {5: "5m"}), 400, 200, 0),
        (prompt("abcd", {3: "5m"}), prompt("abcdef"), 0, 0, 600),
        (prompt("abcd", {1: "5m", 3: "5m"}), prompt("abxy", {1: "5m", 3: "5m"}), 200, 200, 0),
        (prompt("abcd", {3: "5m"}), prompt("abxy", {3: "5m"}), 0, 400, 0),
        (prompt("ab", {0: "5m"}), prompt("ab", {0: "5m"}), 0, 0, 200),
        (prompt("abcd", {1: "1h", 2: "5m"}), prompt("abcd", {1: "1h"}), 200, 0, 200),
    ],
)
def test_tokens_are_read_written_or_paid_in_full(
    first: list[Piece], second: list[Piece], read: int, written: int, uncached: int
) -> None:
    """The three always add up."""
    cache = PromptCache(Hand(), CacheLies())
    served(cache, first)
    plan = served(cache, second)
    assert (plan.read, plan.written, plan.uncached) == (read, written, uncached)
    assert plan.read + plan.written + plan.uncached == plan.total


def test_writes_are_split_by_lifetime() -> None:
    """Up to the last 1h mark, then up to the 5m mark."""
    plan = PromptCache(Hand(), CacheLies()).look_up(prompt("abcdef", {2: "1h", 4: "5m"}), PLACE)
    assert (dict(plan.writes), plan.uncached) == ({"1h": 300, "5m": 200}, 100)


def test_a_mark_too_early_passes_its_tokens_on() -> None:
    """What is below the least size is written with the next mark."""
    plan = PromptCache(Hand(), CacheLies()).look_up(prompt("abc", {0: "5m", 2: "5m"}), PLACE)
    assert dict(plan.writes) == {"5m": 300}


def test_nothing_is_stored_before_the_reply_begins() -> None:
    """Two look-ups without a commit both write."""
    cache = PromptCache(Hand(), CacheLies())
    pieces = prompt("abcd", {3: "5m"})
    plans = [cache.look_up(pieces, PLACE) for _ in range(2)]
    assert [plan.written for plan in plans] == [400, 400]


@pytest.mark.parametrize("ttl", sorted(TTL_S))
def test_an_entry_dies_at_its_time_and_not_before(ttl: str) -> None:
    """To the second; a hit starts it anew."""
    clock = Hand()
    cache = PromptCache(clock, CacheLies())
    pieces = prompt("abcd", {3: ttl})
    served(cache, pieces)
    for _ in range(2):
        clock.now += TTL_S[ttl] - 1
        assert served(cache, pieces).read == 400
    clock.now += TTL_S[ttl]
    assert served(cache, pieces).read == 0


def test_a_later_hit_renews_the_earlier_breakpoints_too() -> None:
    """They are part of the prefix that was used."""
    clock = Hand()
    cache = PromptCache(clock, CacheLies())
    both, early = prompt("abcd", {1: "5m", 3: "5m"}), prompt("abxx", {1: "5m"})
    served(cache, both)
    for _ in range(2):
        clock.now += 200
        served(cache, both)
    assert served(cache, early).read == 200


@pytest.mark.parametrize(("steps", "read"), [(20, 400), (21, 0)])
def test_a_mark_looks_back_20_pieces(steps: int, read: int) -> None:
    """And not one more."""
    cache = PromptCache(Hand(), CacheLies())
    served(cache, prompt("abcd", {3: "5m"}))
    longer = prompt("abcd" + "z" * steps, {3 + steps: "5m"})
    assert served(cache, longer).read == read


def test_without_a_limit_it_looks_back_to_the_begin() -> None:
    """As OpenAI's does; with every piece stored, any common beginning is read."""
    cache = PromptCache(Hand(), CacheLies())
    place = Place(b"w", 200, look_back=None, every_piece=True)
    served(cache, prompt("abcdefgh", {7: "in_memory"}), place)
    assert served(cache, prompt("abcde" + "z" * 50, {54: "in_memory"}), place).read == 500


def test_seeds_divide() -> None:
    """Another workspace or model sees nothing."""
    cache = PromptCache(Hand(), CacheLies())
    pieces = prompt("abcd", {3: "5m"})
    served(cache, pieces)
    assert served(cache, pieces, Place(b"x", 200)).read == 0
