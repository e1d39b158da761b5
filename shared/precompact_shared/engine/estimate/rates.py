"""What a tokenizer makes of a load, by model family: the constants the estimate starts from.

Fitted on recorded prompt sizes: 1,545 steps of older Claude, 28 of newer, 938 of GPT. `python -m tests.bench.tokens --fit`
prints them again, and the bench reports every figure with constants fitted without the session it is measured on.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Protocol, TypeVar

from precompact_shared.engine.estimate.loads import Load
from precompact_shared.engine.tokenizer import DOCUMENT_TOKENS, IMAGE_TOKENS, family_factor
from precompact_shared.engine.types import Format

AXES = 3
"""Directions in which a session may differ from its family: text, thinking, structure."""

Parts = tuple[float, float, float]
"""Tokens of a load by these directions."""


X_contra = TypeVar("X_contra", contravariant=True)


class Measures(Protocol[X_contra]):
    """What the estimate asks of rates once entries are weighed."""

    @property
    def counts_reasoning(self) -> bool:
        """See `Rates`."""
        ...

    def parts(self, load: X_contra, /) -> Parts:
        """What was weighed, in tokens by direction."""
        ...

    def found(self, load: X_contra, /) -> float:
        """See `Rates`."""
        ...


@dataclass(frozen=True, slots=True)
class Rates:
    """Tokens of the model's own tokenizer for one unit of a load."""

    name: str
    results: float
    arguments: float
    spoken: float
    given: float
    thinking: float
    hidden_char: float
    call: float
    """A call with its result, besides their texts."""
    key: float
    """A named argument."""
    search: float
    """What a search of the web by the provider brings in."""
    loose: Parts
    """How far a session may differ in each direction (standard deviation of the factor)."""
    counts_reasoning: bool
    """The reply's reasoning costs tokens that the transcript does not hold, and reports say how many."""
    leaves: float
    """Which share of the reasoning leaves the prompt when a new turn begins."""

    def parts(self, load: Load) -> Parts:
        """The load in tokens: text and media, thinking, structure. Reasoning that is only counted is not in it."""
        text = (
            self.results * load.results
            + self.arguments * load.arguments
            + self.spoken * load.spoken
            + self.given * load.given
            + IMAGE_TOKENS * load.images
            + DOCUMENT_TOKENS * load.documents
        )
        thinking = self.thinking * load.thinking + self.hidden_char * load.hidden_chars
        return text, thinking, self.call * load.calls + self.key * load.keys

    def found(self, load: Load) -> float:
        """What the provider's own searches brought in. It leaves again within minutes: no part of an entry's size."""
        return self.search * load.searches


OLDER_CLAUDE = Rates(
    name="claude up to 4.6",
    results=1.165,
    arguments=1.003,
    spoken=1.179,
    given=1.2,
    thinking=1.237,
    hidden_char=0.272,
    call=56.9,
    key=14.2,
    search=0.0,
    loose=(0.08, 0.3, 0.6),
    counts_reasoning=False,
    leaves=0.0,
)
OLDER_CLAUDE_DROPPING = replace(OLDER_CLAUDE, name="claude up to 4.5, dropping thinking", leaves=1.0)
NEWER_CLAUDE = Rates(
    name="claude from 4.7 on",
    results=1.578,
    arguments=1.358,
    spoken=1.596,
    given=1.624,
    thinking=1.675,
    hidden_char=0.272,
    call=56.9,
    key=14.2,
    search=0.0,
    loose=(0.08, 0.3, 0.6),
    counts_reasoning=False,
    leaves=0.0,
)
GPT = Rates(
    name="gpt",
    results=1.0,
    arguments=1.0,
    spoken=1.0,
    given=1.0,
    thinking=0.0,
    hidden_char=0.0,
    call=24.6,
    key=0.0,
    search=6_970.0,
    loose=(0.02, 0.3, 0.1),
    counts_reasoning=True,
    leaves=1.0,
)
"""o200k is their own tokenizer. One recorded GPT-5.6 session keeps its reasoning, and Chat Completions never put it into
the next prompt; sessions learn both."""
OTHER = Rates(
    name="other",
    results=1.0,
    arguments=1.0,
    spoken=1.0,
    given=1.0,
    thinking=0.0,
    hidden_char=0.0,
    call=0.0,
    key=0.0,
    search=0.0,
    loose=(0.2, 0.3, 0.6),
    counts_reasoning=False,
    leaves=0.0,
)
"""Tokenizers that were not measured: o200k, and wide open to what the session shows. Gemini's thoughts are reported, and
none of the recorded prompts held them."""

_CLAUDE = re.compile(r"(opus|sonnet|haiku)-(\d{1,2})(?!\d)(?:[-.](\d{1,2})(?!\d))?")
_KEEP_THINKING_SINCE = {"opus": (4, 5), "sonnet": (4, 6), "haiku": (5, 0)}
"""Recorded: Sonnet 4.5 drops the thinking of earlier turns, Opus 4.5 and Sonnet 4.6 keep it."""
_GPT = re.compile(r"(^|[/.])(gpt|o\d|codex|chatgpt)")


@lru_cache(maxsize=512)
def rates_of(format: Format, model: str | None) -> Rates:  # noqa: A002 - the design's word
    """The rates to start from. A model that nobody named is the format's newest."""
    name = (model or "").lower()
    if "claude" in name or (not name and format is Format.ANTHROPIC):
        return _claude(name)
    if not name or _GPT.search(name):
        return GPT
    return OTHER


def _claude(name: str) -> Rates:
    newer = not name or family_factor(name) > 1.4
    if newer:
        return NEWER_CLAUDE
    found = _CLAUDE.search(name)
    keeps = found is None or (int(found[2]), int(found[3] or 0)) >= _KEEP_THINKING_SINCE[found[1]]
    return OLDER_CLAUDE if keeps else OLDER_CLAUDE_DROPPING
