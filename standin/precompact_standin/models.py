"""What is known of a model: window, longest output, tokenizer, smallest cacheable prefix. From the vendors' pages of 2026-11."""

from __future__ import annotations

from dataclasses import dataclass, replace

from precompact_standin.scenario import ModelRow, Scenario


@dataclass(frozen=True, slots=True)
class Model:
    """A model as the stand-in plays it. `factor`: tokens of its own for one of o200k."""

    name: str
    window: int
    max_output: int
    factor: float
    cache_min_tokens: int
    prefill: bool = False
    """Whether a request may end with the assistant's words, to be continued."""
    binds_thinking: bool = False
    """Whether thinking is checked against what stood before it."""
    charges_writes: bool = True
    """Whether cache writes are counted (OpenAI: from GPT-5.6 on)."""


_NEW, _OLD = 1.5, 1.3
_ANTHROPIC: tuple[tuple[str, Model], ...] = (
    ("claude-fable-5-1", Model("", 1_000_000, 128_000, _NEW, 512, binds_thinking=True)),
    ("claude-opus-5-5", Model("", 1_000_000, 128_000, _NEW, 512, binds_thinking=True)),
    ("claude-mythos-preview", Model("", 1_000_000, 128_000, _NEW, 2_048)),
    ("claude-fable-", Model("", 1_000_000, 128_000, _NEW, 512)),
    ("claude-mythos-", Model("", 1_000_000, 128_000, _NEW, 512)),
    ("claude-sonnet-5-5", Model("", 1_000_000, 128_000, _NEW, 512)),
    ("claude-haiku-5-5", Model("", 1_000_000, 64_000, _NEW, 512)),
    ("claude-opus-5", Model("", 1_000_000, 128_000, _NEW, 512)),
    ("claude-sonnet-5", Model("", 1_000_000, 128_000, _NEW, 1_024)),
    ("claude-opus-4-8", Model("", 1_000_000, 128_000, _NEW, 1_024)),
    ("claude-opus-4-7", Model("", 1_000_000, 128_000, _NEW, 2_048)),
    ("claude-opus-4-6", Model("", 1_000_000, 128_000, _OLD, 4_096)),
    ("claude-sonnet-4-6", Model("", 1_000_000, 64_000, _OLD, 1_024)),
    ("claude-opus-4-5", Model("", 200_000, 64_000, _OLD, 4_096, prefill=True)),
    ("claude-haiku-4-5", Model("", 200_000, 64_000, _OLD, 4_096, prefill=True)),
    ("claude-3-5-haiku", Model("", 200_000, 8_192, _OLD, 2_048, prefill=True)),
    ("claude-", Model("", 200_000, 64_000, _OLD, 1_024, prefill=True)),
)
_OPENAI: tuple[tuple[str, Model], ...] = (
    ("gpt-6", Model("", 1_050_000, 128_000, 1.0, 1_024)),
    ("gpt-5.6", Model("", 1_050_000, 128_000, 1.0, 1_024)),
    ("gpt-5.5", Model("", 1_000_000, 128_000, 1.0, 1_024, charges_writes=False)),
    ("gpt-5.4-", Model("", 400_000, 128_000, 1.0, 1_024, charges_writes=False)),
    ("gpt-5.4", Model("", 1_050_000, 128_000, 1.0, 1_024, charges_writes=False)),
    ("gpt-5", Model("", 400_000, 128_000, 1.0, 1_024, charges_writes=False)),
    ("gpt-4.1", Model("", 1_000_000, 32_768, 1.0, 1_024, charges_writes=False)),
    ("gpt-4o", Model("", 128_000, 16_384, 1.0, 1_024, charges_writes=False)),
)
_UNKNOWN = Model("", 200_000, 64_000, 1.0, 1_024, prefill=True)


def find_model(name: str, scenario: Scenario) -> Model | None:
    """The model of that name, the longest built-in beginning in mind; nothing when only known ones are served."""
    built_in = next((row for start, row in (*_ANTHROPIC, *_OPENAI) if name.startswith(start)), None)
    own = scenario.models.get(name)
    if built_in is None and own is None and scenario.only_known_models:
        return None
    model = replace(built_in or _UNKNOWN, name=name)
    return _overridden(model, own) if own else model


def _overridden(model: Model, row: ModelRow) -> Model:
    return replace(
        model,
        window=row.window or model.window,
        max_output=row.max_output or model.max_output,
        factor=row.factor or model.factor,
        cache_min_tokens=row.cache_min_tokens or model.cache_min_tokens,
    )
