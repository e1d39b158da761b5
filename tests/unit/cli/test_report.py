"""The line of figures."""

from __future__ import annotations

from pathlib import Path

import pytest

from precompact.context import Status
from precompact_cli.playing import Outcome
from precompact_cli.recording import read_recording
from precompact_cli.report import percentile, report
from precompact_shared.engine.validate import Severity, Violation
from tests.unit.cli.conversations import agent_session, write_session

KEYS = (
    "session format window entries model_calls compactions adopted waited reduced discarded stall_ms_p99 "
    "prepare_ms_p50 prepare_ms_p99 tokens_before tokens_after history_version speedup summariser_s lost doubled valid"
)


def test_the_line_has_exactly_the_promised_keys_in_order(tmp_path: Path) -> None:
    """Compactions are adopted, waited and reduced together."""
    recording = read_recording(write_session(tmp_path / "a.json", agent_session(2)))
    statuses = [Status.FITS, Status.ADOPTED, Status.WAITED, Status.REDUCED, Status.ADOPTED]
    outcome = Outcome(calls=5, statuses=statuses, prepares_ms=[1, 2, 3], stalls_ms=[0, 900])
    line = report(
        recording, outcome, session="s", window=100, speed=40, summariser_s=20, discarded={"expired": 1}
    )
    assert list(line) == KEYS.split()
    assert (line["compactions"], line["adopted"], line["waited"], line["reduced"]) == (4, 2, 1, 1)
    assert (line["stall_ms_p99"], line["prepare_ms_p50"], line["valid"]) == (900, 2, True)


def test_one_broken_context_makes_the_play_invalid() -> None:
    """Whatever call it was handed out for."""
    assert not Outcome(violations=[(3, Violation("A6", Severity.ERROR, 1))]).is_valid


@pytest.mark.parametrize(("share", "expected"), [(50, 50), (99, 99), (100, 100), (1, 1)])
def test_percentiles_are_nearest_rank(share: int, expected: float) -> None:
    """Of the numbers 1 to 100."""
    assert percentile(range(1, 101), share) == expected


def test_a_percentile_of_nothing_is_nothing() -> None:
    """No model call, no stall."""
    assert percentile([], 99) == 0
