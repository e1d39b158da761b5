"""Prices and windows of models, and what usage costs by them."""

from __future__ import annotations

import genai_prices
import pytest

from precompact_shared.engine.usage import Usage
from precompact_shared.policy import Policy, parse_policy
from precompact_shared.prices import Price, bare_name, known_price, known_window
from precompact_shared.provider_spec import ProviderName, ProviderSpec


def test_each_price_class_has_its_price() -> None:
    """Per million tokens."""
    price = Price(input=2, cache_read=0.2, cache_write=2.5, output=10)
    assert price.cost_usd(Usage(1_000_000, 1_000_000, 1_000_000, 1_000_000)) == pytest.approx(14.7)
    assert price.cost_usd(Usage()) == 0


@pytest.mark.parametrize(
    "model", ["claude-haiku-4-5", "openai/gpt-4.1", "eu.anthropic.claude-sonnet-4-5-20250929-v1:0"]
)
def test_well_known_models_have_prices_and_windows(model: str) -> None:
    """Under whatever name a platform gives them; reading a cache is cheaper than not."""
    price = known_price(model)
    assert price is not None
    assert 0 < price.cache_read < price.input <= price.cache_write < price.output
    assert (known_window(model) or 0) >= 200_000


def test_a_model_nobody_knows_has_neither() -> None:
    """Unknown is not free."""
    assert known_price("house-model") is None
    assert known_window("house-model") is None
    assert Policy().price_of("house-model") is None


def test_a_policys_prices_come_first_the_longest_prefix_before_others() -> None:
    """What is not given costs as plain input."""
    policy = parse_policy(
        '{"prices": {"house": {"input": 1, "output": 2}, "house-big": {"input": 5, "output": 9, "cache_read": 0}}}'
    )
    assert policy.price_of("house-model") == Price(1, 1, 1, 2)
    assert policy.price_of("house-big-2") == Price(5, 0, 5, 9)


def test_names_lose_vendor_and_region() -> None:
    """What stands in front says whose servers, not which model."""
    assert bare_name("openai/gpt-4.1") == "gpt-4.1"
    assert bare_name("us.anthropic.claude-x-v1:0") == "claude-x"


def test_an_hour_of_cache_has_a_price_of_its_own() -> None:
    """At vendors that sell it."""
    claude, gpt = known_price("claude-sonnet-5-5"), known_price("gpt-5.6")
    assert claude is not None
    assert gpt is not None
    assert claude.cache_write_hour == pytest.approx(2 * claude.input)
    assert gpt.cache_write_hour == gpt.cache_write
    usage = Usage(0, 0, 3_000_000, 0, cache_write_hour_tokens=1_000_000)
    assert claude.cost_usd(usage) == pytest.approx(2 * claude.cache_write + 2 * claude.input)
    assert Price(1, 0.1, 2, 3).cost_usd(usage) == 6


@pytest.mark.parametrize(
    ("model", "start"),
    [("claude-haiku-5-5", 100_000), ("claude-sonnet-4-5", 200_000), ("gpt-6.1-sol", 272_000)],
)
def test_long_prompts_cost_what_the_tables_say(model: str, start: int) -> None:
    """All of their tokens and the reply's, from one token above the limit on; what is cached counts for the length."""
    price = known_price(model)
    assert price is not None
    for prompt in (1_000, start, start + 1, 3 * start):
        for read, write in ((0, 0), (prompt // 2, prompt // 4), (prompt, 0)):
            usage = Usage(prompt - read - write, read, write, 700)
            told = genai_prices.calc_price(
                genai_prices.Usage(
                    input_tokens=prompt, cache_read_tokens=read, cache_write_tokens=write, output_tokens=700
                ),
                model,
            )
            assert price.cost_usd(usage) == pytest.approx(float(told.total_price), rel=1e-9)
    assert price.of(start) is price
    assert price.of(start + 1).input >= 2 * price.input


@pytest.mark.parametrize(
    "fields", [{}, {"model": "m", "platform": "azure"}, {"model": "m", "key_ref": "vault:x"}]
)
def test_a_provider_that_cannot_work_is_refused_when_it_is_set(fields: dict[str, str]) -> None:
    """Not when a job needs it."""
    with pytest.raises(ValueError, match=r"model|base_url|pattern"):
        ProviderSpec.model_validate({"name": ProviderName.OPENAI, **fields})
