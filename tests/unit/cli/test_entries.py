"""Sizes that `inspect` shows are those with which the service would count the same messages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from precompact_api.ingest import weighed
from precompact_cli.entries import Entries
from precompact_cli.recording import read_recording
from precompact_cli.weighing import Sort, share_out, weigh_recording
from precompact_shared.engine.estimate import load_of, rates_of
from precompact_shared.engine.formats import facts
from precompact_shared.engine.types import Format
from tests.support.recordings import Recording, needs_recordings, recordings
from tests.unit.cli.conversations import agent_session, chat_session, responses_session, write

SMALL_BYTES = 120_000
SOME = [one for one in recordings() if one.path.stat().st_size < SMALL_BYTES]


@pytest.mark.recordings
@needs_recordings()
@pytest.mark.parametrize("one", SOME, ids=lambda one: one.name)
def test_every_entry_is_as_large_as_the_service_says(one: Recording) -> None:
    """One measure; and the kinds add up to it."""
    body = one.load()
    recording = read_recording(one.path)
    entries = Entries(recording)
    wire, model = Format(body["format"]), body.get("model")
    told = [weighed(wire, model, message, facts(wire, message))[0] for message in body["messages"]]
    assert list(entries.sizes) == told
    weights = weigh_recording(recording, entries, [], None)
    assert sum(weights.by_sort.values()) == weights.total
    assert weights.total - weights.by_sort.get(Sort.SYSTEM, 0) <= sum(told)


@pytest.mark.parametrize(
    ("wire", "messages"),
    [
        ("anthropic", agent_session(3)),
        ("openai-chat", chat_session(3)),
        ("openai-responses", responses_session(3)),
    ],
)
def test_the_same_session_has_the_same_kinds_in_every_format(
    wire: str, messages: list[dict[str, Any]], tmp_path: Path
) -> None:
    """However its parts are laid out."""
    recording = read_recording(write(tmp_path / "a.json", {"format": wire, "messages": messages}))
    kinds = weigh_recording(recording, Entries(recording), [], None).by_sort
    assert set(kinds) == {Sort.RESULTS, Sort.ARGUMENTS, Sort.USER, Sort.ASSISTANT}


@pytest.mark.parametrize(
    ("message", "sort"),
    [
        ({"role": "assistant", "content": ""}, Sort.ASSISTANT),
        ({"role": "tool", "tool_call_id": "c", "content": ""}, Sort.RESULTS),
        ({"role": "user", "content": ""}, Sort.USER),
    ],
)
def test_an_empty_entry_has_the_kind_of_whoever_sent_it(message: dict[str, Any], sort: Sort) -> None:
    """It still costs one token."""
    rates, piece = rates_of(Format.OPENAI_CHAT, None), load_of(Format.OPENAI_CHAT, message)
    assert share_out(rates, piece, 1, given=Sort.USER) == {sort: 1}


def test_thinking_whose_text_is_withheld_counts_as_thinking() -> None:
    """Its signature grows with it, and newer models send nothing else."""
    thinking = {"type": "thinking", "thinking": "", "signature": "x" * 4_000}
    message = {"role": "assistant", "content": [thinking, {"type": "text", "text": "Done."}]}
    rates, piece = rates_of(Format.ANTHROPIC, "claude-opus-4-7"), load_of(Format.ANTHROPIC, message)
    share = share_out(rates, piece, 1_100, given=Sort.USER)
    assert share[Sort.THINKING] > 1_000
    assert sum(share.values()) == 1_100
