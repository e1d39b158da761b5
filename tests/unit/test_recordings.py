"""The rules around recorded conversations: skipped without them, a failure when skipped with them, counted."""

from __future__ import annotations

import pytest

from tests.support import recordings as recorded

pytest_plugins = ["pytester"]

SKIPS_ITSELF = """
import pytest

@pytest.mark.recordings
def test_skips_itself():
    pytest.skip("not today")
"""


@pytest.mark.recordings
@recorded.needs_recordings()
def test_every_recording_names_its_format_and_has_messages() -> None:
    """What the tests of other parts rely on."""
    found = recorded.recordings()
    assert found
    for recording in found:
        content = recording.load()
        assert content["format"] in {"anthropic", "openai-chat", "openai-responses"}
        assert content["messages"]


@pytest.mark.recordings
@recorded.needs_recordings()
def test_cases_are_found_by_their_prefix() -> None:
    """The race cases are a family of their own."""
    races = recorded.cases("race-")
    assert races
    assert all(case.name.startswith("race-") and case.load() for case in races)


@pytest.mark.parametrize(("present", "outcome"), [(True, {"failed": 1}), (False, {"skipped": 1})])
def test_a_skip_is_a_failure_only_when_the_recordings_are_there(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, present: bool, outcome: dict[str, int]
) -> None:
    """Nobody may think that 97 files were played when none was."""
    monkeypatch.setattr(recorded, "data_dir", lambda: pytester.path if present else None)
    pytester.makeconftest("from tests.conftest import pytest_runtest_makereport, pytest_terminal_summary")
    pytester.makeini("[pytest]\nmarkers =\n  recordings: as in the real run\n")
    pytester.makepyfile(SKIPS_ITSELF)
    result = pytester.runpytest_inprocess("-p", "no:valkey", "-p", "no:celery", "-p", "no:asyncio")
    result.assert_outcomes(**outcome)
    result.stdout.fnmatch_lines(["recordings used: *"])
