"""What the service says of a prompt's size, against what the provider reported of it afterwards."""

from __future__ import annotations

import itertools
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from redis import Redis

from precompact_cli.predictions import follow, foresee
from precompact_shared.engine.estimate import begin
from tests.bench.sized import Session, load_sessions
from tests.support import tally
from tests.support.recordings import needs_recordings
from tests.support.service import ApiProcess, service_for
from tests.support.sized_talk import SizedTalk

pytestmark = [pytest.mark.recordings, needs_recordings()]

_numbers = itertools.count()
REACH_MEDIAN, REACH_P95 = 0.0015, 0.015


@dataclass(frozen=True)
class Foretold:
    """What the service said before each reported call of a recording."""

    session: Session
    contexts: Sequence[dict[str, Any]]

    def errors(self) -> list[float]:
        """Of the next call, relative to its prompt, where the entries can tell it at all."""
        return [
            abs(self.contexts[index + 1]["tokens"] - self.session.measured(index + 1))
            / self.session.measured(index + 1)
            for index in self.session.steps()
            if self.session.unforetold(index, 1) is None
        ]


@pytest.fixture(scope="module")
def foretold(api_process: ApiProcess, redis_url: str) -> list[Foretold]:
    """Every recording with two reports or more, each a session of its own and of a tenant of its own."""
    with Redis.from_url(redis_url) as client:
        return [_foretold(api_process, client, one) for one in load_sessions()]


def _foretold(api: ApiProcess, client: Redis, session: Session) -> Foretold:
    service = service_for(api, client, f"sizes-{os.getpid()}-{next(_numbers)}")
    with service.client() as http:
        return Foretold(session, SizedTalk(http, "s", session.recording, session.track).play())


def test_the_next_prompt_is_foretold_within_reach(foretold: list[Foretold]) -> None:
    """Median and 95th percentile over all recordings, relative to the whole prompt."""
    errors = sorted(error for one in foretold for error in one.errors())
    tally.count("sizes: recordings through the service", len(foretold))
    tally.count("sizes: prompts foretold", len(errors))
    median, p95 = (errors[int(share * len(errors))] for share in (0.5, 0.95))
    tally.remark(
        f"sizes: error of the next prompt, of the total: median {median:.3%}, 95th percentile {p95:.2%}"
    )
    assert median <= REACH_MEDIAN
    assert p95 <= REACH_P95


def test_the_store_says_what_the_estimate_says_offline(foretold: list[Foretold]) -> None:
    """But for rounding, for calls that nobody answers (they get an answer here) and for messages a client only shows."""
    apart, calls = 0, 0
    for one in foretold:
        session = one.session
        if any(report.inner_calls for report in session.track.reports):
            continue
        states = follow(session.track, session.rates, begin(session.rates))
        for index in session.steps():
            size = foresee(session.track, states, session.rates, index, 1)
            assert size is not None
            calls += 1
            apart += abs(size.tokens - one.contexts[index + 1]["tokens"]) > max(5, size.tokens / 5_000)
    assert calls > 1_000
    assert apart <= calls / 50


def test_a_size_says_what_it_rests_on(foretold: list[Foretold]) -> None:
    """Unknown is said to be unknown: before the first report there is no telling how far off the size is."""
    for one in foretold:
        first, *later = one.contexts
        assert (first["source"], first["spread"]) == ("estimate", None)
        for index, context in enumerate(later):
            if not one.session.track.reports[index].inner_calls:
                assert context["source"] == "usage"
                assert context["spread"] >= 0
            assert context["tokens"] >= 0


def test_nine_in_ten_truths_lie_within_the_stated_spread(foretold: list[Foretold]) -> None:
    """Or the spread would promise too much."""
    inside = [
        abs(one.contexts[index + 1]["tokens"] - one.session.measured(index + 1))
        <= one.contexts[index + 1]["spread"]
        for one in foretold
        for index in one.session.steps()
        if one.session.unforetold(index, 1) is None
    ]
    assert sum(inside) >= 0.9 * len(inside)
