"""One conversation in two forms."""

from __future__ import annotations

from precompact_cli.recording import read_recording
from precompact_cli.restating import MODEL, as_responses
from precompact_cli.sample import SESSION
from precompact_shared.engine.formats import facts
from precompact_shared.engine.pairing import pair_facts
from precompact_shared.engine.types import Format
from precompact_shared.engine.validate import Severity, validate


def test_the_sample_in_openais_words_is_the_same_session() -> None:
    """Every call has its result, session time is the same, no rule is broken, and each model call sees what it saw."""
    told = read_recording(SESSION)
    restated = as_responses(told)
    assert (restated.format, restated.model) == (Format.OPENAI_RESPONSES, MODEL)
    known = [facts(restated.format, item) for item in restated.messages]
    assert not pair_facts(restated.format, known).open
    broken = validate(restated.format, list(restated.messages))
    assert [one for one in broken if one.severity is not Severity.WARNING] == []
    assert restated.pace.total_s == told.pace.total_s
    assert len(restated.pace.gaps_s) == len(restated.messages)
    for call, before in zip(restated.calls, told.calls, strict=True):
        seen = (restated.pace.between(0, call.prefix), told.pace.between(0, before.prefix))
        assert seen[0] == seen[1]
        assert known[call.prefix - 1].role == facts(told.format, told.messages[before.prefix - 1]).role
        assert call.reported == before.reported
    assert restated.calls[-1].end == len(restated.messages)


def test_parallel_calls_and_their_results_stay_in_order() -> None:
    """One message with two calls becomes two items, and so do their results."""
    told = read_recording(SESSION)
    calls = [part["id"] for one in told.messages for part in one["content"] if part["type"] == "tool_use"]
    items = as_responses(told).messages
    assert [item["call_id"] for item in items if item["type"] == "function_call"] == calls
    assert sorted(item["call_id"] for item in items if item["type"] == "function_call_output") == sorted(
        calls
    )
