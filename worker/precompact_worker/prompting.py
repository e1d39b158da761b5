"""What a model is asked: our own words from `prompts/*.md`, filled in. Pure but for reading those files once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from string import Template

from precompact_shared.engine.preset import Preset
from precompact_shared.engine.summary import Score, Spoken, joined
from precompact_shared.engine.summary.check import Rejected, RejectReason
from precompact_shared.engine.summary.transcript import harmless

WORDS_PER_TOKEN = 0.6
NAMED_IN_NUDGE = 20


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of a request to a model that writes."""

    role: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """One request to a model that writes."""

    system: str
    turns: tuple[Turn, ...]
    max_tokens: int
    """Of the reply, in the model's own tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What one request is about."""

    preset: Preset
    part: tuple[Spoken, ...]
    number: int
    """Of the part, from 1."""
    of: int
    previous: str
    focus: str | None
    written_tokens: int
    """The record may have so many, in o200k tokens."""


def first_ask(task: Task, max_tokens: int) -> Ask:
    """The request for a record."""
    text = _fill(
        "task",
        previous=_fill("previous", text=_apart(task.previous)) if task.previous else "",
        facts="",
        part=str(task.number),
        parts=str(task.of),
        transcript=joined(task.part),
        previous_note=_fill("previous_note").rstrip("\n") if task.previous else "",
        part_note=_fill("part_note", part=str(task.number), parts=str(task.of)).rstrip("\n")
        if task.of > 1
        else "",
        focus=_fill("focus", text=harmless(task.focus)).rstrip("\n") if task.focus else "",
        words=words_of(task.written_tokens),
        instructions=task.preset.summary.instructions.strip(),
        headings=headings(task.preset),
    )
    return Ask(system=_read("system").strip(), turns=(Turn("user", text.strip()),), max_tokens=max_tokens)


def head_note() -> str:
    """What a writer is told of the head of a turn that the cut divides."""
    return _read("head_note").strip()


def nudge_text(problem: str, max_tokens: int) -> str:
    """What a record that cannot be used is answered with."""
    return _fill("nudge", problem=problem, words=words_of(max_tokens)).strip()


@dataclass(frozen=True, slots=True)
class Kept:
    """The newest messages, which stay: how many entries, and how the first one begins."""

    number: int
    words: str


def prefix_task(preset: Preset, focus: str | None, written_tokens: int, kept: Kept | None = None) -> str:
    """The one more message that asks for a record of the conversation it stands in, but for what is kept of it."""
    return _fill(
        "prefix_task",
        kept=_fill("kept", number=str(kept.number), words=kept.words).rstrip("\n") if kept else "",
        focus=_fill("focus", text=harmless(focus)).rstrip("\n") if focus else "",
        words=words_of(written_tokens),
        instructions=preset.summary.instructions.strip(),
        headings=headings(preset),
    ).strip()


def nudged(ask: Ask, reply: str, problem: str, written_tokens: int) -> Ask:
    """The same request with its answer and what is wrong with it."""
    told = nudge_text(problem, written_tokens)
    turns = (*ask.turns, Turn("assistant", reply), Turn("user", told))
    return Ask(system=ask.system, turns=turns, max_tokens=ask.max_tokens)


def headings(preset: Preset) -> str:
    """The form to fill in: headings with what belongs under each; last in the request, as it is first in the answer."""
    forms = [
        "\n".join(filter(None, (one.heading, f"({one.asks})" if one.asks else "", one.closing)))
        for one in preset.summary.sections
    ]
    return "\n\n".join(forms)


def problem_of(rejected: Rejected | None, score: Score) -> str:
    """In words, what a record lacks."""
    problems = [] if rejected is None else [_SAYS[rejected.reason].format(section=rejected.section or "")]
    if score.missing:
        named = ", ".join(f"`{one.text}`" for one in score.missing[:NAMED_IN_NUDGE])
        problems.append(f"These stand in the transcript and have to be in the record exactly: {named}.")
    return " ".join(problems)


_SAYS = {
    RejectReason.BLANK: "It is empty.",
    RejectReason.TOO_LONG: "It is too long: shorten it to less than half.",
    RejectReason.NOT_SMALLER: "It is as long as what it replaces: shorten it to less than half.",
    RejectReason.SECTION_MISSING: 'The heading "{section}" is missing.',
    RejectReason.SECTION_ORDER: 'The heading "{section}" stands in the wrong place.',
    RejectReason.SECTION_EMPTY: 'Nothing stands under the heading "{section}".',
}


def words_of(tokens: int) -> str:
    """A limit as models keep it: in words, rounded."""
    words = max(50, int(tokens * WORDS_PER_TOKEN))
    return str(words - words % 10)


def overhead(preset: Preset, focus: str | None) -> Sequence[str]:
    """The texts of a request besides transcript and previous record, to be counted."""
    notes = ("system", "task", "previous", "previous_note", "part_note", "focus")
    return (*map(_read, notes), headings(preset), preset.summary.instructions, focus or "")


def _apart(text: str) -> str:
    return harmless(text).replace("</previous-record", "<\\/previous-record")


def _fill(name: str, **values: str) -> str:
    return Template(_read(name)).substitute(values)


@cache
def _read(name: str) -> str:
    return files("precompact_worker").joinpath("prompts", f"{name}.md").read_text(encoding="utf-8")
