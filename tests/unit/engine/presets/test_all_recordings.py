"""Recorded conversations, every preset, four windows: a valid, stable context, or a skip with its reason."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import pytest

from precompact_shared.engine.cut import SkipReason
from precompact_shared.engine.edits import apply_context
from precompact_shared.engine.formats import plain_text
from precompact_shared.engine.preset import load_preset, preset_names
from precompact_shared.engine.summary import RejectReason
from precompact_shared.engine.types import Entry, Format
from tests.support.recordings import Recording, needs_recordings, recordings
from tests.unit.engine.presets.compaction import Compacted, breaches, compact, written

WINDOWS = (16_000, 32_000, 200_000, 1_000_000)
REASONS = {*SkipReason, *RejectReason, "not_smaller"} - {SkipReason.EMPTY}
SAMPLE = (
    "claude-code--kimi-zh-small",
    "claude-code--cli-dangling-orphan",
    "codex--agentv-abort-two-models",
    "opencode-http--anthropic-basic",
    "openhands--nonfncall",
    "tau-bench--airline-task46-trial3",
    "swe-agent--marshmallow-function-calling",
    "pi--before-compaction__post-compaction",
)
"""Thinking, an orphan, custom calls, reused ids, empty messages, an open end, Chinese: one of each in `make test`."""


def _sample() -> list[Recording]:
    listed = recordings()
    chosen = [one for one in listed if one.name in SAMPLE]
    return chosen + [one for one in listed if one.name not in SAMPLE][:2]


@pytest.mark.recordings
@needs_recordings()
@pytest.mark.parametrize("recording", _sample(), ids=lambda one: str(one.name))
def test_a_sample_of_recordings_is_compacted_by_every_preset(recording: Recording) -> None:
    """A fixed choice that has every feature once."""
    _check(recording)


@pytest.mark.slow
@pytest.mark.recordings
@needs_recordings()
@pytest.mark.parametrize("recording", recordings(), ids=lambda one: str(one.name))
def test_every_recording_is_compacted_by_every_preset(recording: Recording) -> None:
    """All of them."""
    _check(recording)


def _check(recording: Recording) -> None:
    loaded = recording.load()
    wire, messages = Format(loaded["format"]), loaded["messages"]
    entries = [Entry(s, m, len(plain_text(wire, m)) // 3 + 4) for s, m in enumerate(messages)]
    done: dict[tuple[str, int], Compacted | str] = {}
    for name, window in product(preset_names(), WINDOWS):
        preset = load_preset(name)
        keep = preset.limits(window=window, max_output=window // 10).keep_tokens
        if (name, keep) in done:
            continue
        found = done[name, keep] = compact(preset, wire, entries, keep_tokens=keep)
        if isinstance(found, str):
            assert found in REASONS, (name, window)
            continue
        assert breaches(wire, found.context) == (), (name, window)
        again = compact(preset, wire, entries, keep_tokens=keep)
        assert isinstance(again, Compacted)
        assert written(again.context) == written(found.context)
        assert apply_context(messages, found.insert, found.cut.upto, found.edits) == found.context
        _check_tail(wire, entries, found)


def _check_tail(wire: Format, entries: Sequence[Entry], found: Compacted) -> None:
    """What the tail says is what was said, but for texts shortened with their address."""
    before = [plain_text(wire, entry.message) for entry in entries[found.cut.upto :]]
    after = "\n".join(plain_text(wire, message) for message in found.tail)
    orphans = {
        edit.seq for edit in found.edits if edit.value is None and not edit.after and edit.part is None
    }
    for entry, text in zip(entries[found.cut.upto :], before, strict=True):
        assert text in after or entry.seq in orphans or f"[r:{entry.seq}] has the whole text" in after, (
            entry.seq
        )
