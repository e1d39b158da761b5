"""Reading presets: parsed once, checked key by key."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import Any, get_args, get_origin, get_type_hints

from precompact_shared.engine.preset.clearing import ClearingRule
from precompact_shared.engine.preset.limits import Limits, limits_for
from precompact_shared.engine.preset.records import (
    Adoption,
    CutRule,
    Injection,
    KeepBy,
    Recovery,
    SummaryRule,
    Trigger,
)
from precompact_shared.errors import Configuration

DEFAULT_PRESET = "precompact"


@dataclass(frozen=True, slots=True)
class Preset:
    """The five decisions of one system. `version` changes whenever any value does."""

    name: str
    version: str
    about: str
    trigger: Trigger
    cut: CutRule
    clearing: ClearingRule
    adoption: Adoption
    summary: SummaryRule
    injection: Injection
    recovery: Recovery

    def limits(self, *, window: int, max_output: int) -> Limits:
        """The numbers for a window and an output reserve, both in tokens.

        Raises `Configuration` when nothing is left of the window: a limit that can never be kept is refused.
        """
        return limits_for(self.trigger, self.cut, self.adoption, window=window, max_output=max_output)

    def saving_min(self, tokens_before: int) -> int:
        """Tokens a compaction of a context of this size has to save to be worth adopting below the limit."""
        return max(self.adoption.saving_min_tokens, int(tokens_before * self.adoption.saving_min_share))


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
    _check_values(preset)
    return preset


def _check_values(preset: Preset) -> None:
    """What types cannot say: numbers that no system could work with."""
    trigger, cut = preset.trigger, preset.cut
    if trigger.limit_tokens and trigger.limit_tokens < trigger.limit_tokens_least:
        raise Configuration(
            f"preset.trigger.limit_tokens has to be {trigger.limit_tokens_least} or more; the provider refuses less."
        )
    if cut.keep_by is KeepBy.HISTORY_SHARE and not 0 < cut.keep_history_share < 1:
        raise Configuration("preset.cut.keep_history_share has to lie between 0 and 1, both excluded.")
    if not 0 < trigger.start_low <= trigger.start_high <= 1:
        raise Configuration("preset.trigger: 0 < start_low <= start_high <= 1.")


def _record(kind: Any, table: Mapping[str, Any], *, where: str) -> Any:
    wanted = [field.name for field in fields(kind)]
    wrong = sorted(set(wanted).symmetric_difference(table))
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
