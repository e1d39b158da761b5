"""Whose key goes where, and what happens without one: credentials are no provider's failure but somebody's to put right."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from typing import Any

import pytest

from precompact_shared.policy import Policy
from precompact_shared.provider_spec import Platform
from precompact_shared.settings import Settings
from precompact_standin import Scenario
from precompact_worker.providers.clients import NO_KEY, Clients
from precompact_worker.providers.registry import Desk, make_providers
from precompact_worker.providers.verdicts import ProviderMisconfigured
from tests.contract.asking import KEYS, Asked, request_for, settings_for
from tests.support.backends import ACCESS_KEY, KEY, NATIVE, SECRET, TEXT, Backend
from tests.support.fake_llm import FakeLLM, failing
from tests.support.standin import Served

BY_NAME = {one.name: one for one in (*TEXT, *NATIVE)}
SIGNED = [one for one in BY_NAME.values() if one.signs]
PLACED = [one for one in TEXT if one.key_env and not one.signs and not one.key_env.startswith("AWS")]


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys in the usual places."""
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
async def clients(standin: Served) -> AsyncIterator[Clients]:
    """Fresh connections: keys are read when they are made."""
    made = Clients(settings_for(standin))
    yield made
    await made.close()


@pytest.mark.parametrize("backend", PLACED, ids=str)
async def test_a_vendors_key_goes_to_no_other_platform(
    backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each platform has a variable of its own; without it no key is sent."""
    monkeypatch.delenv(backend.key_env)
    async with FakeLLM(
        [failing(401, {"error": {"message": "no", "type": "authentication_error"}})]
    ) as server:
        spec = backend.spec(server.url)
        clients = Clients(Settings(anthropic_base_url=spec.base_url, openai_base_url=spec.base_url))
        [provider] = make_providers(spec, Desk(Policy(), backend.format, clients))
        with pytest.raises(ProviderMisconfigured):
            await provider.summarise(request_for(backend.format), Asked(backend, None, clients).book)  # type: ignore[arg-type]
        await clients.close()
    [sent] = server.requests
    assert KEY not in str(sent.headers)
    assert NO_KEY in str(sent.headers)


async def test_a_reference_to_nothing_is_told_and_not_tried(standin: Served, clients: Clients) -> None:
    """The server would only say that the key is wrong."""
    asked = Asked(BY_NAME["anthropic"], standin, clients, {"key_ref": "env:NOT_THERE"})
    with pytest.raises(ProviderMisconfigured, match="key_ref"):
        await asked.reply()
    assert standin.requests == []


@pytest.mark.parametrize("backend", SIGNED, ids=str)
async def test_without_aws_credentials_nothing_is_sent(
    standin: Served, clients: Clients, backend: Backend, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    """The SDKs say it in three ways, one of them a bare `RuntimeError`."""
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    for name in ("AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    # The SDK keeps AWS sessions by region: another one has found no credentials yet.
    asked = Asked(backend, standin, clients, {"region": "us-west-2"})
    assert isinstance(await asked.failure(), ProviderMisconfigured)
    assert standin.requests == []


@pytest.mark.parametrize("backend", SIGNED, ids=str)
async def test_a_signature_by_another_secret_is_refused(
    standin: Served, clients: Clients, backend: Backend
) -> None:
    """By the server, which knows the right one."""
    standin.play(Scenario(signers={ACCESS_KEY: f"{SECRET}x"}))
    assert isinstance(await Asked(backend, standin, clients).failure(), ProviderMisconfigured)
    assert standin.requests[-1]["refusal"]["code"] == "InvalidSignatureException"


@pytest.mark.parametrize("name", ["anthropic-bedrock-signed", "anthropic-bedrock", "bedrock-chat-signed"])
async def test_without_the_extra_it_is_said_what_is_missing(
    standin: Served, clients: Clients, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not a traceback: somebody has to install it."""
    loaded = [module for module in sys.modules if module.partition(".")[0] in {"botocore", "boto3"}]
    for module in ("botocore", "boto3", *loaded):
        monkeypatch.setitem(sys.modules, module, None)
    asked = Asked(BY_NAME[name], standin, clients, {"region": "us-west-1"})
    assert isinstance(await asked.failure(), ProviderMisconfigured)


async def test_a_policy_reaches_no_host_that_the_deployment_does_not_name(standin: Served) -> None:
    """However it is written; nothing is sent."""
    clients = Clients(Settings(provider_hosts=("llm.example.org",)))
    for url in ("http://127.0.0.1:9", "http://llm.example.org@127.0.0.1:9", "http://[", "file:///etc/passwd"):
        spec = BY_NAME["responses"].spec("", base_url=url)
        with pytest.raises(ProviderMisconfigured, match="base_url"):
            clients.openai(spec)


async def test_a_policy_uses_no_key_that_the_deployment_does_not_name() -> None:
    """A path is looked at without its dots."""
    clients = Clients(Settings(provider_key_refs=("file:/run/secrets/llm*", "env:LLM_*")))
    for reference in ("env:HOME", "file:/etc/passwd", "file:/run/secrets/../../etc/passwd"):
        with pytest.raises(ProviderMisconfigured, match="key_ref"):
            clients.anthropic(BY_NAME["anthropic"].spec("", base_url=None, key_ref=reference))


def test_every_platform_can_be_chosen() -> None:
    """Both SDKs, all their platforms; the contract has a row for each."""
    told = {(one.provider, one.fields.get("platform", Platform.DIRECT)) for one in TEXT}
    assert told == {(name, platform) for name in {one.provider for one in TEXT} for platform in Platform}
