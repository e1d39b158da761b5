"""What a tenant may want, and what happens to what it may not."""

from __future__ import annotations

import pytest

from precompact_shared.errors import Configuration
from precompact_shared.models import ModelWindow, find_model, resolve_window
from precompact_shared.policy import Policy, PolicyCache, ProviderName, ProviderSpec, chain_of, parse_policy
from precompact_shared.settings import Settings


def test_a_policy_survives_its_json() -> None:
    """As it is stored."""
    policy = Policy(
        providers=(ProviderSpec(name=ProviderName.SCRIPTED, delay_s=2),), limit_share=0.5, attempts=2
    )
    assert parse_policy(policy.model_dump_json()) == policy


@pytest.mark.parametrize(
    ("raw", "field"),
    [
        ('{"limit_share": 3}', "limit_share"),
        ('{"presett": "pi"}', "presett"),
        ('{"preset": "none such"}', "no such preset"),
        ('{"providers": [{"name": "zebra"}]}', "providers.0.name"),
        ('{"windows": {"m": {"window": 2000, "max_output": 2000}}}', "windows.m"),
        ('{"start_low": 0.9, "start_high": 0.5}', "start_low"),
        ("{", "JSON"),
    ],
)
def test_a_wrong_policy_is_refused_by_field_and_not_quoted(raw: str, field: str) -> None:
    """Values may be secrets."""
    with pytest.raises(Configuration) as refused:
        parse_policy(raw)
    assert field in str(refused.value)
    assert "zebra" not in str(refused.value)


def test_every_chain_ends_with_the_provider_that_needs_nothing() -> None:
    """Unless the tenant would rather have none."""
    settings = Settings(provider_chain=("scripted",), scripted_delay_s=3)
    assert [spec.name for spec in chain_of(Policy(), settings)] == ["scripted", "extractive"]
    assert chain_of(Policy(), settings)[0].delay_s == 3
    own = Policy(providers=(ProviderSpec(name=ProviderName.SCRIPTED),), fallback=False)
    assert [spec.name for spec in chain_of(own, settings)] == ["scripted"]
    assert [spec.name for spec in chain_of(Policy(), Settings())] == ["extractive"]


def test_an_unknown_provider_of_the_deployment_is_named_with_what_there_is() -> None:
    """At the first use."""
    with pytest.raises(Configuration, match="extractive, scripted"):
        chain_of(Policy(), Settings(provider_chain=("magic",)))


def test_a_policy_is_loaded_anew_after_a_few_seconds() -> None:
    """Not with every event."""
    now_s, loads = 0.0, 0

    def load(_tenant: str) -> Policy:
        nonlocal loads
        loads += 1
        return Policy(version=loads)

    cache = PolicyCache(load, lambda: now_s, ttl_s=3)
    assert [cache.get("a").version, cache.get("a").version] == [1, 1]
    now_s = 3.1
    assert cache.get("a").version == 2


def test_the_callers_window_wins_then_the_policys_then_the_well_known() -> None:
    """The longest prefix in a policy's table."""
    table = {"claude": ModelWindow(100_000, 5_000), "claude-opus": ModelWindow(500_000, 6_000)}
    assert resolve_window("claude-opus-4", 150_000, 1_000, table) == ModelWindow(150_000, 1_000)
    assert resolve_window("claude-opus-4", None, None, table) == ModelWindow(500_000, 6_000)
    assert resolve_window("claude-sonnet-4", None, None, {}) == ModelWindow(200_000, 32_000)
    assert resolve_window("house-7", None, None, table) is None
    assert resolve_window("house-7", 16_000, None, table) == ModelWindow(16_000, 4_000)


@pytest.mark.parametrize(
    "name",
    [
        "claude-sonnet-4-5",
        "anthropic/claude-sonnet-4",
        "us.anthropic.claude-sonnet-4-20250514-v1:0",
        "CLAUDE-x",
    ],
)
def test_a_model_is_known_whatever_stands_in_front_of_its_name(name: str) -> None:
    """Routers and clouds put their own names there."""
    found = find_model(name)
    assert found is not None
    assert found.window == 200_000
