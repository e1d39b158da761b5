"""Every recorded conversation goes through the whole service, call by call, and comes out whole and valid."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from tests.e2e.replay import Played, play, read_script
from tests.support import tally
from tests.support.recordings import Recording, needs_recordings, recordings
from tests.support.stack import Stack

pytestmark = [pytest.mark.recordings, pytest.mark.process, needs_recordings()]

AT_ONCE = 4
ALL = {recording.name: recording for recording in recordings()}


NAMES = sorted(ALL)


@pytest.fixture(scope="module")
def played(stack: Stack, request: pytest.FixtureRequest) -> Iterator[Mapping[str, Future[Played]]]:
    """The play of every recording that this run has collected, several at a time."""
    wanted = [
        str(item.callspec.params["name"])
        for item in request.session.items
        if isinstance(item, pytest.Function) and item.module is request.module and hasattr(item, "callspec")
    ]
    largest_first = sorted(wanted, key=lambda name: -ALL[name].path.stat().st_size)
    with ThreadPoolExecutor(AT_ONCE, "play") as pool:
        yield {
            name: pool.submit(_play, stack, ALL[name], stack.api_urls[number % len(stack.api_urls)])
            for number, name in enumerate(largest_first)
        }
        pool.shutdown(cancel_futures=True)


def _play(stack: Stack, recording: Recording, base_url: str) -> Played:
    script = read_script(recording.load())
    _, key = stack.new_tenant(script.policy)
    return play(script, base_url, key)


@pytest.mark.parametrize("name", NAMES)
def test_a_recording_comes_out_whole_and_valid(name: str, played: Mapping[str, Future[Played]]) -> None:
    """Each context is valid, each entry is in it or covered, and the history reads back as it was sent."""
    outcome = played[name].result()
    assert not outcome.faults, "\n".join(outcome.faults[:20])
    assert outcome.compactions or not outcome.script.must_compact, f"no compaction: {dict(outcome.statuses)}"


def test_compactions_happened(played: Mapping[str, Future[Played]]) -> None:
    """A run without compactions would prove nothing; the run's last lines tell how many there were."""
    outcomes = [future.result() for future in played.values()]
    for outcome in outcomes:
        tally.count("recordings: contexts checked", outcome.contexts)
        tally.count("recordings: compactions", outcome.compactions)
        for status, number in outcome.statuses.items():
            tally.count(f"recordings: contexts {status}", number)
    compactions = sum(outcome.compactions for outcome in outcomes)
    assert compactions >= sum(outcome.script.must_compact for outcome in outcomes)
