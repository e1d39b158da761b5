"""Whole lists that open with a provider's block, or with the summary beside it, whichever model is at hand."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from precompact_shared.clock import monotonic_s
from precompact_shared.engine.types import Format
from precompact_shared.engine.validate import validate
from precompact_shared.policy import Policy
from precompact_shared.provider_spec import ProviderName, ProviderSpec
from precompact_shared.store import AsyncStore, async_client
from precompact_shared.store.tenants import save_policy
from precompact_shared.store.types import JobKind
from precompact_worker.providers.clients import host_of
from precompact_worker.run import Ref, Runner
from precompact_worker.tools import Ended
from tests.support.candidates import claim, view_of
from tests.support.service import Service
from tests.support.standin import Served
from tests.support.talk import turns, user

MODELS = {Format.ANTHROPIC: "claude-opus-5-5", Format.OPENAI_RESPONSES: "gpt-6-sol"}
OTHERS = {Format.ANTHROPIC: "claude-haiku-4-5", Format.OPENAI_RESPONSES: "gpt-5.5"}
NAMES = {Format.ANTHROPIC: ProviderName.ANTHROPIC, Format.OPENAI_RESPONSES: ProviderName.OPENAI}
THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}

Messages = list[dict[str, Any]]


class Framework:
    """A caller whose framework keeps the list: what was given back, with news behind it."""

    def __init__(self, service: Service, http: httpx.Client, wire: Format) -> None:
        self.service, self.http, self.wire = service, http, wire
        self.context: Messages = []

    def post(self, messages: Messages, **options: Any) -> httpx.Response:
        """One call before a model call; the whole list."""
        body = {
            "format": self.wire,
            "window": 200_000,
            "max_output": 8_000,
            "adopt": "never",
            "view": "context",
        }
        return self.http.post("/v1/sessions/f/prepare", json=body | {"messages": messages} | options)

    def prepare(self, news: Messages, *, model: str) -> dict[str, Any]:
        """Sends the list with news and keeps what comes back."""
        response = self.post([*self.context, *news], model=model, render=True)
        assert response.status_code == 200, response.text
        answer: dict[str, Any] = response.json()
        self.context = answer["context"]["messages"]
        assert validate(self.wire, self.context) == ()
        return answer

    def adopt(self) -> None:
        """The candidate, by hand."""
        assert self.http.post("/v1/sessions/f/adopt", json={}).status_code == 200

    @property
    def length(self) -> int:
        """Of the history."""
        return view_of(self.service, "f").length

    @property
    def opens_with_block(self) -> bool:
        """Whether the context is the provider's."""
        if self.wire is Format.ANTHROPIC:
            return bool(self.context[0]["content"][0]["type"] == "compaction")
        return any(item["type"] == "compaction" for item in self.context)


@pytest.fixture(params=list(MODELS), ids=str)
async def framework(
    request: pytest.FixtureRequest,
    service: Service,
    http: httpx.Client,
    standin: Served,
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncIterator[Framework]:
    """A session whose checkpoint is a block, with a short tail behind it."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    wire: Format = request.param
    url = standin.url if wire is Format.ANTHROPIC else standin.openai_url
    spec = ProviderSpec(name=NAMES[wire], model=MODELS[wire], base_url=url)
    preset = "anthropic-native" if wire is Format.ANTHROPIC else "openai-native"
    service.store.run(save_policy(service.tenant, Policy(preset=preset, providers=(spec,), fallback=False)))
    settings = service.settings.model_copy(update={"provider_hosts": (host_of(standin.url),)})
    client = async_client(service.settings.required_state_redis_url)
    runner = Runner(AsyncStore(client), service.layout, settings, now_s=monotonic_s)
    made = Framework(service, http, wire)
    made.prepare([*said(wire, turns(20, words=12)), *said(wire, [user("And now?")])], model=MODELS[wire])
    job = claim(service, "f", JobKind.MANUAL)
    assert await runner.run(Ref(service.tenant, "f", job.jid)) == Ended("stored")
    made.adopt()
    made.prepare(answered(wire), model=MODELS[wire])
    assert made.opens_with_block
    yield made
    await runner.close()
    await client.aclose()


def said(wire: Format, messages: Messages) -> Messages:
    """Messages in the session's format."""
    if wire is Format.ANTHROPIC:
        return messages
    kinds = {"user": "input_text", "assistant": "output_text"}
    return [
        {
            "type": "message",
            "role": one["role"],
            "content": [{"type": kinds[one["role"]], "text": one["content"]}],
        }
        for one in messages
    ]


def answered(wire: Format) -> Messages:
    """An answer that thinks first, where the format has such a thing, and the next request."""
    if wire is Format.ANTHROPIC:
        thoughtful = {"role": "assistant", "content": [THOUGHT, {"type": "text", "text": "Nothing yet."}]}
        return [thoughtful, user("Go on.")]
    return said(wire, [{"role": "assistant", "content": "Nothing yet."}, user("Go on.")])


def test_a_list_made_for_another_model_is_recognised_and_so_is_the_next_one(framework: Framework) -> None:
    """The list that opens with the summary comes back with news: first under the other model, then under the first."""
    wire, length = framework.wire, framework.length
    framework.prepare([], model=OTHERS[wire])
    assert not framework.opens_with_block
    assert "hm" not in str(framework.context[1:])
    framework.prepare(answered(wire), model=OTHERS[wire])
    assert (framework.length, framework.opens_with_block) == (length + 2, False)
    framework.prepare(answered(wire), model=MODELS[wire])
    assert (framework.length, framework.opens_with_block) == (length + 4, True)
    framework.prepare(answered(wire), model=MODELS[wire])
    assert (framework.length, framework.opens_with_block) == (length + 6, True)


def test_a_list_that_opens_with_the_block_is_recognised_after_the_model_changed(framework: Framework) -> None:
    """The call that brings the change sends what it was given before it."""
    wire, length = framework.wire, framework.length
    framework.prepare(answered(wire), model=OTHERS[wire])
    assert (framework.length, framework.opens_with_block) == (length + 2, False)


@pytest.mark.parametrize("other", [True, False])
def test_a_list_that_calls_itself_the_history_never_rewinds_by_its_opening(
    framework: Framework, other: bool
) -> None:
    """Rule 3: what opens with our checkpoint, in either form, is matched by it."""
    wire, length = framework.wire, framework.length
    if other:
        framework.prepare([], model=OTHERS[wire])
    view = view_of(framework.service, "f")
    seen = {"version": view.version, "length": view.length}
    response = framework.post([*framework.context, *answered(wire)], view="history", seen=seen)
    assert response.status_code == 200, response.text
    now = view_of(framework.service, "f")
    assert (now.length, now.version, now.checkpoint) == (length + 2, view.version, view.checkpoint)


def test_a_list_with_another_tail_is_refused_in_either_form(framework: Framework) -> None:
    """The opening alone proves nothing about what follows it."""
    wire = framework.wire
    for model in (OTHERS[wire], MODELS[wire]):
        framework.prepare([], model=model)
        changed = [*framework.context[:-1], *said(wire, [user("Something else.")])]
        response = framework.post(changed, model=model)
        assert response.status_code == 409, response.text
        assert response.json()["code"] == "history_diverged"
