"""Logs that were damaged on the way: a clear refusal or a session that holds together, never anything else."""

from __future__ import annotations

import json
import random
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from precompact_cli.exits import InputRefused
from precompact_cli.recording import Recording, read_recording
from precompact_cli.view import View
from precompact_shared.engine.formats import facts
from tests.support.recordings import logs, needs_recordings
from tests.unit.cli.logs import test_chat_tools as chat
from tests.unit.cli.logs import test_claude_code as claude
from tests.unit.cli.logs import test_codex as codex
from tests.unit.cli.logs import test_opencode_stores as stores
from tests.unit.cli.logs import test_pi as pi
from tests.unit.cli.logs.opencode_stores import write_database, write_database_2
from tests.unit.cli.logs.reading import lines

CLAUDE = lines(
    claude.prompt("go", None),
    claude.call("A", "go", "m1"),
    claude.call("B", "A", "m1"),
    claude.result("ra", "A", "A"),
    claude.result("rb", "B", "B"),
    claude.prompt("s", None, isSidechain=True),
    claude.boundary("cut", "rb"),
    claude.prompt("sum", "cut", isCompactSummary=True),
    claude.said("end", "sum", "m2"),
    claude.prompt("other", "rb"),
    claude.said("on", "other", "m3"),
)
CODEX = lines(
    codex.META,
    codex.item("user", "a"),
    codex.asked(),
    codex.item("assistant", "b"),
    codex.count(5, 5),
    codex.line("compacted", message="so far"),
    codex.item("user", "c"),
    codex.asked(),
    codex.line("event_msg", type="thread_rolled_back", num_turns=1),
    codex.item("assistant", "d"),
    codex.count(9, 4),
)
PI = lines(
    pi.HEADER,
    pi.entry("user", "a", id="1", parentId=None),
    pi.reply({"type": "toolCall", "id": "t", "name": "read", "arguments": {}}),
    pi.result("t"),
    {"type": "compaction", "summary": "so far", "firstKeptEntryIndex": 1},
    pi.entry("user", "b", id="2", parentId="1"),
)
OPENCODE = chat.opencode(
    chat.told("user", chat.text("go")),
    chat.told("assistant", chat.text("look"), chat.tool("c", output="x"), tokens={"input": 5}),
    chat.told("user", {"type": "compaction"}),
    chat.told("assistant", chat.text("sum"), summary=True),
    chat.told("user", chat.text("on")),
)
GEMINI = lines(
    chat.GEMINI,
    chat.gemini("a", "user", "go"),
    chat.gemini("b", "gemini", "look", "c1"),
    {"$rewindTo": "b"},
    chat.gemini("c", "user", "on"),
)
SMALL = [CLAUDE, CODEX, PI, OPENCODE, GEMINI]
NAMES = ["claude-code", "codex", "pi", "opencode", "gemini-cli"]
REAL_MOST_BYTES = 400_000
"""Real logs up to this size are mutated each time, larger ones where time is plenty."""
VALUES: tuple[Any, ...] = (None, 7, -1, 1.5, True, "x", "\ud83d", [], {}, [None], {"type": 3}, [[]], 10**40)


def check(raw: bytes) -> Recording | None:
    """Reads every view and sub-agent; None where the file is refused."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log"
        path.write_bytes(raw)
        try:
            recording = read_recording(path)
        except InputRefused as error:
            _refused(error)
            return None
        _check_one(recording)
        sides = len(recording.log.sidechains) if recording.log else 0
        for view, sidechain in [
            (View.BEFORE, 0),
            (View.AFTER, 0),
            *((View.HISTORY, n + 1) for n in range(sides)),
        ]:
            try:
                _check_one(read_recording(path, view, sidechain=sidechain))
            except InputRefused:
                assert view is not View.HISTORY
        return recording


def _refused(error: InputRefused) -> None:
    assert str(error).endswith(".")


def _check_one(recording: Recording) -> None:
    length = len(recording.messages)
    assert length == len(recording.pace.gaps_s)
    for message in recording.messages:
        facts(recording.format, message)
    end = 1
    for call in recording.calls:
        assert end <= call.prefix <= call.end <= length
        assert call.reported is None or call.reported > 0
        end = call.end
    if recording.log is not None:
        said = len(recording.log.messages)
        assert all(0 <= one.kept_from <= one.at <= said for one in recording.log.boundaries)
        assert all(0 <= one.at <= said for one in recording.log.branches)


def cut(raw: bytes, place: random.Random) -> bytes:
    """Ends early."""
    return raw[: place.randrange(len(raw) + 1)]


def garble(raw: bytes, place: random.Random) -> bytes:
    """Bytes in the middle are others."""
    start = place.randrange(len(raw))
    return raw[:start] + place.randbytes(place.randrange(1, 40)) + raw[start + place.randrange(40) :]


def swap(raw: bytes, place: random.Random) -> bytes:
    """Two lines change places."""
    split = raw.split(b"\n")
    one, other = place.randrange(len(split)), place.randrange(len(split))
    split[one], split[other] = split[other], split[one]
    return b"\n".join(split)


def drop(raw: bytes, place: random.Random) -> bytes:
    """A line is gone, or is there twice."""
    split = raw.split(b"\n")
    at = place.randrange(len(split))
    split[at : at + 1] = [split[at]] * place.choice([0, 2])
    return b"\n".join(split)


def alter(raw: bytes, place: random.Random) -> bytes:
    """Somewhere a value is of another type."""
    split = raw.split(b"\n")
    at = place.randrange(len(split))
    try:
        parsed = json.loads(split[at])
    except ValueError:
        return raw
    spots = list(_spots(parsed))
    if spots:
        holder, key = place.choice(spots)
        holder[key] = place.choice(VALUES)
    split[at] = json.dumps(parsed).encode()
    return b"\n".join(split)


def _spots(value: Any) -> list[tuple[Any, Any]]:
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    return [spot for key in keys for spot in [(value, key), *_spots(value[key])]]


MUTATIONS: tuple[Callable[[bytes, random.Random], bytes], ...] = (cut, garble, swap, drop, alter)


def mutated(raw: bytes, seed: int, times: int) -> bytes:
    """Some mutations, the same for the same seed."""
    place = random.Random(seed)
    for _ in range(times):
        raw = place.choice(MUTATIONS)(raw, place) or b"\n"
    return raw


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(raw=st.sampled_from(SMALL), seed=st.integers(0, 2**32), times=st.integers(1, 6))
def test_a_mutated_log_is_refused_or_holds_together(raw: bytes, seed: int, times: int) -> None:
    """Messages of the format, calls in order, boundaries within the history."""
    check(mutated(raw, seed, times))


@pytest.mark.parametrize("raw", SMALL, ids=NAMES)
def test_unharmed_they_are_read(raw: bytes) -> None:
    """Else the mutations would show nothing."""
    recording = check(raw)
    assert recording is not None
    assert recording.log is not None
    assert not recording.log.damaged


@settings(max_examples=60, deadline=None)
@given(raw=st.binary(max_size=300))
def test_garbage_is_refused(raw: bytes) -> None:
    """With what to do."""
    assert check(raw) is None


@pytest.mark.parametrize("write", [write_database, write_database_2])
def test_a_mutated_database_is_refused_or_holds_together(write: Any, tmp_path: Path) -> None:
    """Bytes of it are others, or its end is gone."""
    said = [stores.user(f"go {n} " * 50) for n in range(40)] + [stores.reply("yes " * 50)] * 40
    raw = write(tmp_path / "db", [stores.session("ses_1", *said)]).read_bytes()
    found = [check(mutated(raw, seed, 1 + seed % 3)) for seed in range(60)]
    assert any(one is None for one in found)
    assert any(one is not None for one in found)


@pytest.mark.recordings
@needs_recordings()
def test_mutated_real_logs_are_refused_or_hold_together(capsys: pytest.CaptureFixture[str]) -> None:
    """Seeded, eight of each."""
    _mutate_all(capsys, seeds=8, smallest=0, largest=REAL_MOST_BYTES)


@pytest.mark.slow
@pytest.mark.recordings
@needs_recordings()
def test_many_mutated_real_logs_are_refused_or_hold_together(capsys: pytest.CaptureFixture[str]) -> None:
    """Large ones too."""
    _mutate_all(capsys, seeds=60, smallest=0, largest=REAL_MOST_BYTES)
    _mutate_all(capsys, seeds=12, smallest=REAL_MOST_BYTES, largest=10**9)


def _mutate_all(capsys: pytest.CaptureFixture[str], *, seeds: int, smallest: int, largest: int) -> None:
    taken = [log for log in logs() if smallest <= log.path.stat().st_size < largest]
    assert taken
    refused = told = 0
    for log in taken:
        raw = log.raw()
        for seed in range(seeds):
            found = check(mutated(raw, seed, 1 + seed % 4))
            refused += found is None
            told += found is not None and found.log is not None and found.log.damaged > 0
    number = len(taken) * seeds
    assert told
    assert refused < number / 2
    with capsys.disabled():
        sys.stdout.write(
            f"\nmutated logs: {number} of {len(taken)} files, {refused} refused, {told} with damage told\n"
        )


@pytest.mark.recordings
@needs_recordings()
@pytest.mark.parametrize(
    "log", [log for log in logs() if log.path.stat().st_size < 400_000], ids=lambda log: log.name
)
def test_a_damaged_line_of_a_real_log_costs_itself_alone(log: Any) -> None:
    """And is named by its number."""
    raw = log.raw()
    whole = check(raw)
    split = raw.split(b"\n")
    assert whole is not None
    if log.path.suffix == ".json":
        assert check(raw[: len(raw) // 2]) is not None
        return
    at = len(split) // 2
    found = check(b"\n".join([*split[:at], b"\x00\xff garbage", *split[at:]]))
    assert found is not None
    assert found.log is not None
    assert [one.line for one in found.log.damage] == [at + 1]
    assert list(found.messages) == list(whole.messages)
