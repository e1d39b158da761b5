"""A summary by a model: as many calls as its window asks for, each failure answered by what helps against it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from precompact_shared.engine.mode import Choice
from precompact_shared.engine.summary import MODEL_SHARE, Spoken, segments, spoken
from precompact_shared.engine.tokens import count_text, family_factor
from precompact_shared.engine.usage import Usage
from precompact_shared.models import ModelWindow
from precompact_worker.book import Book
from precompact_worker.prompting import Ask, Task, first_ask, nudged, overhead
from precompact_worker.providers.base import Reply, Request
from precompact_worker.providers.speaking import Said, Speaker
from precompact_worker.providers.verdicts import Finding, ProviderMisconfigured, Verdict, error_of

DEGREES = (1.0, 0.7, 0.5, 0.35)
"""Shares of what was sent in one go, each tried from the original when the provider says that it was too large."""
MOST_PARTS = 200
"""Twenty times a window of 8,000 tokens takes a hundred to 150."""
ROOM_SHARE = 0.95
"""Our count is an estimate."""
LEAST_PART_TOKENS = 512
LEAST_OUTPUT_TOKENS = 256
OUTPUT_SLACK = 1.5
"""A reply may be so much longer than asked before it is cut off: too long is told apart from cut off."""
MODE = "transcript"


@dataclass(frozen=True, slots=True)
class Writer:
    """A model that writes summaries from transcripts; `window` None = nobody knows it."""

    speaker: Speaker
    window: ModelWindow | None
    mask: Callable[[str], str] = str
    choice: Choice | None = None
    """Why a transcript."""

    @property
    def name(self) -> str:
        """As policies name it."""
        return self.speaker.name

    async def summarise(self, request: Request, book: Book) -> Reply:
        """The summary of everything covered, in parts where the window is smaller. Raises an error of `verdicts`."""
        rule = request.preset.summary
        said = await asyncio.to_thread(spoken, request.format, request.covered, rule, self.mask)
        finding: Finding | None = None
        room = self._room(request)
        refused: Sequence[tuple[Spoken, ...]] = ()
        for degree in DEGREES:
            parts = await asyncio.to_thread(segments, said, _smaller(room, said, degree))
            if len(parts) > MOST_PARTS:
                break
            if parts == refused:
                continue
            outcome = await self._write(parts, request, book)
            if isinstance(outcome, Reply):
                return outcome
            finding, refused = outcome, parts
            if finding.verdict is not Verdict.OVERFLOW:
                break
        raise error_of(finding or Finding(Verdict.OVERFLOW, "too_many_parts"))

    async def amend(self, request: Request, reply: Reply, problem: str, book: Book) -> Reply:
        """The last request again, with its answer and what is wrong with it."""
        if reply.asked is None:
            return reply
        ask = nudged(reply.asked, reply.text, self.mask(problem), self._written(request))
        said = await self._say(ask, book)
        if said.finding.verdict is not Verdict.OK:
            raise error_of(said.finding)
        return _reply(said, reply.asked, reply.seen_tokens)

    async def _write(
        self, parts: Sequence[tuple[Spoken, ...]], request: Request, book: Book
    ) -> Reply | Finding:
        previous, reply = request.previous, None
        seen = sum(one.seen_tokens for part in parts for one in part)
        for number, part in enumerate(parts, start=1):
            task = Task(
                preset=request.preset,
                part=part,
                number=number,
                of=len(parts),
                previous=await asyncio.to_thread(self.mask, previous),
                focus=self.mask(request.focus) if request.focus else None,
                written_tokens=self._written(request),
            )
            ask = first_ask(task, self._output(request))
            said = await self._say(ask, book)
            if said.finding.verdict is not Verdict.OK:
                return said.finding
            previous, reply = said.text, _reply(said, ask, seen)
        return reply or Finding(Verdict.EMPTY, "nothing_to_read")

    async def _say(self, ask: Ask, book: Book) -> Said:
        """One call, and a second one where that helps: no text came, or it was cut off (with twice the room)."""
        said = await self._call(ask, book)
        if said.finding.verdict is Verdict.TRUNCATED and self.window:
            more = min(ask.max_tokens * 2, self.window.max_output)
            again = Ask(system=ask.system, turns=ask.turns, max_tokens=more)
            return await self._call(again, book) if more > ask.max_tokens else said
        if said.finding.verdict is Verdict.EMPTY:
            return await self._call(ask, book)
        return said

    async def _call(self, ask: Ask, book: Book) -> Said:
        model, expected = self.speaker.model or None, Usage(input_tokens=self._prompt_tokens(ask))
        async with book.pay(
            self.name, model, mode=MODE, expected=expected, choice=self.choice, place=self.speaker.place
        ) as call:
            return await self.speaker.say(ask, call)

    def _prompt_tokens(self, ask: Ask) -> int:
        text = sum(map(count_text, (ask.system, *(turn.text for turn in ask.turns))))
        return int(text * family_factor(self.speaker.model))

    def _written(self, request: Request) -> int:
        """What the model is told to write at most, in o200k tokens: no more than its output limit has room for."""
        possible = self._known().max_output / family_factor(self.speaker.model) / OUTPUT_SLACK
        return int(min(request.max_tokens * MODEL_SHARE, possible))

    def _output(self, request: Request) -> int:
        wanted = int(self._written(request) * family_factor(self.speaker.model) * OUTPUT_SLACK)
        return max(LEAST_OUTPUT_TOKENS, wanted)

    def _room(self, request: Request) -> int:
        """Tokens of transcript that one call takes, in o200k tokens."""
        known = self._known()
        written = self._written(request)
        # The record so far, ours or the last generation's; and once more where it is sent back with what it lacks.
        beside = sum(map(count_text, overhead(request.preset, request.focus)))
        beside += max(count_text(request.previous), written) + written
        free = (known.window - self._output(request)) / family_factor(self.speaker.model) * ROOM_SHARE
        room = int(free - beside)
        if room < LEAST_PART_TOKENS:
            raise error_of(Finding(Verdict.OVERFLOW, "window_too_small"))
        return room

    def _known(self) -> ModelWindow:
        if self.window is None:
            raise ProviderMisconfigured(
                "Nobody knows the window of this provider's model; set `window` and `max_output` in the policy.",
                provider=self.name,
            )
        return self.window


def _smaller(room: int, said: Sequence[Spoken], degree: float) -> int:
    """What a part may have: less than what was refused, which may have been far less than we thought the model takes."""
    if degree == 1:
        return room
    return max(LEAST_PART_TOKENS, int(min(room, sum(one.tokens for one in said)) * degree))


def _reply(said: Said, ask: Ask, seen_tokens: int | None) -> Reply:
    return Reply(text=said.text, tokens=count_text(said.text), asked=ask, seen_tokens=seen_tokens)
