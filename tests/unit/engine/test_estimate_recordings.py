"""The estimate on recorded sessions, with the rates that ship; `make bench-tokens` measures it with rates fitted elsewhere."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from precompact_cli.predictions import FAR_CALLS, follow, foresee
from precompact_shared.engine.estimate import begin
from tests.bench.sized import Session, load_sessions
from tests.bench.tokens import FLOOR_TOKENS, judge
from tests.support.recordings import needs_recordings

pytestmark = [needs_recordings(), pytest.mark.recordings]

Foretell = Callable[[Session, int, int], float]


@pytest.fixture(scope="module")
def sessions() -> list[Session]:
    """Every recording with reported sizes."""
    return load_sessions()


@pytest.fixture(scope="module")
def foretell(sessions: list[Session]) -> Foretell:
    """As the service would: the family's rates, the session's own reports."""
    states = {one.name: follow(one.track, one.rates, begin(one.rates)) for one in sessions}

    def told(session: Session, index: int, ahead: int) -> float:
        size = foresee(session.track, states[session.name], session.rates, index, ahead)
        assert size is not None
        return size.tokens

    return told


def named(sessions: list[Session], name: str) -> Session:
    """The one recording."""
    return next(one for one in sessions if one.name == name)


def test_sizes_ten_calls_ahead_are_met(sessions: list[Session], foretell: Foretell) -> None:
    """Relative to the growth, in every family: half within 8 %, nineteen in twenty within 25 %."""
    judged = judge(sessions, foretell, FLOOR_TOKENS, clean=True)["ten_ahead"]
    assert judged["pooled"]["n"] > 1_500
    assert len(judged) == 5
    for found in judged.values():
        assert found["median_percent"] <= 8
        assert found["p95_percent"] <= 25


def test_the_next_calls_size_is_met(sessions: list[Session], foretell: Foretell) -> None:
    """Relative to the total, cuts and searches included: half within 0.15 %, nineteen in twenty within 1.5 %."""
    found = judge(sessions, foretell, FLOOR_TOKENS, clean=False)["next"]["pooled"]
    assert found["n"] > 2_000
    assert found["median_percent"] <= 0.15
    assert found["p95_percent"] <= 1.5


def test_usage_from_before_a_compaction_poisons_nothing(sessions: list[Session], foretell: Foretell) -> None:
    """pi: 38 replies keep sizes of up to 184,915 measured before the compaction; the next call says 28,617."""
    session = named(sessions, "pi--before-compaction__post-compaction")
    cut = next(index for index in session.steps() if session.falls(index) == "compaction")
    assert (session.measured(cut), session.measured(cut + 1)) == (184_915, 28_617)
    for index in range(cut + 1, len(session.track.reports) - FAR_CALLS):
        for ahead in (1, FAR_CALLS):
            measured = session.measured(index + ahead)
            assert abs(foretell(session, index, ahead) - measured) < 0.08 * measured


@pytest.mark.parametrize("name", ["claude-code--kimi-zh-small", "claude-code--kimi-zh-sonnet"])
def test_chinese_sessions_are_met(sessions: list[Session], foretell: Foretell, name: str) -> None:
    """Half of the next calls within 0.3 % of the prompt, and of the growths within 15 %."""
    session = named(sessions, name)
    found = judge([session], foretell, FLOOR_TOKENS, clean=True)
    assert found["next"]["pooled"]["median_percent"] <= 0.3
    assert found["ten_ahead"]["pooled"]["median_percent"] <= 15


def test_a_recorded_image_is_met(sessions: list[Session], foretell: Foretell) -> None:
    """410,000 characters of base64 were 2,038 tokens, with the text beside them."""
    session = named(sessions, "claude-code--packmind-compact-image__pre-compaction")
    index = next(one for one in session.steps() if session.track.between(one, one + 1).total.images)
    grown = foretell(session, index, 1) - session.measured(index)
    assert abs(grown - 2_038) < 200
