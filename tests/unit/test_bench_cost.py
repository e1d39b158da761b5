"""The pure parts of `make bench-cost`: talks that a provider takes, and verdicts that can fail."""

from __future__ import annotations

import pytest

from precompact_shared.engine.types import Format
from precompact_shared.engine.validate import validate
from tests.bench.costs import rows
from tests.bench.costs.dialects import dialect_of
from tests.bench.costs.playing import Session, Summary
from tests.bench.costs.rows import Way
from tests.bench.costs.sums import Priced, Tokens, priced
from tests.bench.costs.talk import make_talk
from tests.bench.costs.verdicts import verdicts

HIT, MISS = Tokens(read=90, write=10), Tokens(read=10, write=90)


def session(*costs: float, mode: str = "transcript", tokens: Tokens = HIT) -> Session:
    """Summaries of one call each."""
    return Session(tuple(Summary(mode, (Priced(tokens, cost),)) for cost in costs), ())


def test_a_seed_makes_the_same_talk() -> None:
    """And another seed another one."""
    assert make_talk(1, 30) == make_talk(1, 30)
    assert make_talk(1, 30) != make_talk(2, 30)
    assert len(make_talk(3, 30).steps) == 30


@pytest.mark.parametrize("pair", [rows.CLOSE, rows.OPENAI], ids=lambda pair: pair.agent)
def test_talks_are_what_a_provider_takes(pair: rows.Pair) -> None:
    """In either protocol, at every call."""
    dialect = dialect_of(pair.agent)
    history = []
    for step in make_talk(5, 40).steps:
        history += [entry for message in step.news for entry in dialect.entries(message)]
        assert not validate(Format(dialect.format), history)


def test_prices_tell_lives_apart() -> None:
    """An hour of cache is dearer than five minutes."""
    five, hour = Tokens(write=1_000_000), Tokens(write_hour=1_000_000)
    assert priced(five, "claude-sonnet-5-5").cost_usd == pytest.approx(2.5)
    assert priced(hour, "claude-sonnet-5-5").cost_usd == pytest.approx(4.0)


def test_a_chooser_is_held_to_its_best_rival() -> None:
    """In all sessions together."""
    played = {
        Way.PREFIX: [session(1.0), session(1.0)],
        Way.CHEAP: [session(2.0), session(0.5)],
        Way.AUTO: [session(1.0), session(1.05)],
    }
    [figure] = verdicts(rows.TRUTHFUL, rows.CLOSE, played)
    assert (figure.ratio, figure.ok, figure.details["best"]) == (1.025, False, "prefix")
    [figure] = verdicts(rows.TRUTHFUL, rows.CLOSE, {**played, Way.AUTO: [session(1.0), session(1.0)]})
    assert figure.ok


def test_a_chooser_may_miss_once() -> None:
    """The worst session counts, less its first miss."""
    missed = session(3.0, mode="prefix", tokens=MISS)
    once = Session((*missed.summaries, *session(1.0, 1.0).summaries), ())
    twice = Session((*missed.summaries, *missed.summaries, *session(1.0).summaries), ())
    played = {
        Way.PREFIX: [session(0.1), session(0.1)],
        Way.CHEAP: [session(1.0, 1.0, 1.0), session(1.0, 1.0, 1.0)],
    }
    for last, ok in ((once, True), (twice, False)):
        [figure] = verdicts(rows.EVICTED, rows.CLOSE, {**played, Way.AUTO: [once, last]})
        assert figure.ok is ok
