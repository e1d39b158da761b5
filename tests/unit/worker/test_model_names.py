"""One model has a name on every platform: they are told to be one, and others apart."""

from __future__ import annotations

import pytest

from precompact_shared.engine.native import family_of
from precompact_shared.prices import bare_name
from precompact_shared.provider_spec import Platform, ProviderName, ProviderSpec
from precompact_worker.providers.native import called


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("claude-opus-5-5", "claude-opus-5-5"),
        ("claude-haiku-4-5-20251001", "claude-haiku-4-5"),
        ("us.anthropic.claude-haiku-4-5-20251001-v1:0", "claude-haiku-4-5"),
        ("anthropic.claude-opus-4-6-v1", "claude-opus-4-6"),
        ("anthropic/claude-opus-5-5", "claude-opus-5-5"),
        ("gpt-6-sol-2026-11-01", "gpt-6-sol"),
        ("house-model-v2", "house-model-v2"),
        ("claude-3-5-haiku-latest", "claude-3-5-haiku"),
        (None, ""),
    ],
)
def test_a_models_family_is_its_name_without_what_platforms_add(name: str | None, family: str) -> None:
    """A version behind the name is Bedrock's alone."""
    assert family_of(name) == family


def test_prices_know_bedrocks_names() -> None:
    """Without region, vendor and version."""
    assert bare_name("eu.anthropic.claude-opus-5-5-v1:0") == "claude-opus-5-5"
    assert bare_name("openai/gpt-6-sol") == "gpt-6-sol"


@pytest.mark.parametrize(
    ("session", "wanted"),
    [
        ("claude-opus-5-5", "us.anthropic.claude-opus-5-5-v1:0"),
        ("claude-sonnet-5", "claude-sonnet-5"),
        (None, "us.anthropic.claude-opus-5-5-v1:0"),
    ],
)
def test_a_platform_is_asked_by_its_own_name(session: str | None, wanted: str) -> None:
    """The policy's, where it names the session's model."""
    spec = ProviderSpec(
        name=ProviderName.ANTHROPIC, platform=Platform.BEDROCK, model="us.anthropic.claude-opus-5-5-v1:0"
    )
    assert called(spec, session) == wanted
