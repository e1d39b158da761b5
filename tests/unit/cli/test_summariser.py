"""Who writes a demo's summaries: what goes together, and the policy that comes of it."""

from __future__ import annotations

import pytest

from precompact_cli.exits import InputRefused
from precompact_cli.recording import read_recording
from precompact_cli.sample import SESSION
from precompact_cli.summariser import Summariser
from precompact_cli.writers import Writer
from precompact_shared.engine.types import Format
from precompact_shared.provider_spec import Api, ProviderName
from precompact_shared.settings import Settings

URL = "http://127.0.0.1:1/v1"


def summariser(writer: Writer = Writer.SCRIPTED, preset: str = "precompact", **fields: object) -> Summariser:
    """One that was asked for so."""
    return Summariser(writer=writer, preset=preset, **fields)  # type: ignore[arg-type]


def test_a_scripted_summary_takes_session_time() -> None:
    """Twenty seconds at ten times the speed are two; a quarter more is reckoned with, and time for all calls of a job."""
    policy = summariser().policy(10, Format.ANTHROPIC, Settings())
    assert [(one.name, one.delay_s) for one in policy.providers] == [(ProviderName.SCRIPTED, 2)]
    assert policy.p95_job_s == pytest.approx(2.5, rel=0.05)
    assert policy.job_deadline_s == Settings().job_deadline_s + 8


@pytest.mark.parametrize("writer", [Writer.SCRIPTED, Writer.EXTRACTIVE, Writer.OPENAI])
@pytest.mark.parametrize(("takes_s", "speed"), [(0, 1_000), (600, 1)])
def test_the_shortest_and_the_longest_summary_are_a_policy(
    writer: Writer, takes_s: float, speed: float
) -> None:
    """Within the bounds of its fields."""
    asked = summariser(writer, takes_s=takes_s, is_standin=writer is Writer.OPENAI)
    policy = asked.policy(speed, Format.ANTHROPIC, Settings())
    assert policy.p95_job_s > 0


def test_a_summary_that_would_take_an_hour_is_refused() -> None:
    """At a tenth of the speed everything takes ten times as long."""
    with pytest.raises(InputRefused, match="6,000 s"):
        summariser(takes_s=600).policy(0.1, Format.ANTHROPIC, Settings())


def test_the_stand_in_is_asked_in_the_sessions_own_protocol() -> None:
    """OpenAI's has two; its answers may be late by what was asked for."""
    asked = summariser(Writer.OPENAI, is_standin=True, takes_s=600, model="gpt-5.4")
    settings = Settings(openai_base_url=URL)
    for wire, api in ((Format.OPENAI_CHAT, Api.CHAT), (Format.OPENAI_RESPONSES, Api.RESPONSES)):
        [spec] = asked.policy(2, wire, settings).providers
        assert (spec.api, spec.base_url, spec.model) == (api, URL, "gpt-5.4")
        assert min(spec.call_timeout_s, spec.idle_timeout_s) > 300


def test_a_real_provider_is_reckoned_with_in_real_time() -> None:
    """The policy's own figure for a job holds, and the deployment's protocol."""
    asked = summariser(Writer.OPENAI)
    policy = asked.policy(5, Format.OPENAI_CHAT, Settings())
    assert policy.p95_job_s == 30
    assert (policy.providers[0].api, policy.providers[0].base_url) == (Api.RESPONSES, None)
    assert asked.session_s is None


def test_a_key_is_demanded_where_one_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not of the stand-in, not by a server of one's own."""
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    with pytest.raises(InputRefused, match="set ANTHROPIC_API_KEY"):
        summariser(Writer.ANTHROPIC).check(Settings())
    summariser(Writer.ANTHROPIC).check(Settings(anthropic_base_url="http://127.0.0.1:1"))
    summariser(Writer.ANTHROPIC, is_standin=True).check(Settings())
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    summariser(Writer.ANTHROPIC).check(Settings())


@pytest.mark.parametrize("asked", [summariser(is_standin=True), summariser(model="m")])
def test_summaries_by_code_have_no_stand_in_and_no_model(asked: Summariser) -> None:
    """Said instead of ignored."""
    with pytest.raises(InputRefused, match="--provider"):
        asked.check(Settings())


def test_a_preset_that_wants_a_block_needs_its_provider_and_its_format() -> None:
    """The sample is a session of Anthropic's."""
    recording = read_recording(SESSION)
    summariser(Writer.ANTHROPIC, "anthropic-native", is_standin=True).check_form(recording)
    summariser(Writer.OPENAI).check_form(recording)
    for writer, preset in (
        (Writer.OPENAI, "anthropic-native"),
        (Writer.SCRIPTED, "anthropic-native"),
        (Writer.OPENAI, "openai-native"),
    ):
        with pytest.raises(InputRefused, match=preset):
            summariser(writer, preset).check_form(recording)
