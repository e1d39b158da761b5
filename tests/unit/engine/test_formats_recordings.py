"""Every recorded message is understood."""

from __future__ import annotations

import pytest

from precompact_shared.engine.formats import facts, plain_text, result_text, text_of_user
from precompact_shared.engine.identity import canonical, digest
from precompact_shared.engine.pairing import pair
from precompact_shared.engine.tokens import count_message
from precompact_shared.engine.types import Format, Role
from tests.support.histories import entries_of
from tests.support.recordings import Recording, needs_recordings, recordings

pytestmark = [pytest.mark.recordings, needs_recordings()]


@pytest.mark.parametrize("recording", recordings(), ids=lambda recording: str(recording.name))
def test_every_recorded_message_is_understood(recording: Recording) -> None:
    """Facts, transcript, identity and tokens of each, and no part of it unknown."""
    content = recording.load()
    wire = Format(content["format"])
    for message in content["messages"]:
        known = facts(wire, message)
        assert known.role is not Role.OTHER or message["type"] == "mcp_list_tools"
        assert isinstance(plain_text(wire, message), str)
        assert bool(text_of_user(wire, message).strip()) <= known.user_turn
        for result in known.results:
            result_text(wire, message, result)
        assert len(digest(canonical(wire, message), b"key")) == 64
        assert count_message(wire, message, content["model"]) >= 1


@pytest.mark.parametrize("recording", recordings(), ids=lambda recording: str(recording.name))
def test_recorded_calls_and_results_are_tied_as_often_as_listed(recording: Recording) -> None:
    """Every result has its owner, but for the two that lost their head."""
    content = recording.load()
    pairing = pair(Format(content["format"]), entries_of(content["messages"]))
    headless = {"claude-code--cli-compact-orphan__pre-compaction", "claude-code--cli-dangling-orphan"}
    assert len(pairing.orphans) == (recording.name in headless)
