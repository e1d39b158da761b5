"""Ways to foretell a later prompt's size: the estimate with rates from elsewhere, and what it is compared with."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import msgspec

from precompact_cli.predictions import Track, follow, foresee
from precompact_shared.engine.estimate import Lessons, Rates, Report, State, begin, learn
from precompact_shared.engine.estimate.rates import NEWER_CLAUDE, OLDER_CLAUDE
from precompact_shared.engine.estimate.spans import Turn
from precompact_shared.engine.tokens import DOCUMENT_TOKENS, IMAGE_TOKENS, count_text, family_factor
from precompact_shared.engine.types import Format, Message
from precompact_shared.engine.weight import weigh
from tests.bench.fitting import Step, fit_gpt, fit_newer_claude, fit_older_claude, fit_search
from tests.bench.sized import Session

Foretell = Callable[[Session, int, int], float]
"""Session, index of the reported call, how many reported calls ahead."""


def by_characters(session: Session, index: int, ahead: int) -> float:
    """The last report and a quarter of the characters since."""
    first, last = session.track.prefixes[index], session.track.prefixes[index + ahead]
    return session.measured(index) + sum(session.chars[first:last]) / 4


def by_o200k(session: Session, index: int, ahead: int) -> float:
    """The last report and the o200k tokens since."""
    load = session.track.between(index, index + ahead).total
    return session.measured(index) + load.results + load.arguments + load.spoken + load.given + load.thinking


def by_family_factor(session: Session, index: int, ahead: int) -> float:
    """The last report and o200k times the family's factor since, with 4 tokens a message."""
    first, last = session.track.prefixes[index], session.track.prefixes[index + ahead]
    recording = session.recording
    messages = recording.messages[first:last]
    unnamed = recording.model is None and recording.format is Format.ANTHROPIC
    factor = family_factor("claude" if unnamed else recording.model)
    return session.measured(index) + sum(_by_factor(message, factor) for message in messages)


def _by_factor(message: Message, factor: float) -> int:
    weight = weigh(message)
    text = sum(map(count_text, weight.texts)) + weight.encrypted_chars * 3 // 16
    media = weight.images * IMAGE_TOKENS + weight.documents * DOCUMENT_TOKENS
    return round(text * factor) + media + 4


def by_ratio(session: Session, index: int, ahead: int) -> float:
    """The same, times the session's growth so far for each of its o200k tokens: a naive self-calibration."""
    counted = by_o200k(session, 0, index) - session.measured(0) if index else 0.0
    grown = session.measured(index) - session.measured(0)
    ratio = min(3.0, max(0.5, grown / counted)) if counted > 0 else 1.0
    return session.measured(index) + ratio * (by_o200k(session, index, ahead) - session.measured(index))


@dataclass(frozen=True)
class Estimates:
    """The estimate under test, with rates and lessons from elsewhere."""

    sessions: Sequence[Session]
    learns: bool = True
    taught: bool = False
    derived: bool = False
    """Reports do not part reasoning from output."""
    alter: Callable[[Rates], Rates] = lambda rates: rates
    """What is tried instead of the fitted rates."""

    def __call__(self, session: Session, index: int, ahead: int) -> float:
        """The size that the estimate foretells."""
        rates = self.rates(session)
        states = self._states.get(session.name)
        if states is None:
            states = self._states[session.name] = self._follow(session, rates)
        size = foresee(session.track, states, rates, index, ahead)
        assert size is not None
        self.inside.append(
            size.spread is not None and abs(size.tokens - session.measured(index + ahead)) <= size.spread
        )
        return size.tokens

    def rates(self, session: Session) -> Rates:
        """Of the session's family, fitted on the other groups."""
        key = (session.rates.name, session.group)
        if key not in self._rates:
            others = [one for one in self.sessions if one.group != session.group]
            self._rates[key] = self.alter(fit(session.rates, others))
        return self._rates[key]

    @cached_property
    def _rates(self) -> dict[tuple[str, str], Rates]:
        return {}

    @cached_property
    def _states(self) -> dict[str, list[State]]:
        return {}

    @cached_property
    def inside(self) -> list[bool]:
        """Whether each answer was as good as its spread said."""
        return []

    def _follow(self, session: Session, rates: Rates) -> list[State]:
        start = begin(rates, self._lessons(session, rates) if self.taught else None)
        track = session.track
        if self.derived:
            track = Track(
                track.pieces,
                track.prefixes,
                tuple(
                    Report(one.total, output=one.output, inner_calls=one.inner_calls) for one in track.reports
                ),
                track.ends,
            )
        states = follow(track, rates, start)
        return states if self.learns else [_unlearned(state, start) for state in states]

    def _lessons(self, session: Session, rates: Rates) -> Lessons:
        """Of the other sessions of this repository on this model."""
        lessons = Lessons()
        for other in self.sessions:
            same = other.repo == session.repo and other.recording.model == session.recording.model
            if same and other.group != session.group:
                lessons = learn(lessons, follow(other.track, rates, begin(rates))[-1])
        return lessons


def without_reasoning(rates: Rates) -> Rates:
    """As if the transcript held all there is."""
    return dataclasses.replace(rates, counts_reasoning=False)


def one_factor(rates: Rates) -> Rates:
    """A session differs in its text alone."""
    return dataclasses.replace(rates, loose=(rates.loose[0], 1e-6, 1e-6))


def looser(rates: Rates) -> Rates:
    """A session may differ three times as much."""
    text, thinking, structure = rates.loose
    return dataclasses.replace(rates, loose=(3 * text, 3 * thinking, 3 * structure))


def _unlearned(state: State, start: State) -> State:
    return msgspec.structs.replace(
        state,
        factors=start.factors,
        leaves=start.leaves,
        root_reasoning=start.root_reasoning,
    )


def fit(rates: Rates, sessions: Sequence[Session]) -> Rates:
    """The rates of this family that the sessions show; those of families that were not recorded stay as they are."""
    if rates.name.startswith("claude"):
        older = fit_older_claude(_steps(sessions, "claude up to 4.6"), OLDER_CLAUDE)
        if rates.name != NEWER_CLAUDE.name:
            return _as(rates, older)
        return fit_newer_claude(_steps(sessions, NEWER_CLAUDE.name), older, rates)
    if not rates.counts_reasoning:
        return rates
    return fit_search(_searches(sessions), fit_gpt(_steps(sessions, "gpt"), rates))


def _searches(sessions: Sequence[Session]) -> Iterator[tuple[int, float]]:
    """Of each call whose reply searched the web: how often, and by how much more its prompt grew than what came in."""
    for session in sessions:
        track = session.track
        for index in session.steps():
            reply = track.pieces[track.prefixes[index + 1] : track.ends[index + 1]]
            searches = sum(piece.load.searches for piece in reply)
            if searches and session.rates.counts_reasoning and not session.falls(index):
                text, _, structure = session.rates.parts(track.between(index, index + 1).total)
                grown = session.measured(index + 1) - session.measured(index)
                yield searches, grown - text - structure - max(0, track.reports[index].reasoned)


def _as(rates: Rates, fitted: Rates) -> Rates:
    return dataclasses.replace(fitted, name=rates.name, leaves=rates.leaves)


def _steps(sessions: Sequence[Session], family: str) -> Iterator[Step]:
    for session in sessions:
        if session.family != family:
            continue
        for index in session.steps():
            if session.falls(index):
                continue
            span = session.track.between(index, index + 1)
            growth = session.measured(index + 1) - session.measured(index)
            if session.rates.counts_reasoning:
                if span.turn is not Turn.NONE:
                    continue
                growth -= max(0, session.track.reports[index].reasoned)
            yield Step(span.total, growth)
