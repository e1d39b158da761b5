"""Presets: the five decisions of one system as data, read from `precompact_shared/presets/*.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import Any, get_args, get_origin, get_type_hints

from precompact_shared.errors import Configuration

DEFAULT_PRESET = "precompact"


class Boundary(StrEnum):
    """Where a cut prefers to fall."""

    TURN = "turn"
    """In front of a genuine user message, if the tail it leaves is worth keeping."""
    ANY = "any"
    """At the first safe place where the tail has reached its budget, inside a turn if need be."""


class Holding(StrEnum):
    """What a section of the summary is filled with by code."""

    REQUESTS = "requests"
    """The user's own words, newest first."""
    CONSTRAINTS = "constraints"
    """Sentences of the user that stay true: always, never, must, do not."""
    PLAN = "plan"
    """The plan as the agent last wrote it."""
    LAST_WORDS = "last_words"
    """The newest assistant text of the covered part."""
    OUTCOMES = "outcomes"
    """How the assistant answered earlier requests."""
    FILES = "files"
    """Files modified and files read, cumulative."""
    FAILURES = "failures"
    """Tool calls whose last try failed, with the error."""
    COMMANDS = "commands"
    """The newest shell commands."""
    OPEN = "open"
    """The request that has no finished answer yet."""
    ADDRESSES = "addresses"
    """The covered turns and where `recall` finds them."""


@dataclass(frozen=True, slots=True)
class Trigger:
    """When. A limit is a share of `hard` or, where `limit_reserve_tokens` is not 0, the window less that reserve."""

    limit_share_of_hard: float
    limit_reserve_tokens: int
    limit_is_exceeded: bool
    """True: only a size above the limit counts as reached; False: the limit itself does."""
    margin_share: float
    start_low: float
    start_high: float
    min_tokens: int
    small_window_tokens: int
    small_window_min_share: float


@dataclass(frozen=True, slots=True)
class CutRule:
    """Where."""

    keep_tokens: int
    keep_share_max: float
    boundary: Boundary


@dataclass(frozen=True, slots=True)
class Adoption:
    """The soft gates: when a candidate is still worth adopting below the limit."""

    growth_keeps: float
    growth_min_tokens: int
    growth_limit_share: float
    growth_hard_share_max: float
    saving_min_tokens: int
    saving_min_share: float


@dataclass(frozen=True, slots=True)
class Section:
    """One heading of the summary. `share` is its part of `max_tokens`; what it leaves, the others may use."""

    heading: str
    holds: tuple[Holding, ...]
    share: float


@dataclass(frozen=True, slots=True)
class SummaryRule:
    """What."""

    max_tokens: int
    sections: tuple[Section, ...]


@dataclass(frozen=True, slots=True)
class Injection:
    """How it comes back: a user message made of opening, preface, summary, closing; an empty acknowledgement = none."""

    opening: str
    closing: str
    preface: str
    acknowledgement: str


@dataclass(frozen=True, slots=True)
class Recovery:
    """What if it fails."""

    nudges: int
    chain_ends_with: str


@dataclass(frozen=True, slots=True)
class Limits:
    """A preset's trigger for one window, in tokens. `start_low <= start_high <= limit <= hard < window`."""

    hard: int
    limit: int
    start_low: int
    start_high: int
    min_tokens: int
    keep_tokens: int
    growth_max: int
    """Largest growth since the snapshot at which a candidate is adopted below the limit."""
    limit_is_exceeded: bool

    def reached(self, tokens: int) -> bool:
        """Whether a request of this size has reached the soft limit."""
        return tokens > self.limit if self.limit_is_exceeded else tokens >= self.limit


@dataclass(frozen=True, slots=True)
class Preset:
    """The five decisions of one system. `version` changes whenever any value does."""

    name: str
    version: str
    about: str
    trigger: Trigger
    cut: CutRule
    adoption: Adoption
    summary: SummaryRule
    injection: Injection
    recovery: Recovery

    def limits(self, *, window: int, max_output: int) -> Limits:
        """The numbers for a window and an output reserve, both in tokens.

        Raises `Configuration` when nothing is left of the window: a limit that can never be kept is refused.
        """
        hard = window - max_output - round(window * self.trigger.margin_share)
        limit = min(hard, self._limit(window, hard))
        if limit <= 0:
            raise Configuration(
                "The window leaves no room for any input; send the model's real window or a smaller max_output.",
                window=window,
                max_output=max_output,
            )
        keep = min(self.cut.keep_tokens, int(limit * self.cut.keep_share_max))
        return Limits(
            hard=hard,
            limit=limit,
            start_low=int(limit * self.trigger.start_low),
            start_high=int(limit * self.trigger.start_high),
            min_tokens=self._minimum(window, limit),
            keep_tokens=keep,
            growth_max=self._growth_max(keep, limit, hard),
            limit_is_exceeded=self.trigger.limit_is_exceeded,
        )

    def saving_min(self, tokens_before: int) -> int:
        """Tokens a compaction of a context of this size has to save to be worth adopting below the limit."""
        return max(self.adoption.saving_min_tokens, int(tokens_before * self.adoption.saving_min_share))

    def _limit(self, window: int, hard: int) -> int:
        reserve = self.trigger.limit_reserve_tokens
        return window - reserve if reserve else int(hard * self.trigger.limit_share_of_hard)

    def _minimum(self, window: int, limit: int) -> int:
        if window < self.trigger.small_window_tokens:
            return int(limit * self.trigger.small_window_min_share)
        return self.trigger.min_tokens

    def _growth_max(self, keep: int, limit: int, hard: int) -> int:
        gate = self.adoption
        growth = max(gate.growth_keeps * keep, gate.growth_min_tokens, gate.growth_limit_share * limit)
        return int(min(growth, gate.growth_hard_share_max * hard))


@cache
def preset_names() -> tuple[str, ...]:
    """The presets that ship, in alphabetical order."""
    folder = files("precompact_shared").joinpath("presets")
    names = (item.name for item in folder.iterdir())
    return tuple(sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml")))


@cache
def load_preset(name: str) -> Preset:
    """The shipped preset of that name; parsed once. Raises `Configuration` with the names there are."""
    if name not in preset_names():
        raise Configuration(
            f"There is no preset of that name; use one of: {', '.join(preset_names())}.",
            known=len(preset_names()),
        )
    source = files("precompact_shared").joinpath("presets", f"{name}.toml").read_text(encoding="utf-8")
    return parse_preset(source)


def parse_preset(source: str) -> Preset:
    """A preset from TOML text. Every key has to be there and no other; raises `Configuration` naming the key."""
    preset: Preset = _record(Preset, tomllib.loads(source), where="preset")
    return preset


def _record(kind: Any, table: Mapping[str, Any], *, where: str) -> Any:
    wanted = {field.name for field in fields(kind)}
    wrong = sorted(wanted.symmetric_difference(table))
    if wrong:
        raise Configuration(f"In {where}: missing or unknown: {', '.join(wrong)}.")
    hints = get_type_hints(kind)
    return kind(**{name: _value(hints[name], table[name], where=f"{where}.{name}") for name in wanted})


def _value(kind: Any, given: Any, *, where: str) -> Any:
    if is_dataclass(kind):
        return _record(kind, given, where=where)
    if get_origin(kind) is tuple:
        item = get_args(kind)[0]
        return tuple(_value(item, one, where=f"{where}[{index}]") for index, one in enumerate(given))
    if issubclass(kind, StrEnum):
        return _member(kind, given, where=where)
    if kind is float and type(given) is int:
        return float(given)
    if type(given) is not kind:
        raise Configuration(f"{where} has to be a {kind.__name__}.")
    return given


def _member(kind: type[StrEnum], given: Any, *, where: str) -> StrEnum:
    try:
        return kind(given)
    except ValueError:
        raise Configuration(f"{where} has to be one of: {', '.join(kind)}.") from None
