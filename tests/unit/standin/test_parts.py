"""Small parts of the stand-in: faults, buckets, signatures, summaries, scenarios."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from precompact_standin.faults import Deck, read_header
from precompact_standin.openai.headers import span
from precompact_standin.ratelimits import Limiter, Meter
from precompact_standin.refusal import Refusal
from precompact_standin.scenario import (
    Fault,
    FaultKind,
    FaultRule,
    Limits,
    Reply,
    Scenario,
    Step,
    read_scenario,
)
from precompact_standin.shapes import shape
from precompact_standin.signing import Signer
from precompact_standin.summarising import Spoken, asked_headings, summarise

OVERLOADED = Fault(kind=FaultKind.OVERLOADED)


@pytest.mark.parametrize(
    ("rule", "struck"),
    [
        (FaultRule(fault=OVERLOADED), [1, 2, 3, 4, 5, 6]),
        (FaultRule(fault=OVERLOADED, every=3), [3, 6]),
        (FaultRule(fault=OVERLOADED, on=(2, 5)), [2, 5]),
        (FaultRule(fault=OVERLOADED, times=2), [1, 2]),
        (FaultRule(fault=OVERLOADED, path="/responses"), []),
    ],
)
def test_a_rule_strikes_when_it_is_due(rule: FaultRule, struck: list[int]) -> None:
    """Counted among the requests of its path."""
    deck = Deck(Scenario(faults=(rule,)))
    dealt = [deck.deal("/v1/messages", {}, generates=True)[0] for _ in range(6)]
    assert [at for at, fault in enumerate(dealt, 1) if fault] == struck


def test_the_script_is_used_up_by_requests_that_generate() -> None:
    """Counting leaves it alone; behind it everything is as usual."""
    deck = Deck(Scenario(script=(Step(fault=OVERLOADED), Step(reply=Reply(text="x")), Step())))
    assert deck.deal("/v1/messages/count_tokens", {}, generates=False) == (None, None)
    dealt = [deck.deal("/v1/messages", {}, generates=True) for _ in range(4)]
    assert dealt == [(OVERLOADED, None), (None, Reply(text="x")), (None, None), (None, None)]


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        ("", None),
        ("reset", Fault(kind=FaultKind.RESET)),
        (
            "stalled_stream; duration_s=0.5;after_events=2",
            Fault(kind=FaultKind.STALLED_STREAM, duration_s=0.5, after_events=2),
        ),
        ("rate_limited; retry_after=9", Fault(kind=FaultKind.RATE_LIMITED, retry_after="9")),
    ],
)
def test_a_header_names_a_fault(value: str, fault: Fault | None) -> None:
    """With its fields."""
    assert read_header(value) == fault


@pytest.mark.parametrize("value", ["earthquake", "reset; colour=red", "reset; duration_s=long"])
def test_a_header_that_names_nothing_is_refused(value: str) -> None:
    """Instead of passing for health."""
    with pytest.raises(Refusal):
        read_header(value)


def test_buckets_fill_evenly() -> None:
    """6 a minute: one every ten seconds, never more than six."""
    clock = [0.0]
    limiter = Limiter(lambda: clock[0], Limits(requests=6))
    for _ in range(6):
        assert limiter.admit("k", input_tokens=1, max_output=1).short_of is None
    refused = limiter.admit("k", input_tokens=1, max_output=1)
    assert (refused.short_of, refused.retry_after_s) == (Meter.REQUESTS, 10)
    clock[0] = 10.0
    assert limiter.admit("k", input_tokens=1, max_output=1).short_of is None
    clock[0] = 10_000.0
    assert limiter.admit("k", input_tokens=1, max_output=1).readings[0].remaining == 5


def test_output_runs_into_debt() -> None:
    """And the next request waits for it."""
    limiter = Limiter(lambda: 0.0, Limits(output_tokens=60))
    assert limiter.admit("k", input_tokens=1, max_output=500).short_of is None
    limiter.charge_output("k", 500)
    assert limiter.admit("k", input_tokens=1, max_output=500).retry_after_s > 400


def test_a_refused_request_takes_nothing() -> None:
    """From no bucket."""
    limiter = Limiter(lambda: 0.0, Limits(requests=5, input_tokens=100))
    assert limiter.admit("k", input_tokens=60, max_output=1).short_of is None
    assert limiter.admit("k", input_tokens=60, max_output=1).short_of is Meter.INPUT
    assert limiter.admit("k", input_tokens=40, max_output=1).readings[0].remaining == 3


@pytest.mark.parametrize(("duration_s", "text"), [(0.12, "120ms"), (1, "1s"), (59.6, "1m0s"), (360, "6m0s")])
def test_spans_are_written_as_openai_does(duration_s: float, text: str) -> None:
    """Milliseconds, seconds, minutes."""
    assert span(duration_s) == text


RECORD: dict[str, Any] = {"kind": "compaction", "text": "Täglich 字 " * 300}


def test_signatures_and_seals_come_back() -> None:
    """Under the same secret alone."""
    ours, others = Signer("a"), Signer("b")
    assert ours.read(ours.sign(RECORD)) == RECORD
    assert ours.unseal(ours.seal(RECORD)) == RECORD
    assert others.read(ours.sign(RECORD)) is None
    assert others.unseal(ours.seal(RECORD)) is None


@pytest.mark.parametrize("position", [0, 40, -3])
def test_a_touched_signature_or_seal_is_worth_nothing(position: int) -> None:
    """Wherever it was touched."""
    signer = Signer("a")
    for made, read in ((signer.sign(RECORD), signer.read), (signer.seal(RECORD), signer.unseal)):
        at = position % len(made)
        touched = made[:at] + ("A" if made[at] != "A" else "B") + made[at + 1 :]
        assert read(touched) is None
        assert read("") is None
        assert read("no base64!") is None


SAID = [
    Spoken("user", "Move the parser to src/parse.py.\nNever touch the lexer."),
    Spoken("assistant", "Ran `pytest`: error in tests/test_parse.py.\nNext I fix the import."),
    Spoken("user", "Is it done?"),
]


@pytest.mark.parametrize(
    ("instruction", "headings"),
    [
        ("Summarise.\n## Goal\n### Done\ntext", ["## Goal", "### Done"]),
        (
            "Write a handoff summary.\n\nProgress:\n(what was done)\n\nNext steps:\n(what is left)",
            ["Progress:", "Next steps:"],
        ),
        ("Condense.\n<state>\n<goal>\n(the goal)\n</goal>", ["<goal>"]),
        ("Explain ## Goal", []),
        ("## Goal\nPlay chess.", []),
    ],
)
def test_headings_are_found_where_a_summary_is_asked_for(instruction: str, headings: list[str]) -> None:
    """As marks of a text, as lines with an explanation under them, as tags that are closed."""
    assert [heading.text for heading in asked_headings(instruction)] == headings


def test_a_system_prompt_needs_a_form_to_count() -> None:
    """An agent's own has headings and talks of summaries too."""
    own = "# Tone\nBe brief. Summarize when asked.\n# Tools\nUse them."
    assert asked_headings(own, strict=True) == []
    assert len(asked_headings("Summarize.\n# A\n(what)\n# B\n(why)", strict=True)) == 2


def test_a_summary_quotes_under_each_heading_what_belongs_there() -> None:
    """Tags are closed, lengths held."""
    form = "Summary:\n<goal>\n</goal>\n## Files\n## Errors\n## Constraints\n## Open questions\n## Weather"
    text = summarise(asked_headings(form), SAID, 4_000)
    assert text == summarise(asked_headings(form), SAID, 4_000)
    assert "<goal>\n- Move the parser to src/parse.py.\n- Is it done?\n</goal>" in text
    assert "## Files\n- src/parse.py\n- tests/test_parse.py" in text
    assert "## Errors\n- Ran `pytest`: error in tests/test_parse.py." in text
    assert "## Constraints\n- Never touch the lexer." in text
    assert "## Open questions\n- Is it done?" in text
    assert len(summarise(asked_headings(form), SAID * 200, 600)) < 1_000


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.json", '{"faults": [{"fault": {"kind": "overloaded"}, "every": 3}], "limits": {"requests": 5}}'),
        ("a.toml", '[[faults]]\nevery = 3\nfault.kind = "overloaded"\n[limits]\nrequests = 5\n'),
    ],
)
def test_a_scenario_is_read_from_a_file(tmp_path: Path, name: str, content: str) -> None:
    """TOML or JSON."""
    (tmp_path / name).write_text(content)
    scenario = read_scenario(tmp_path / name)
    assert scenario.faults[0].every == 3
    assert scenario.limits.requests == 5


def test_a_misspelt_field_of_a_scenario_is_an_error(tmp_path: Path) -> None:
    """A fault that never comes proves nothing."""
    (tmp_path / "a.json").write_text('{"fault": []}')
    with pytest.raises(msgspec.ValidationError, match="fault"):
        read_scenario(tmp_path / "a.json")


def test_a_shape_names_the_first_thing_that_is_wrong() -> None:
    """Missing, unknown, null."""
    found = shape("a! b? c", "d!")
    assert found.faults({"a": 1, "d": 2, "b": None}, "x", "R") is None
    for value, where in (
        ({"a": 1}, "x.d"),
        ({"a": 1, "d": 1, "e": 1}, "x.e"),
        ({"a": 1, "d": 1, "c": None}, "x.c"),
    ):
        refusal = found.faults(value, "x", "R")
        assert refusal is not None
        assert (refusal.param, refusal.rule) == (where, "R")
