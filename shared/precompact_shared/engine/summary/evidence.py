"""The evidence check: exact strings that a summary must not lose, found by code, looked for by code."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from precompact_shared.engine.catalogue import Touch
from precompact_shared.engine.preset import Holding, Preset, Section
from precompact_shared.engine.summary.carried import Carried
from precompact_shared.engine.summary.headings import add_lines, has_heading
from precompact_shared.engine.tokens import count_text

MOST_OF_A_KIND = 24
_LONGEST = 200
_URL = re.compile(r"https?://[^\s<>\"'`)\]}]+")
_TICKED = re.compile(r"`([^`\n]{3,120})`")
_CODE_WORD = re.compile(
    r"(?<![\w./-])(?:[A-Za-z]\w*_\w+|[a-z]+[A-Z]\w+|\w+(?:::|->|\.)\w+\(\)|[A-Z]{2,}-\d+)(?![\w/])"
)


class EvidenceKind(StrEnum):
    """What an exact string is."""

    PATH = "path"
    """A file that was modified."""
    COMMAND = "command"
    """One of the newest commands."""
    ERROR = "error"
    """The first line of an error that nothing has solved yet."""
    URL = "url"
    """From the user's messages."""
    IDENTIFIER = "identifier"
    """A name in code, in the user's messages."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """One exact string."""

    kind: EvidenceKind
    text: str


@dataclass(frozen=True, slots=True)
class Score:
    """How much of the evidence the text holds, 1 when there is none to hold."""

    missing: tuple[Evidence, ...]
    total: int

    @property
    def share(self) -> float:
        """Share that is there."""
        return 1.0 - len(self.missing) / self.total if self.total else 1.0


def evidence_of(carried: Carried) -> tuple[Evidence, ...]:
    """What has to stay, newest first within each kind, at most 24 of a kind."""
    return tuple(Evidence(kind, text) for kind in EvidenceKind for text in _distinct(_SOURCES[kind](carried)))


def score(text: str, evidence: Sequence[Evidence]) -> Score:
    """What of it the text does not hold; white space does not matter."""
    flat = _flat(text)
    return Score(tuple(one for one in evidence if _flat(one.text) not in flat), len(evidence))


def add_missing(text: str, missing: Iterable[Evidence], preset: Preset, room_tokens: int) -> str:
    """The text with the missing strings under the headings they belong to, as many as fit the room."""
    for one in missing:
        line = f"- {one.kind}: `{one.text}`"
        cost = count_text(f"{line}\n") + 1
        section = _home(text, one, preset)
        if section is None or cost > room_tokens:
            continue
        text = add_lines(text, preset.summary.sections, section, [line])
        room_tokens -= cost
    return text


_HOMES = {
    EvidenceKind.PATH: (Holding.FILES,),
    EvidenceKind.COMMAND: (Holding.COMMANDS, Holding.FAILURES),
    EvidenceKind.ERROR: (Holding.FAILURES, Holding.COMMANDS),
    EvidenceKind.URL: (Holding.REQUESTS, Holding.CONSTRAINTS),
    EvidenceKind.IDENTIFIER: (Holding.REQUESTS, Holding.CONSTRAINTS),
}


def _home(text: str, one: Evidence, preset: Preset) -> Section | None:
    """The section that holds its kind, else the last one there is."""
    there = [section for section in preset.summary.sections if section.holds and has_heading(text, section)]
    for holding in _HOMES[one.kind]:
        found = next((section for section in there if holding in section.holds), None)
        if found is not None:
            return found
    return there[-1] if there else None


def _paths(carried: Carried) -> Iterator[str]:
    return (note.path for note in reversed(carried.files) if note.touch is Touch.MODIFIED)


def _commands(carried: Carried) -> Iterator[str]:
    return (run.what for run in list(reversed(carried.commands))[:8])


def _errors(carried: Carried) -> Iterator[str]:
    return (run.error.strip().partition("\n")[0] for run in reversed(carried.failures))


def _urls(carried: Carried) -> Iterator[str]:
    for said in _words(carried):
        yield from (url.rstrip(".,;:!?") for url in _URL.findall(said))


def _identifiers(carried: Carried) -> Iterator[str]:
    for said in _words(carried):
        yield from _TICKED.findall(said)
        yield from _CODE_WORD.findall(_URL.sub(" ", said))


def _words(carried: Carried) -> Iterator[str]:
    return (request.text[:20_000] for request in reversed(carried.requests))


_SOURCES = {
    EvidenceKind.PATH: _paths,
    EvidenceKind.COMMAND: _commands,
    EvidenceKind.ERROR: _errors,
    EvidenceKind.URL: _urls,
    EvidenceKind.IDENTIFIER: _identifiers,
}


def _distinct(texts: Iterable[str]) -> tuple[str, ...]:
    usable = (text for text in texts if 3 <= len(text) <= _LONGEST and "\n" not in text)
    return tuple(dict.fromkeys(usable))[:MOST_OF_A_KIND]


def _flat(text: str) -> str:
    return " ".join(text.split())
