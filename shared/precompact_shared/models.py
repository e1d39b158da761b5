"""Windows of well-known models: a help for callers who send none. A policy's own table comes first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ModelWindow:
    """What a model can take and give, in tokens. The output reserve is what agents usually ask for, not the maximum."""

    window: int
    max_output: int


DEFAULT_MAX_OUTPUT = 8_192
"""Output reserve when a window is known and nothing else is."""

WELL_KNOWN: tuple[tuple[str, ModelWindow], ...] = (
    ("claude-3-haiku", ModelWindow(200_000, 4_096)),
    ("claude-3-opus", ModelWindow(200_000, 4_096)),
    ("claude-3", ModelWindow(200_000, 8_192)),
    ("claude", ModelWindow(200_000, 32_000)),
    ("gpt-3.5", ModelWindow(16_385, 4_096)),
    ("gpt-4o", ModelWindow(128_000, 16_384)),
    ("gpt-4.1", ModelWindow(1_047_576, 32_768)),
    ("gpt-4-turbo", ModelWindow(128_000, 4_096)),
    ("gpt-4-32k", ModelWindow(32_768, 4_096)),
    ("gpt-4", ModelWindow(8_192, 2_048)),
    ("gpt-5", ModelWindow(272_000, 32_000)),
    ("o1", ModelWindow(200_000, 32_000)),
    ("o3", ModelWindow(200_000, 32_000)),
    ("o4-mini", ModelWindow(200_000, 32_000)),
    ("gemini-2", ModelWindow(1_048_576, 65_536)),
    ("gemini-3", ModelWindow(1_048_576, 65_536)),
)
"""By prefix of the model's name, the first that fits; names are matched without a vendor in front (`openai/gpt-4o`)."""


def find_model(model: str | None) -> ModelWindow | None:
    """The window of a well-known model; None for any other."""
    if not model:
        return None
    name = model.rsplit("/", 1)[-1].rsplit(".", 1)[-1] if "anthropic." in model else model.rsplit("/", 1)[-1]
    return next((found for prefix, found in WELL_KNOWN if name.lower().startswith(prefix)), None)


def resolve_window(
    model: str | None,
    window: int | None,
    max_output: int | None,
    overrides: Mapping[str, ModelWindow] | None = None,
) -> ModelWindow | None:
    """What the caller said, else the policy's table, else the well-known one; None = unknown (`window_unknown`).

    A caller's window without an output reserve gets the known reserve, cut to a quarter of a small window.
    """
    known = _longest(model, overrides or {}) or find_model(model)
    if window is None and known is None:
        return None
    size = window if window is not None else known.window if known else 0
    if max_output is not None:
        return ModelWindow(size, max_output)
    reserve = known.max_output if known else DEFAULT_MAX_OUTPUT
    return ModelWindow(size, min(reserve, size // 4))


def _longest(model: str | None, overrides: Mapping[str, ModelWindow]) -> ModelWindow | None:
    fitting = [prefix for prefix in overrides if model and model.startswith(prefix)]
    return overrides[max(fitting, key=len)] if fitting else None
