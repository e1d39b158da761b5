"""Counting: by bytes without the rank file, by tokens with it, in pieces always."""

from __future__ import annotations

from pathlib import Path

import pytest

from precompact_standin.counting import Counter
from precompact_standin.models import find_model
from precompact_standin.scenario import ModelRow, Scenario

RANKS = Path(__file__).parents[3] / "shared" / "precompact_shared" / "data" / "o200k_base.tiktoken.gz"


@pytest.mark.parametrize(
    ("text", "factor", "tokens"),
    [
        ("", 1.5, 0),
        ("a", 1.0, 1),
        ("abc", 1.0, 1),
        ("abcd", 1.0, 2),
        ("字", 1.0, 1),
        ("a" * 300, 1.5, 150),
        ("a", 1.5, 2),
    ],
)
def test_without_ranks_three_bytes_are_a_token(text: str, factor: float, tokens: int) -> None:
    """Rounded up, before and after the model's factor."""
    assert Counter().text(text, factor) == tokens


@pytest.mark.parametrize(
    ("text", "tokens"), [("Hello, world!", 4), ("def main() -> None:\n    pass\n", 9), ("1234567", 3)]
)
def test_with_ranks_tokens_are_those_of_o200k(text: str, tokens: int) -> None:
    """Known counts."""
    assert Counter(RANKS).text(text) == tokens


@pytest.mark.parametrize("text", [" " * 1_200_000, "a" * 300_000, "<|endoftext|>" * 3, "\ud800 broken"])
def test_no_text_stops_the_counter(text: str) -> None:
    """Runs of blanks, of letters, special tokens, half characters."""
    counter = Counter(RANKS)
    assert counter.text(text) > 0
    assert counter.text(text) == counter.text(text)


@pytest.mark.parametrize(
    ("name", "window", "factor", "cacheable"),
    [
        ("claude-opus-5-5", 1_000_000, 1.5, 512),
        ("claude-opus-4-6", 1_000_000, 1.3, 4_096),
        ("claude-haiku-4-5-20251001", 200_000, 1.3, 4_096),
        ("claude-sonnet-5", 1_000_000, 1.5, 1_024),
        ("gpt-6-sol", 1_050_000, 1.0, 1_024),
        ("gpt-5.4-mini", 400_000, 1.0, 1_024),
        ("llama-local", 200_000, 1.0, 1_024),
    ],
)
def test_a_model_is_found_by_the_begin_of_its_name(
    name: str, window: int, factor: float, cacheable: int
) -> None:
    """Or played as a common one."""
    model = find_model(name, Scenario())
    assert model is not None
    assert (model.window, model.factor, model.cache_min_tokens) == (window, factor, cacheable)


def test_a_scenario_overrides_single_numbers() -> None:
    """The rest stays."""
    model = find_model("claude-opus-5", Scenario(models={"claude-opus-5": ModelRow(window=9_000)}))
    assert model is not None
    assert (model.window, model.factor) == (9_000, 1.5)
    assert find_model("unheard-of", Scenario(only_known_models=True)) is None
