"""What a provider is asked and what it answers."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, runtime_checkable

from precompact_shared.engine.preset import Preset
from precompact_shared.engine.summary import Carried
from precompact_shared.engine.types import Edit, Entry, Format, Message
from precompact_worker.book import Book
from precompact_worker.prompting import Ask


class Stop(StrEnum):
    """Why a reply ended."""

    END = "end"
    CUT_OFF = "cut_off"
    """At the output limit: the rest is missing."""
    TOOL_CALL = "tool_call"
    """It wants to run a tool instead of writing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What to summarise: the facts kept by code, and the entries themselves for providers that read them."""

    format: Format
    preset: Preset
    carried: Carried
    """Facts of everything covered, previous generations included; without those in `head`."""
    head: Carried | None = None
    """Facts of the head of a turn that the cut divides, to be told apart from the rest; None for none."""
    known: Carried
    """Both together."""
    covered: tuple[Entry, ...]
    """Entries that no summary has covered yet."""
    covered_tokens: int
    tail: tuple[Entry, ...] = ()
    """The entries behind the cut, which stay, up to the first call that still waits for its result."""
    max_tokens: int
    """Of the summary, in o200k tokens."""
    focus: str | None
    attempt: int
    """Of the job, from 1."""
    previous: str = ""
    """The summary that stands for what came before `covered`; empty for none."""
    opening: tuple[Message, ...] = ()
    """The messages that stand for what came before `covered` in the context."""
    edits: tuple[Edit, ...] = ()
    """Of the current checkpoint: how the context shows some of `covered`."""
    model: str | None = None
    """Of the session."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NativeReply:
    """A provider's own block: messages (Anthropic) or items (Responses), each the bytes that came."""

    family: str
    """Models that may read it."""
    items: tuple[bytes, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A summary as it came."""

    text: str
    tokens: int
    """Of the text, in o200k tokens."""
    stop: Stop = Stop.END
    seen_tokens: int | None = None
    """Of the covered entries' own tokens, how many the writer saw; None = all."""
    asked: Ask | None = None
    """The request that brought it, for a provider that can be asked again."""
    native: NativeReply | None = None


class Provider(Protocol):
    """Writes summaries. Deadlines and checks are not its business; every call goes into the book."""

    @property
    def name(self) -> str:
        """As policies name it."""
        ...

    async def summarise(self, request: Request, book: Book) -> Reply:
        """The summary. Raises an error of `verdicts`; may be cancelled at any await."""
        ...


@runtime_checkable
class Amends(Protocol):
    """A provider that can be told what is wrong with its reply."""

    async def amend(self, request: Request, reply: Reply, problem: str, book: Book) -> Reply:
        """A better reply. Raises as `summarise` does."""
        ...
