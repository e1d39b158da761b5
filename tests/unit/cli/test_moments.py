"""Events and the picture of them."""

from __future__ import annotations

import io
from dataclasses import replace

from rich.console import Console

from precompact.context import Candidate, Compaction, Context, Job, Status
from precompact_cli.moments import Event, Happening, Moment, Watcher
from precompact_cli.timeline import Timeline, size_bar, state_line

FITS = Context([], Status.FITS, 0, 10, tokens=700, window=1_200, limit=900, hard=1_000)
MOMENT = Moment(
    session_s=3_725,
    total_s=7_450,
    call=2,
    calls=9,
    length=10,
    tokens=500,
    limit=900,
    hard=1_000,
    window=1_200,
    prepare_ms=4.2,
)


def test_each_job_and_each_candidate_is_told_once() -> None:
    """Seen again it is no news."""
    watcher = Watcher()
    context = replace(
        FITS,
        compaction=Compaction(job=Job("j1", "speculative", "running"), candidate=Candidate("c1", 5, 600, 60)),
    )
    assert [event.kind for event in watcher.look(context, tokens_before=0)] == [
        Happening.JOB,
        Happening.READY,
    ]
    assert watcher.look(context, tokens_before=0) == ()


def test_a_candidate_that_only_clears_covers_no_entries() -> None:
    """Its results are named instead of a range that ends before it begins."""
    only = replace(FITS, compaction=Compaction(candidate=Candidate("c2", 0, 600, 60)))
    (event,) = Watcher().look(only, tokens_before=0)
    assert event.text == "candidate ready: old tool results cleared, 600 to 60 tokens"


def test_an_adoption_tells_both_sizes() -> None:
    """From the size before to the size now."""
    (event,) = Watcher().look(replace(FITS, status=Status.ADOPTED, tokens=300), tokens_before=905)
    assert event == Event(Happening.ADOPTED, "context 905 to 300 tokens")


def test_going_on_at_the_limit_is_told_once_until_it_is_over() -> None:
    """At the limit without a candidate nobody waits; that is news the first time."""
    watcher = Watcher()
    beyond = replace(FITS, tokens=950)
    assert [event.kind for event in watcher.look(beyond, tokens_before=0)] == [Happening.KEPT_GOING]
    assert watcher.look(beyond, tokens_before=0) == ()
    assert watcher.look(FITS, tokens_before=0) == ()
    assert len(watcher.look(beyond, tokens_before=0)) == 1


def test_the_bar_shows_size_and_limit() -> None:
    """Half full, the soft limit at nine tenths."""
    bar = size_bar(MOMENT, width=20).plain
    assert bar == "[" + "█" * 10 + "·" * 8 + "|" + "·" + "] 50% of hard"


def test_without_a_terminal_events_are_plain_lines() -> None:
    """A log file gets a line for each event and the state at the end."""
    out = io.StringIO()
    with Timeline(Console(file=out, width=160)) as timeline:
        timeline.show(
            replace(MOMENT, call=9, events=(Event(Happening.ADOPTED, "context 900 to 300 tokens"),))
        )
    event, state = out.getvalue().splitlines()
    assert event == "1:02:05  adopted    context 900 to 300 tokens"
    assert state == state_line(replace(MOMENT, call=9)).plain


def test_on_a_terminal_the_picture_holds_bar_and_events() -> None:
    """The live picture is drawn and left standing."""
    out = io.StringIO()
    with Timeline(Console(file=out, width=160, force_terminal=True)) as timeline:
        timeline.show(replace(MOMENT, events=(Event(Happening.JOB, "speculative job started"),)))
    assert "speculative job started" in out.getvalue()
    assert "call 2/9" in out.getvalue()
