"""What a provider is asked and what it answers."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from precompact_shared.engine.preset import Preset
from precompact_shared.engine.summary import Carried
from precompact_shared.engine.types import Entry, Format


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
    covered: tuple[Entry, ...]
    """Entries that no summary has covered yet."""
    covered_tokens: int
    max_tokens: int
    focus: str | None
    attempt: int
    """Of the job, from 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A summary as it came, and what it cost. Money in US dollars."""

    text: str
    tokens: int
    """Of the text, in o200k tokens."""
    stop: Stop = Stop.END
    model: str | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0


class Provider(Protocol):
    """Writes summaries. Retries, deadlines and checks are not its business."""

    @property
    def name(self) -> str:
        """As policies name it."""
        ...

    async def summarise(self, request: Request) -> Reply:
        """The summary. Raises `ProviderFailed` or `ProviderRefused`; may be cancelled at any await."""
        ...
