"""Recorded sessions with reported prompt sizes, and which of their spans can be foretold at all."""

from __future__ import annotations

import json
from dataclasses import dataclass

from precompact_cli.predictions import Track, track_of
from precompact_cli.recording import Recording, read_recording
from precompact_shared.engine.estimate import Rates, rates_of
from precompact_shared.engine.weight import weigh
from tests.support.recordings import data_dir, recordings, used

RECORDED_CUT = 0.5
"""A prompt below this share of the one before: a compaction."""
CUT_TOKENS, CUT_SHARE = 10_000, 0.05
"""A fall by more than both, beyond all reasoning that can leave."""


@dataclass(frozen=True, slots=True)
class Session:
    """One recording with what the bench asks of it again and again."""

    name: str
    group: str
    repo: str
    recording: Recording
    track: Track
    rates: Rates
    chars: tuple[int, ...]
    switches: frozenset[int]
    """Entries that announce another model."""

    @property
    def family(self) -> str:
        """The rates' name without the reasoning habit."""
        return "claude up to 4.6" if self.rates.name.startswith("claude up to") else self.rates.name

    def measured(self, index: int) -> int:
        """The prompt of the reported call."""
        return self.track.reports[index].total

    def steps(self) -> range:
        """Indexes of the calls that have a next one."""
        return range(len(self.track.reports) - 1)

    def falls(self, index: int) -> str | None:
        """Why the prompt fell after this call in a way that no reasoning explains."""
        before, after = self.measured(index), self.measured(index + 1)
        if after < before * RECORDED_CUT and before > 8_000:
            return "compaction"
        reasoned = sum(
            max(0, report.reasoned) for report in self.track.reports[self._turn(index) : index + 1]
        )
        return "cut" if before - after > max(CUT_TOKENS, CUT_SHARE * before) + reasoned else None

    def _turn(self, index: int) -> int:
        """The first call since reasoning last left, taken generously."""
        start = index
        while start and self.measured(start) >= self.measured(start - 1):
            start -= 1
        return start

    def unforetold(self, index: int, ahead: int) -> str | None:
        """Why this span is left out; None where it is clean."""
        falls = [found for one in range(index, index + ahead) if (found := self.falls(one))]
        if falls:
            return "compaction" if "compaction" in falls else "cut"
        first, last = self.track.prefixes[index], self.track.prefixes[index + ahead]
        if any(first <= place < last for place in self.switches):
            return "model_switch"
        if any(report.inner_calls for report in self.track.reports[index : index + ahead + 1]):
            return "server_tools"
        return None


def load_sessions() -> list[Session]:
    """Every recording with two reports or more."""
    root = data_dir()
    if root is None:
        raise SystemExit("no recordings: ../shared/data/dev is absent")
    rows = {row["name"]: row for row in json.loads((root / "manifest.json").read_text(encoding="utf-8"))}
    found = []
    for one in recordings():
        recording = read_recording(one.path)
        if sum(call.reported is not None for call in recording.calls) < 2:
            continue
        used.add(one.name)
        row = rows[one.name]
        found.append(_session(row["group"], row["repo"], recording))
    return found


def _session(group: str, repo: str, recording: Recording) -> Session:
    chars = tuple(sum(map(len, weigh(message).texts)) for message in recording.messages)
    switches = frozenset(
        place
        for place, message in enumerate(recording.messages)
        if message.get("role") == "developer" and "<model_switch>" in json.dumps(message.get("content"))
    )
    rates = rates_of(recording.format, recording.model)
    return Session(recording.name, group, repo, recording, track_of(recording), rates, chars, switches)
