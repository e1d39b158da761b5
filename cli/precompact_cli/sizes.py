"""How large a recording is: estimated tokens of each message, and of what every prompt holds besides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from precompact_cli.recording import ModelCall, Recording
from precompact_shared.engine.tokens import count_message

_FIRST_CALLS = 3
"""Of these the smallest rest is the fixed part; in a late call the estimate of the messages has drifted."""
_STALE_DROP = 0.5
"""A prompt that shrinks by more than this from one call to the next: what was reported before is of another history."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """Tokens by message, as the service estimates them, and the part of every prompt that no message holds."""

    tokens: tuple[int, ...]
    upto: tuple[int, ...]
    """Tokens of `messages[:n]`, for n from 0."""
    fixed: int
    """System prompt and tools, as far as the provider's counts show them; 0 where nothing was recorded."""
    trusted_from: int = 0
    """What calls with a shorter prefix reported was measured on another history."""

    @property
    def total(self) -> int:
        """The whole last prompt."""
        return self.fixed + self.upto[-1]

    def scale(self, call: ModelCall) -> float:
        """What a token of our estimate was to the provider in this call; 1 where it reported nothing."""
        estimated = self.upto[call.prefix]
        if call.reported is None or not estimated or call.prefix < self.trusted_from:
            return 1.0
        return max(0.0, call.reported - self.fixed) / estimated

    def prompt(self, call: ModelCall) -> int:
        """The whole prompt of a call, with the whole history in it."""
        return self.fixed + round(self.upto[call.prefix] * self.scale(call))

    def reported(self, call: ModelCall, context_tokens: int) -> int | None:
        """What the provider would have counted for a prompt with this context instead of the whole history."""
        if call.reported is None or call.prefix < self.trusted_from:
            return None
        return self.fixed + round(context_tokens * self.scale(call))


def measure(recording: Recording) -> Sizes:
    """Counts every message once; about a second for a million characters."""
    tokens = tuple(count_message(recording.format, one, recording.model) for one in recording.messages)
    upto = tuple(accumulate(tokens, initial=0))
    trusted = _trusted(recording.calls)
    return Sizes(tokens, upto, _fixed(trusted, upto), trusted[0].prefix if trusted else 0)


def _trusted(calls: Sequence[ModelCall]) -> list[ModelCall]:
    """The calls with a count, from the last great drop on."""
    counted = [(call, call.reported) for call in calls if call.reported is not None]
    start = 0
    for index, ((_, before), (_, after)) in enumerate(pairwise(counted), 1):
        if after < before * _STALE_DROP:
            start = index
    return [call for call, _ in counted[start:]]


def _fixed(calls: Sequence[ModelCall], upto: Sequence[int]) -> int:
    return max(0, min(((call.reported or 0) - upto[call.prefix] for call in calls[:_FIRST_CALLS]), default=0))
