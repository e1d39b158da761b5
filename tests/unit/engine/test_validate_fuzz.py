"""Spoiled recordings: whatever was dropped, doubled, swapped or replaced, the validator answers, and soon."""

from __future__ import annotations

import json
import random
import timeit
import tracemalloc
from time import process_time
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from precompact_shared.engine.types import Format
from precompact_shared.engine.validate import CHECKS, RequestFacts, Violation, validate
from tests.support.recordings import Recording, needs_recordings, recordings
from tests.support.spoiling import BYTES_PER_CASE, SECONDS_PER_CASE, WINDOW, alter, spoiled, text_of

EVERY_FACT = RequestFacts(
    model="claude-opus-5-5",
    api_version="2026-10-21",
    betas=frozenset(),
    compacting=False,
    thinking="enabled",
    block_mismatch="error",
    system=({"type": "text", "text": "x"},),
    tools=({"name": "t"},),
    automatic_mark=True,
    normalized=True,
    summary_at=1,
    covered=frozenset({"x"}),
    received=({"type": "compaction", "content": [{"type": "thinking", "signature": "x"}]},),
    compaction_model="claude-5",
    compaction_organization="ours",
    organization="theirs",
    store=False,
    previous_response_id="resp_1",
    conversation="conv_1",
    chain_item_ids=frozenset({"x"}),
    chain_call_ids=frozenset({"x"}),
    compact_output=({"type": "compaction"},),
    server_compaction=True,
    alternating_roles=True,
)


def judge(wire: Format, messages: list[Any]) -> None:
    """The validator answers with known rules and real indexes, with every fact and with none."""
    ids = {"F0", *(check.id for check in CHECKS[wire])}
    for request in (None, EVERY_FACT):
        answer: tuple[Violation, ...] = ()

        def ask(request: RequestFacts | None = request) -> None:
            nonlocal answer
            answer = validate(wire, messages, request=request)

        assert timeit.timeit(ask, number=1, timer=process_time) < SECONDS_PER_CASE
        assert all(one.id in ids and -1 <= one.index < max(1, len(messages)) for one in answer)


@pytest.mark.recordings
@needs_recordings()
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("recording", recordings()[::4], ids=lambda one: str(one.name))
def test_spoiled_recordings_are_judged(recording: Recording, seed: int) -> None:
    """A fixed few of them."""
    for times in (1, 4, 20):
        judge(*spoiled(recording, seed * 100 + times, times))


@pytest.mark.slow
@pytest.mark.recordings
@needs_recordings()
@settings(max_examples=5_000, deadline=None, suppress_health_check=list(HealthCheck))
@given(at=st.integers(0, 96), seed=st.integers(0, 2**32), times=st.integers(1, 40))
def test_many_spoiled_recordings_are_judged(at: int, seed: int, times: int) -> None:
    """Of every recording."""
    judge(*spoiled(recordings()[at], seed, times))


@pytest.mark.slow
@pytest.mark.recordings
@needs_recordings()
@pytest.mark.parametrize("recording", recordings(), ids=lambda one: str(one.name))
def test_judging_a_recording_needs_little_memory(recording: Recording) -> None:
    """The whole of it, spoiled in ten places."""
    wire, text = text_of(recording)
    messages, chance = json.loads(text), random.Random(recording.name)
    donors = [json.dumps(message) for message in messages[:WINDOW]]
    for _ in range(10):
        alter(chance, messages, donors)
    tracemalloc.start()
    try:
        judge(wire, messages)
        assert tracemalloc.get_traced_memory()[1] < BYTES_PER_CASE
    finally:
        tracemalloc.stop()
