"""Spoiled recordings through the whole engine: a clear error or a valid result, soon and in little memory."""

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

from precompact_shared.engine.clearing import Clearing, plan_clearing
from precompact_shared.engine.cut import Skip, safe_cuts
from precompact_shared.engine.edits import apply_context, edit_from_json, edit_to_json
from precompact_shared.engine.formats import InvalidEntry, facts, plain_text
from precompact_shared.engine.identity import canonical, digest
from precompact_shared.engine.pairing import pair
from precompact_shared.engine.preset import Preset, load_preset, preset_names
from precompact_shared.engine.projection import context_edits, pinned_entries, render_insert
from precompact_shared.engine.summary import spoken
from precompact_shared.engine.tokens import count_message
from precompact_shared.engine.types import Entry, Format
from precompact_shared.engine.validate import ERRORS, validate
from tests.support.recordings import Recording, needs_recordings, recordings
from tests.support.spoiling import BYTES_PER_CASE, SECONDS_PER_CASE, WINDOW, alter, spoiled, text_of
from tests.unit.engine.presets.compaction import Compacted, compact

PRESETS = [load_preset(name) for name in preset_names()]
CLEAR_CODES = {None, "not_an_object", "missing", "wrong_type", "unknown_role"}


def accepted(wire: Format, messages: list[Any]) -> list[Entry]:
    """What the service would store: each message is refused with a code and a path, or read, counted and known."""
    taken: list[Any] = []
    for message in messages:
        known = digest(canonical(wire, message), b"key")
        assert known == digest(canonical(wire, message), b"key")
        code = refused(wire, message)
        assert code in CLEAR_CODES
        if code is None:
            plain_text(wire, message)
            taken.append(message)
    return [Entry(seq, one, count_message(wire, one, None)) for seq, one in enumerate(taken)]


def refused(wire: Format, message: Any) -> str | None:
    """Why it is no message of the format; None if it is one."""
    try:
        facts(wire, message)
    except InvalidEntry as error:
        return error.code
    return None


def project(wire: Format, entries: list[Entry], preset: Preset, *, keep: int) -> None:
    """Cut, clear and put back. A rule that the history keeps its projection keeps as well."""
    messages = [entry.message for entry in entries]
    allowed = {one.id for one in validate(wire, messages, rules=ERRORS, open_end_ok=True)}
    safe = safe_cuts(wire, entries)
    pair(wire, entries)
    spoken(wire, entries, preset.summary)
    found = compact(preset, wire, entries, keep_tokens=keep)
    if isinstance(found, Compacted):
        assert found.cut.upto in safe
        check(wire, found.context, allowed)
        edits = [edit_from_json(json.loads(json.dumps(edit_to_json(edit)))) for edit in found.edits]
        assert apply_context(messages, found.insert, found.cut.upto, edits) == found.context
    else:
        assert isinstance(found, str | Skip)
    for position in safe[1 :: max(1, len(safe) // 3)]:
        insert = render_insert(
            wire,
            preset,
            "what was said",
            pinned_entries(wire, entries[:position]),
            covered=entries[:position],
        )
        behind = context_edits(wire, entries[position:], preset)
        check(wire, apply_context(messages, insert, position, behind), allowed)
    plan = plan_clearing(wire, entries, preset.clearing)
    if isinstance(plan, Clearing):
        check(wire, apply_context(messages, (), 0, plan.edits), allowed)


def check(wire: Format, context: list[Any], allowed: set[str]) -> None:
    """No error of a rule that was kept before."""
    found = {one.id for one in validate(wire, context, rules=ERRORS, open_end_ok=True)}
    assert found <= allowed


def run(wire: Format, messages: list[Any], presets: list[Preset], *, keep: int) -> None:
    """One case in its time."""

    def case() -> None:
        entries = accepted(wire, messages)
        for preset in presets:
            project(wire, entries, preset, keep=keep)

    assert timeit.timeit(case, number=1, timer=process_time) < SECONDS_PER_CASE


@pytest.mark.recordings
@needs_recordings()
@pytest.mark.parametrize("recording", recordings()[1::5], ids=lambda one: str(one.name))
def test_spoiled_recordings_are_refused_or_projected(recording: Recording) -> None:
    """A fixed few of them, each through two presets."""
    for number, times in enumerate((1, 4, 20)):
        seed = random.Random(recording.name).randrange(1_000) + number
        presets = [PRESETS[seed % len(PRESETS)], PRESETS[(seed + 3) % len(PRESETS)]]
        run(*spoiled(recording, seed, times), presets, keep=(50, 500, 5_000)[number])


@pytest.mark.slow
@pytest.mark.recordings
@needs_recordings()
@settings(max_examples=3_000, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    at=st.integers(0, 96),
    seed=st.integers(0, 2**32),
    times=st.integers(1, 40),
    preset=st.sampled_from(PRESETS),
    keep=st.sampled_from((1, 100, 2_000, 20_000)),
)
def test_many_spoiled_recordings_are_refused_or_projected(
    at: int, seed: int, times: int, preset: Preset, keep: int
) -> None:
    """Of every recording, through every preset."""
    listed = recordings()
    run(*spoiled(listed[at % len(listed)], seed, times), [preset], keep=keep)


@pytest.mark.slow
@pytest.mark.recordings
@needs_recordings()
@pytest.mark.parametrize("recording", recordings(), ids=lambda one: str(one.name))
def test_projecting_a_spoiled_recording_needs_little_memory(recording: Recording) -> None:
    """The whole of it, spoiled in ten places."""
    wire, text = text_of(recording)
    messages, chance = json.loads(text), random.Random(recording.name)
    donors = [json.dumps(message) for message in messages[:WINDOW]]
    for _ in range(10):
        alter(chance, messages, donors)
    entries = accepted(wire, messages)
    tracemalloc.start()
    try:
        project(wire, entries, PRESETS[len(messages) % len(PRESETS)], keep=5_000)
        assert tracemalloc.get_traced_memory()[1] < BYTES_PER_CASE
    finally:
        tracemalloc.stop()
