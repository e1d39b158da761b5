"""What the estimate would have said of a recording's prompts, told no more than was known at each call."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

from precompact_cli.entries import Entries
from precompact_cli.recording import ModelCall, Recording
from precompact_shared.engine.estimate import (
    EMPTY,
    Piece,
    Rates,
    Report,
    Side,
    Size,
    Span,
    State,
    begin,
    load_of,
    observe,
    predict,
    rates_of,
    span_of,
)
from precompact_shared.engine.estimate.states import UNSAID
from precompact_shared.engine.formats import facts
from precompact_shared.engine.types import Format

FAR_CALLS = 10
"""The farther of the two looks ahead, in reported calls."""
_TASK_MARK = "[subtask]"


@dataclass(frozen=True, slots=True)
class UsagePrediction:
    """At one reported call: what was measured, and what was foretold of later ones (None: no such call)."""

    at: int
    """Number of entries in its prompt."""
    measured: int
    predicted_next: int | None
    """Of the next reported call, from the reports up to this one and the entries up to that one.

    None also where the tool compacted in between: what it puts in place of the history is not in these entries.
    """
    predicted_10: int | None
    """Of the tenth reported call after this one, likewise."""


@dataclass(frozen=True, slots=True)
class Track:
    """A recording as the estimate sees it: weighed entries, and a report at some of their boundaries."""

    pieces: tuple[Piece, ...]
    prefixes: tuple[int, ...]
    reports: tuple[Report, ...]
    ends: tuple[int, ...]
    """Up to where each report holds the entries: its prefix, or behind the searches that its own reply made."""

    def between(self, first: int, last: int) -> Span:
        """What came between two reported calls."""
        return span_of(self.pieces[self.ends[first] : self.prefixes[last]])


def predict_usage(recording: Recording, entries: Entries | None = None) -> list[dict[str, int | None]]:
    """One row per reported call, in order; entries after a call are seen, its and later calls' counts are not.

    `entries` are the recording's, where they have been weighed already.
    """
    track, rates = track_of(recording, entries), _rates(recording)
    rows: list[dict[str, int | None]] = []
    for index, state in enumerate(_states(track, rates)):
        near, far = (_foresee(track, state, rates[index], index, ahead) for ahead in (1, FAR_CALLS))
        measured = track.reports[index].total
        rows.append(asdict(UsagePrediction(track.prefixes[index], measured, _tokens(near), _tokens(far))))
    return rows


def track_of(recording: Recording, entries: Entries | None = None) -> Track:
    """Weighs every entry, unless that has been done."""
    calls = [call for call in recording.calls if call.counted]
    pieces = tuple(_pieces(recording, (entries or Entries(recording)).pieces))
    return Track(
        pieces,
        tuple(call.prefix for call in calls),
        tuple(_report(recording, call, pieces) for call in calls),
        tuple(_searched(pieces, call)[-1] for call in calls),
    )


def _searched(pieces: Sequence[Piece], call: ModelCall) -> list[int]:
    """Where each pass of the model within one call ended; the report is that of the last pass, and holds all before."""
    found = [at + 1 for at in range(call.prefix, call.end) if pieces[at].load.searches]
    return [call.prefix, *found]


def follow(track: Track, rates: Rates | Sequence[Rates], start: State | None = None) -> list[State]:
    """The state right after each report; `start` is that before the first, by default one that has learned nothing.

    `rates` are those of the model of each reported call, or of all. Where a session goes on with a model of another
    family, what one counted is no base for the other.
    """
    return list(_states(track, [rates] * len(track.reports) if isinstance(rates, Rates) else rates, start))


def _states(track: Track, rates: Sequence[Rates], start: State | None = None) -> Iterator[State]:
    state = start
    for index, (report, known) in enumerate(zip(track.reports, rates, strict=True)):
        goes_on = index > 0 and rates[index - 1] == known
        span = track.between(index - 1, index) if goes_on else EMPTY
        before = begin(known) if state is None or (index and not goes_on) else state
        state = observe(before, known, report, span)
        yield state


def _rates(recording: Recording) -> list[Rates]:
    """Of the model of each reported call: what a session is continued with later, nobody knows then."""
    return [
        rates_of(recording.format, call.model or recording.model) for call in recording.calls if call.counted
    ]


def foresee(track: Track, states: Sequence[State], rates: Rates, index: int, ahead: int) -> Size | None:
    """The size of the call `ahead` reported calls after `index`; None where recording or context ends before."""
    return _foresee(track, states[index], rates, index, ahead)


def _foresee(track: Track, state: State, rates: Rates, index: int, ahead: int) -> Size | None:
    if index + ahead >= len(track.prefixes):
        return None
    if track.reports[index + ahead].version != track.reports[index].version:
        return None
    return predict(state, rates, track.between(index, index + ahead))


def _tokens(size: Size | None) -> int | None:
    return None if size is None else size.tokens


def _report(recording: Recording, call: ModelCall, pieces: Sequence[Piece]) -> Report:
    """Anthropic logs record a reply's output as it stood when the stream began: it is left out.

    Of several passes all reasoning is told as one number; the last has an equal share of it.
    """
    told = recording.format is not Format.ANTHROPIC
    reply = recording.messages[call.prefix : call.end]
    inner = any(
        known.kind == "server" for message in reply for known in facts(recording.format, message).calls
    )
    return Report(
        total=call.counted or 0,
        version=call.epoch,
        output=call.output if told and call.output else UNSAID,
        reasoned=UNSAID if call.reasoned is None else call.reasoned // len(_searched(pieces, call)),
        inner_calls=inner,
    )


def _pieces(recording: Recording, pieces: Sequence[Piece]) -> Iterator[Piece]:
    """What the model got of each message.

    Behind this mark a record of OpenCode has the text of a task that the user gave to a sub-agent: OpenCode shows it,
    and tells the model no more than that a tool was run.
    """
    if recording.format is not Format.OPENAI_CHAT:
        yield from pieces
        return
    marked = load_of(recording.format, {"role": "user", "content": _TASK_MARK})
    for piece, message in zip(pieces, recording.messages, strict=True):
        content = message.get("content")
        is_shown = piece.side is Side.USER and isinstance(content, str) and content.startswith(_TASK_MARK)
        yield marked if is_shown else piece
