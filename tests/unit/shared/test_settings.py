"""Settings are read once, refuse what cannot work, and say which one."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from precompact_shared.errors import Configuration
from precompact_shared.settings import PREFIX, Settings, as_environment, load_settings
from scripts.write_reference import SETTINGS_PAGE, settings_page


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No variable of ours is set."""
    for name in Settings.model_fields:
        monkeypatch.delenv(PREFIX + name.upper(), raising=False)


def test_without_any_variable_everything_is_embedded_and_needs_no_key() -> None:
    """A newcomer sets nothing."""
    settings = load_settings()
    assert settings.state_redis_url is None
    assert settings.provider_chain == ("extractive",)
    assert (settings.lease_s, settings.sweep_s, settings.lag_s, settings.resend_s) == (30, 5, 5, 30)


def test_a_variable_sets_a_field(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lists are separated by commas, blanks around them do not count."""
    monkeypatch.setenv("PRECOMPACT_PROVIDER_CHAIN", "anthropic, extractive")
    monkeypatch.setenv("PRECOMPACT_LEASE_S", "7.5")
    settings = load_settings()
    assert settings.provider_chain == ("anthropic", "extractive")
    assert settings.lease_s == 7.5


def test_a_misspelt_variable_refuses_to_start_and_names_the_right_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A typo must not become a silent default."""
    monkeypatch.setenv("PRECOMPACT_LEAS_S", "7")
    with pytest.raises(
        Configuration, match="PRECOMPACT_LEAS_S is not a setting; did you mean PRECOMPACT_LEASE_S"
    ):
        load_settings()


@pytest.mark.parametrize(
    ("variables", "told"),
    [
        ({"LEASE_S": "soon"}, "PRECOMPACT_LEASE_S"),
        ({"SHARDS": "0"}, "PRECOMPACT_SHARDS"),
        ({"SWEEP_S": "31"}, "sweep_s must not exceed lease_s"),
        ({"STATE_REDIS_URL": "redis://a/0"}, "set both"),
        ({"STATE_REDIS_URL": "redis://a/0", "BROKER_URL": "redis://a/0"}, "another server or database"),
    ],
)
def test_an_impossible_setting_refuses_to_start_and_is_named(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], told: str
) -> None:
    """The message says what to correct and does not repeat the value, which may hold a password."""
    for name, value in variables.items():
        monkeypatch.setenv(PREFIX + name, value)
    with pytest.raises(Configuration, match=told) as caught:
        load_settings()
    assert "redis://" not in str(caught.value)
    assert "soon" not in str(caught.value)


def test_settings_are_frozen() -> None:
    """Nobody changes them on the way."""
    settings = load_settings()
    with pytest.raises(ValidationError):
        setattr(settings, "lease_s", 1)  # noqa: B010  # mypy knows that it is read-only


def test_a_child_reads_the_settings_its_parent_had(monkeypatch: pytest.MonkeyPatch) -> None:
    """`as_environment` and `load_settings` are inverse, also for lists and booleans."""
    settings = load_settings(
        state_redis_url="redis://a/0",
        broker_url="redis://a/1",
        provider_chain="scripted,extractive",
        metrics=False,
    )
    for name, value in as_environment(settings).items():
        monkeypatch.setenv(name, value)
    assert load_settings() == settings


def test_a_process_that_needs_a_url_says_how_to_get_one() -> None:
    """A bare `python -m precompact_worker` cannot embed a Redis that the others would find."""
    with pytest.raises(Configuration, match=r"PRECOMPACT_BROKER_URL.*precompact up"):
        _ = load_settings().required_broker_url
    settings = load_settings(state_redis_url="redis://:secret@a/0", broker_url="redis://:secret@a/1")
    assert settings.required_state_redis_url == "redis://:secret@a/0"
    assert "secret" not in repr(settings)


def test_every_field_says_its_default_and_reason_on_the_reference_page() -> None:
    """docs/reference/settings.md is what `make docs` writes."""
    assert all(field.description for field in Settings.model_fields.values())
    assert SETTINGS_PAGE.read_text(encoding="utf-8") == settings_page()
