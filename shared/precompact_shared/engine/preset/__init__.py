"""Presets: the five decisions of one system as data, read from `precompact_shared/presets/*.toml`.

`records` and `clearing` say what each key means, `limits` turns a trigger into numbers for one window, `reading` parses and checks.
"""

from __future__ import annotations

from precompact_shared.engine.preset.clearing import ClearingRule, ClearMode, KindRule
from precompact_shared.engine.preset.limits import Limits
from precompact_shared.engine.preset.reading import (
    DEFAULT_PRESET,
    Preset,
    load_preset,
    parse_preset,
    preset_names,
)
from precompact_shared.engine.preset.records import (
    Adoption,
    Boundary,
    CutRule,
    Form,
    Holding,
    Injection,
    KeepBy,
    Recovery,
    Section,
    SectionCheck,
    StatePlace,
    SummaryPlace,
    SummaryRule,
    Trigger,
    Waiting,
)

__all__ = [
    "DEFAULT_PRESET",
    "Adoption",
    "Boundary",
    "ClearMode",
    "ClearingRule",
    "CutRule",
    "Form",
    "Holding",
    "Injection",
    "KeepBy",
    "KindRule",
    "Limits",
    "Preset",
    "Recovery",
    "Section",
    "SectionCheck",
    "StatePlace",
    "SummaryPlace",
    "SummaryRule",
    "Trigger",
    "Waiting",
    "load_preset",
    "parse_preset",
    "preset_names",
]
