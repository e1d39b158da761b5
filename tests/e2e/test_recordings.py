"""Every recorded conversation goes through the whole service, call by call, and comes out whole and valid."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from tests.e2e.replay import Played, play, read_script
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


def test_compactions_happened(
    played: Mapping[str, Future[Played]], capsys: pytest.CaptureFixture[str]
) -> None:
    """A run without compactions would prove nothing."""
    outcomes = [future.result() for future in played.values()]
    statuses = sum((outcome.statuses for outcome in outcomes), Counter[str]())
    compactions = sum(outcome.compactions for outcome in outcomes)
    contexts = sum(outcome.contexts for outcome in outcomes)
    with capsys.disabled():
        print(f"\nrecordings played: {len(outcomes)}, contexts: {contexts}, compactions: {compactions}")  # noqa: T201
        print(f"statuses: {dict(sorted(statuses.items()))}")  # noqa: T201
    assert compactions >= sum(outcome.script.must_compact for outcome in outcomes) > 0
