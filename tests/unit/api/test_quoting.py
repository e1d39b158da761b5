"""The price that a dry run tells."""

from __future__ import annotations

import pytest

from precompact_api.quoting import quote
from precompact_shared.policy import Policy
from precompact_shared.provider_spec import ProviderName, ProviderSpec

PRICES = {"ours": {"input": 2.0, "cache_read": 0.2, "cache_write": 2.5, "output": 10.0}}
POLICY = Policy.model_validate({"prices": PRICES, "summary_max_tokens": 2_000})
OURS = ProviderSpec(name=ProviderName.OPENAI, model="ours")


def test_a_quote_is_the_price_of_what_is_covered_and_of_a_record() -> None:
    """49,000 tokens, 1,000 of our own words, and a record as long as the policy lets it be."""
    told = quote(POLICY, OURS, 49_000)
    assert told == {"provider": "openai", "model": "ours", "cost_usd": pytest.approx(0.12)}


def test_a_model_of_another_family_has_tokens_of_its_own() -> None:
    """The same text is more tokens for Claude, at the list's price."""
    claude = ProviderSpec(name=ProviderName.ANTHROPIC, model="claude-haiku-4-5")
    least = (49_000 + 1_000) * 1.0 / 1e6
    assert quote(POLICY, claude, 49_000)["cost_usd"] > least


@pytest.mark.parametrize(
    ("spec", "cost_usd"),
    [
        (ProviderSpec(name=ProviderName.EXTRACTIVE), 0.0),
        (ProviderSpec(name=ProviderName.SCRIPTED), 0.0),
        (ProviderSpec(name=ProviderName.CLIENT), None),
        (ProviderSpec(name=ProviderName.OPENAI, model="nobody-knows-it"), None),
    ],
    ids=lambda one: one.name if isinstance(one, ProviderSpec) else "",
)
def test_what_is_free_and_what_is_unknown_are_told_apart(spec: ProviderSpec, cost_usd: float | None) -> None:
    """Code costs nothing; of a model without a price, or one the caller pays, nobody knows."""
    assert quote(POLICY, spec, 49_000)["cost_usd"] == cost_usd
