"""What a model call used, brought to one convention: the prompt's tokens by price class, then the reply's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens by price class. The prompt's size is the sum of the first three."""

    input_tokens: int = 0
    """Of the prompt, neither read from a cache nor written to one."""
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    output_tokens: int = 0
    """Thinking and reasoning included."""
    cache_write_hour_tokens: int = 0
    """Of `cache_write_tokens`, what is kept for an hour: it has a price of its own."""

    @property
    def prompt_tokens(self) -> int:
        """All of the prompt, cached or not."""
        return self.input_tokens + self.cache_read_tokens + self.cache_write_tokens

    def __add__(self, other: Usage) -> Usage:
        """The sum, class by class."""
        return Usage(
            self.input_tokens + other.input_tokens,
            self.cache_read_tokens + other.cache_read_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
            self.output_tokens + other.output_tokens,
            self.cache_write_hour_tokens + other.cache_write_hour_tokens,
        )


def anthropic_usage(told: Any) -> Usage:
    """From a Messages reply: `input_tokens` is the uncached part alone, and `iterations`, where there are any, is all.

    The top level leaves compaction out: 0 for a compaction on demand, the message alone for one at a threshold.
    """
    usage = _object(told)
    iterations = usage.get("iterations")
    if isinstance(iterations, list) and iterations:
        return sum((_anthropic_entry(_object(one)) for one in iterations), Usage())
    return _anthropic_entry(usage)


def _anthropic_entry(usage: Mapping[str, Any]) -> Usage:
    written = _whole(usage, "cache_creation_input_tokens")
    for_an_hour = _whole(_object(usage.get("cache_creation")), "ephemeral_1h_input_tokens")
    return Usage(
        _whole(usage, "input_tokens"),
        _whole(usage, "cache_read_input_tokens"),
        written,
        _whole(usage, "output_tokens"),
        min(for_an_hour, written),
    )


def responses_usage(told: Any) -> Usage:
    """From a Responses reply: `input_tokens` includes what was read from the cache and written to it."""
    usage = _object(told)
    return _inclusive(usage, "input_tokens", "input_tokens_details", "output_tokens")


def chat_usage(told: Any) -> Usage:
    """From a Chat Completions reply: as Responses, under other names."""
    usage = _object(told)
    return _inclusive(usage, "prompt_tokens", "prompt_tokens_details", "completion_tokens")


def _inclusive(usage: Mapping[str, Any], prompt: str, details: str, output: str) -> Usage:
    detail = _object(usage.get(details))
    total = _whole(usage, prompt)
    read = min(_whole(detail, "cached_tokens"), total)
    written = min(_whole(detail, "cache_write_tokens"), total - read)
    return Usage(total - read - written, read, written, _whole(usage, output))


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _whole(usage: Mapping[str, Any], name: str) -> int:
    value = usage.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
