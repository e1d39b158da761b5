"""Spoiled recordings: whatever was dropped, doubled, swapped or replaced, the validator answers, and soon."""

from __future__ import annotations

import json
import random
import timeit
import tracemalloc
from collections.abc import Callable
from functools import lru_cache
from time import process_time
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from precompact_shared.engine.types import Format
from precompact_shared.engine.validate import CHECKS, RequestFacts, Violation, validate
from tests.support.recordings import Recording, needs_recordings, recordings

SECONDS_PER_CASE = 10
BYTES_PER_CASE = 200_000_000
WINDOW = 60
"""Messages of a recording that are spoiled at a time."""

STRANGE: tuple[Callable[[], Any], ...] = (
    lambda: None,
    lambda: True,
    lambda: -1,
    lambda: 10**400,
    lambda: 1e308,
    lambda: "",
    lambda: "\ud800",
    lambda: " \n",
    list,
    dict,
    lambda: [[]],
    lambda: [{}],
    lambda: [{"type": []}],
    lambda: {"type": "text"},
    lambda: {"type": "tool_use"},
    lambda: {"type": "compaction", "signature": []},
    lambda: {"role": {"role": "user"}},
)
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


def nested(levels: int) -> Any:
    """A list in a list in a list."""
    value: Any = "deep"
    for _ in range(levels):
        value = [value]
    return value


def drop(chance: random.Random, messages: list[Any], donors: list[str]) -> None:
    """One message less."""
    messages.pop(chance.randrange(len(messages)))


def double(chance: random.Random, messages: list[Any], donors: list[str]) -> None:
    """One message once more, anywhere."""
    messages.insert(chance.randrange(len(messages) + 1), json.loads(chance.choice(donors)))


def swap(chance: random.Random, messages: list[Any], donors: list[str]) -> None:
    """Two messages change places."""
    one, other = chance.randrange(len(messages)), chance.randrange(len(messages))
    messages[one], messages[other] = messages[other], messages[one]


def alter(chance: random.Random, messages: list[Any], donors: list[str]) -> None:
    """Anything inside a message becomes something else, moves, goes or gets a neighbour."""
    owner: Any = messages
    key: Any = chance.randrange(len(messages))
    while isinstance(owner[key], (dict, list)) and owner[key] and chance.random() < 0.75:
        owner = owner[key]
        key = chance.choice(list(owner)) if isinstance(owner, dict) else chance.randrange(len(owner))
    match chance.randrange(4):
        case 0:
            owner[key] = chance.choice(STRANGE)()
        case 1:
            owner[key] = nested(chance.choice((3, 200, 5_000)))
        case 2 if len(owner) > 1:
            del owner[key]
        case _:
            owner[key] = json.loads(chance.choice(donors))


WAYS: tuple[Callable[[random.Random, list[Any], list[str]], None], ...] = (
    drop,
    double,
    swap,
    alter,
    alter,
    alter,
)


@lru_cache(maxsize=128)
def text_of(recording: Recording) -> tuple[Format, str]:
    """The format and the messages as JSON, so that every case spoils its own copy."""
    content = recording.load()
    return Format(content["format"]), json.dumps(content["messages"])


def spoiled(recording: Recording, seed: int, times: int) -> tuple[Format, list[Any]]:
    """A stretch of the recording, spoiled that many times."""
    chance = random.Random(seed)
    wire, text = text_of(recording)
    messages = json.loads(text)
    start = chance.randrange(len(messages))
    messages = messages[start : start + WINDOW]
    donors = [json.dumps(message) for message in messages]
    for _ in range(times):
        if messages:
            chance.choice(WAYS)(chance, messages, donors)
    return wire, messages


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
