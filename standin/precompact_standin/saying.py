"""What the model says to a request, and how it ends: the script's reply, a summary where one is asked for, or a few words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from precompact_standin.counting import Counter
from precompact_standin.models import Model
from precompact_standin.scenario import Fault, FaultKind, Reply, Scenario, ToolCall
from precompact_standin.summarising import (
    Heading,
    Spoken,
    Told,
    asked_headings,
    repeats,
    summarise,
    taken_apart,
    wants_summary,
)

LONGEST_SUMMARY_TOKENS = 4_000


class Ending(StrEnum):
    """Why the model stopped."""

    DONE = "done"
    CALLS = "calls"
    LENGTH = "length"
    REFUSED = "refused"
    FILTERED = "filtered"
    PAUSED = "paused"
    STOPPED = "stopped"
    """At a stop sequence of the request, which `code` names."""
    WINDOW = "window"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Said:
    """One reply in no protocol's words. `tokens` is its length, thinking included."""

    text: str = ""
    ending: Ending = Ending.DONE
    thinking: str = ""
    calls: tuple[ToolCall, ...] = ()
    code: str = ""
    tokens: int = 0
    thinking_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Asked:
    """What a request asks, read out of its protocol."""

    said: Sequence[Spoken]
    instruction: str = ""
    """The newest text that tells the model what to do."""
    system: str = ""
    max_tokens: int = 1
    room: int = 1
    """Tokens left in the window."""
    thinks: bool = False
    tools: Sequence[str] = ()
    always_summary: bool = False
    stops: Sequence[str] = ()
    """Words that end the reply."""


_ENDINGS: Mapping[FaultKind, Ending] = {
    FaultKind.REFUSAL: Ending.REFUSED,
    FaultKind.TRUNCATED: Ending.LENGTH,
    FaultKind.PAUSED: Ending.PAUSED,
    FaultKind.WINDOW_EXCEEDED: Ending.WINDOW,
    FaultKind.FAILED: Ending.FAILED,
    FaultKind.INCOMPLETE: Ending.LENGTH,
}


class Speaker:
    """Says things for a model."""

    def __init__(self, scenario: Scenario, counter: Counter) -> None:
        self._scenario = scenario
        self._counter = counter

    def say(self, asked: Asked, model: Model, *, fault: Fault | None, reply: Reply | None) -> Said:
        """The reply, its length measured and held within what the request allows."""
        said = self._spoiled(_stopped(self._plain(asked, reply), asked.stops), asked, fault)
        return self._bounded(said, asked, model)

    def _plain(self, asked: Asked, reply: Reply | None) -> Said:
        if reply is not None:
            ending = Ending.CALLS if reply.calls else Ending.DONE
            return Said(reply.text, ending, reply.thinking, reply.calls)
        thinking = "The request is clear." if asked.thinks else ""
        return Said(self._summary(asked) or self._scenario.reply_text, thinking=thinking)

    def _summary(self, asked: Asked) -> str:
        told = taken_apart(asked.instruction)
        headings = asked_headings(told.asks) or asked_headings(asked.system, strict=True)
        if not headings and repeats(told.asks):
            told, headings = _asked_before(asked)
        if not headings and not asked.always_summary and not wants_summary(told.asks):
            return ""
        others = [spoken for spoken in asked.said if spoken.text != asked.instruction]
        max_tokens = min(asked.max_tokens, asked.room, LONGEST_SUMMARY_TOKENS)
        return summarise(headings, told.material or others or asked.said, max_tokens * 3 // 2)

    def _spoiled(self, said: Said, asked: Asked, fault: Fault | None) -> Said:
        kind = fault.kind if fault else None
        if fault is None or kind is None:
            return said
        if kind in {FaultKind.EMPTY_CONTENT, FaultKind.NULL_COMPACTION}:
            return Said()
        if kind is FaultKind.BLANK_TEXT:
            return Said(" \n")
        if kind is FaultKind.TOOL_CALL:
            name = asked.tools[0] if asked.tools else "bash"
            return Said("", Ending.CALLS, calls=(ToolCall(name=name, input={"command": "ls"}),))
        if kind in {FaultKind.TRUNCATED, FaultKind.INCOMPLETE}:
            filtered = fault.code == "content_filter"
            ending = Ending.FILTERED if filtered else Ending.LENGTH
            return replace(said, text=said.text[: len(said.text) // 2], ending=ending, code=fault.code)
        if kind in _ENDINGS:
            text = (
                said.text[: len(said.text) // 3]
                if kind in {FaultKind.PAUSED, FaultKind.WINDOW_EXCEEDED}
                else ""
            )
            return Said(text, _ENDINGS[kind], code=fault.code)
        return said

    def _bounded(self, said: Said, asked: Asked, model: Model) -> Said:
        limit = min(asked.max_tokens, asked.room)
        thinking_tokens = min(limit, self._counter.text(said.thinking, model.factor))
        spare = limit - thinking_tokens - self._call_tokens(said, model)
        text = self._cut(said.text, spare, model)
        ending = said.ending
        if len(text) < len(said.text):
            ending = Ending.WINDOW if asked.room < asked.max_tokens else Ending.LENGTH
        tokens = thinking_tokens + self._counter.text(text, model.factor) + self._call_tokens(said, model)
        return replace(said, text=text, ending=ending, tokens=tokens, thinking_tokens=thinking_tokens)

    def _call_tokens(self, said: Said, model: Model) -> int:
        return sum(self._counter.text(f"{call.name} {call.input}", model.factor) for call in said.calls)

    def _cut(self, text: str, tokens: int, model: Model) -> str:
        """The longest beginning of about so many tokens."""
        have = self._counter.text(text, model.factor)
        if have <= tokens:
            return text
        length = len(text) * max(0, tokens) // have
        while length and self._counter.text(text[:length], model.factor) > tokens:
            length = length * 9 // 10
        return text[:length]


def _asked_before(asked: Asked) -> tuple[Told, list[Heading]]:
    """The newest earlier request of the user's that named headings."""
    for spoken in reversed(asked.said):
        told = taken_apart(spoken.text) if spoken.role == "user" else Told("")
        if found := asked_headings(told.asks):
            return told, found
    return Told(""), []


def _stopped(said: Said, stops: Sequence[str]) -> Said:
    """The reply up to the first stop sequence in it, which is left out."""
    places = [(said.text.find(stop), stop) for stop in stops if stop and stop in said.text]
    if not places:
        return said
    at, stop = min(places)
    return replace(said, text=said.text[:at], ending=Ending.STOPPED, calls=(), code=stop)
