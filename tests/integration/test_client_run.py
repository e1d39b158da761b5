"""Client-run: the request waits, the caller runs it with its own key, the reply is checked as any other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import pytest

from precompact_shared.policy import Policy
from precompact_shared.provider_spec import ProviderName, ProviderSpec
from precompact_shared.store import reading
from precompact_shared.store.tenants import save_policy
from precompact_shared.store.types import JobTag
from precompact_worker.run import Ref, Runner
from precompact_worker.tools import Ended
from tests.integration.test_worker_providers import SENTENCE, record
from tests.support.candidates import claim, view_of
from tests.support.service import Service
from tests.support.standin import Served
from tests.support.talk import turns, user
from tests.support.waiting import eventually_async
from tests.support.workers import worker_of

CLAUDE = "claude-opus-5-5"
GPT = "gpt-6-sol"
LONG_WAIT_S = 60
"""Counting and masking a long talk takes seconds where other processes want the same cores."""


@pytest.fixture
async def runner(service: Service) -> AsyncIterator[Runner]:
    """A worker whose tenant runs its requests itself."""
    spec = ProviderSpec(name=ProviderName.CLIENT, call_timeout_s=2 * LONG_WAIT_S)
    service.store.run(save_policy(service.tenant, Policy(providers=(spec,), fallback=False)))
    async with worker_of(service) as made:
        yield made


class Waiting:
    """A job of a session that waits for its caller."""

    def __init__(self, service: Service, http: httpx.Client, runner: Runner, wire: str, model: str) -> None:
        self.service, self.http, self.runner = service, http, runner
        body = {"format": wire, "model": model, "window": 200_000, "max_output": 32_000}
        said = [user("Never touch main.py."), *turns(90, words=12), user("And now?")]
        seen = {"version": 0, "length": 0}
        made = http.post("/v1/sessions/a:b/prepare", json={**body, "seen": seen, "messages": said})
        assert made.status_code == 200, made.text
        self.job = self._claim()
        self.service.store.run(self.service.ops("a:b").queued(self.job.jid))
        self.working = asyncio.create_task(runner.run(Ref(service.tenant, "a:b", self.job.jid)))

    def _claim(self) -> JobTag:
        answer = self.http.post("/v1/sessions/a:b/compact", json={})
        assert answer.status_code == 202, answer.text
        return claim(self.service, "a:b")

    def show(self) -> dict[str, Any]:
        """The job as the API tells it."""
        answer = self.http.get(f"/v1/compactions/{self.job.jid}")
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    async def request(self, but: str | None = None) -> dict[str, Any]:
        """The request it waits for, another one than `but`."""

        async def there() -> dict[str, Any] | None:
            shown = await asyncio.to_thread(self.show)  # the worker runs on this very loop
            asked: dict[str, Any] | None = shown["request"]
            return asked if asked is not None and asked["id"] != but else None

        found = await eventually_async(there, LONG_WAIT_S, "the request")
        assert found is not None
        return found

    def post(self, request_id: str, reply: Any) -> httpx.Response:
        """The reply."""
        return self.http.post(
            f"/v1/compactions/{self.job.jid}/result", json={"request": request_id, "reply": reply}
        )


class Opens:
    """Opens sessions whose job waits."""

    def __init__(self, service: Service, http: httpx.Client, runner: Runner) -> None:
        self.service, self.http, self.runner = service, http, runner

    def __call__(self, wire: str, model: str) -> Waiting:
        """A session in this protocol."""
        return Waiting(self.service, self.http, self.runner, wire, model)


@pytest.fixture
def opened(service: Service, http: httpx.Client, runner: Runner) -> Opens:
    """With the tenant of the test."""
    return Opens(service, http, runner)


@pytest.fixture
def sends(standin: Served, claude: Any, gpt: Any) -> dict[str, Callable[..., Any]]:
    """How a caller sends a request of each protocol, at the stand-in."""
    return {
        "anthropic": claude.messages.create,
        "openai-responses": gpt.responses.create,
        "openai-chat": gpt.chat.completions.create,
    }


@pytest.fixture
def posts(standin: Served, claude: Any, gpt: Any) -> dict[str, tuple[str, Any]]:
    """Where a caller posts a request word for word."""
    return {"anthropic": ("/v1/messages", claude), "openai-responses": ("/responses", gpt)}


def message(text: str, stop: str = "end_turn") -> dict[str, Any]:
    """A reply of Anthropic's."""
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "content": [{"type": "text", "text": text}],
        "stop_reason": stop,
        "usage": {"input_tokens": 50, "cache_read_input_tokens": 4_000, "output_tokens": 300},
    }


@pytest.mark.parametrize(
    ("wire", "model"), [("anthropic", CLAUDE), ("openai-responses", GPT), ("openai-chat", GPT)]
)
async def test_the_request_runs_as_it_is_and_its_reply_becomes_a_candidate(
    opened: Opens, sends: dict[str, Callable[..., Any]], wire: str, model: str
) -> None:
    """In the session's own protocol, with the session's model; the stand-in takes it as it is."""
    waiting, service = opened(wire, model), opened.service
    asked = await waiting.request()
    assert asked["body"]["model"] == model
    reply = await asyncio.to_thread(sends[wire], **asked["body"])
    assert waiting.post(asked["id"], reply.to_dict(mode="json")).status_code == 202
    assert await asyncio.wait_for(waiting.working, LONG_WAIT_S) == Ended("stored")
    [tag] = [one for one in view_of(service, "a:b").candidates if one.slot != "floor"]
    assert tag.provider == "client"
    shown = waiting.show()
    assert (shown["request"], shown["job"]["state"]) == (None, "done")
    job = service.store.run(reading.job(service.keys("a:b"), waiting.job.jid))
    assert job is not None
    assert job.calls[-1]["outcome"] == "ok"
    assert job.calls[-1]["output_tokens"] > 0
    assert service.store.run(reading.offered(service.keys("a:b"), waiting.job.jid)) is None
    assert service.store.run(reading.delivered(service.keys("a:b"), waiting.job.jid)) is None


async def test_a_reply_that_fails_the_checks_is_asked_for_again(opened: Opens) -> None:
    """The nudge is another request with an id of its own."""
    waiting = opened("anthropic", CLAUDE)
    asked = await waiting.request()
    assert waiting.post(asked["id"], message(record(without="## Open"))).status_code == 202
    again = await waiting.request(but=asked["id"])
    assert len(again["body"]["messages"]) == 3
    late = waiting.post(asked["id"], message(record()))
    assert (late.status_code, late.json()["reason"]) == (409, "other_request")
    assert waiting.post(again["id"], message(record())).status_code == 202
    assert await asyncio.wait_for(waiting.working, LONG_WAIT_S) == Ended("stored")
    assert waiting.post(again["id"], message(record())).json()["reason"] == "not_live"


@pytest.mark.parametrize(
    "reply", [{"garbage": True}, [], "text", {"content": None}, {"content": [{"type": "text"}]}, None]
)
async def test_what_is_no_reply_of_the_protocol_makes_no_candidate(opened: Opens, reply: Any) -> None:
    """And no error that quotes it."""
    waiting = opened("anthropic", CLAUDE)
    asked = await waiting.request()
    assert waiting.post(asked["id"], reply).status_code == 202
    assert (await asyncio.wait_for(waiting.working, LONG_WAIT_S)).how in {"dead", "retry"}
    assert [one.slot for one in view_of(opened.service, "a:b").candidates] == ["floor"]


async def test_a_reply_that_was_cut_off_is_no_record(opened: Opens) -> None:
    """The same verdicts as for our own calls; twice the room is asked for."""
    waiting = opened("anthropic", CLAUDE)
    asked = await waiting.request()
    waiting.post(asked["id"], message(SENTENCE, stop="max_tokens"))
    again = await waiting.request(but=asked["id"])
    assert again["body"]["max_tokens"] == 2 * asked["body"]["max_tokens"]
    waiting.post(again["id"], message(record()))
    assert await asyncio.wait_for(waiting.working, LONG_WAIT_S) == Ended("stored")


def test_other_tenants_jobs_and_no_jobs_are_not_found(http: httpx.Client) -> None:
    """The id says whose it is; that alone opens nothing."""
    for job in ("x", "other:s:0:due:00000000", "a:b:c:d:e", "%2e%2e"):
        assert http.get(f"/v1/compactions/{job}").status_code == 404
        body = {"request": "r", "reply": {}}
        assert http.post(f"/v1/compactions/{job}/result", json=body).status_code in {400, 404}


@pytest.mark.parametrize(
    ("wire", "model", "preset"),
    [("anthropic", CLAUDE, "anthropic-native"), ("openai-responses", GPT, "openai-native")],
)
async def test_the_callers_own_call_brings_the_providers_block(
    opened: Opens, posts: dict[str, tuple[str, Any]], wire: str, model: str, preset: str
) -> None:
    """The request asks for a compaction, with the header that goes with it; the block is kept as it came."""
    spec = ProviderSpec(name=ProviderName.CLIENT, call_timeout_s=2 * LONG_WAIT_S)
    policy = Policy(providers=(spec,), preset=preset, fallback=False)
    service = opened.service
    service.store.run(save_policy(service.tenant, policy))
    waiting = opened(wire, model)
    asked = await waiting.request()
    beta = {"anthropic-beta": "compact-2026-09-04"} if wire == "anthropic" else {}
    assert asked["headers"] == beta
    path, client = posts[wire]
    options = {"headers": asked["headers"]}
    reply = await asyncio.to_thread(client.post, path, body=asked["body"], cast_to=object, options=options)
    assert waiting.post(asked["id"], reply).status_code == 202
    assert await asyncio.wait_for(waiting.working, LONG_WAIT_S) == Ended("stored")
    [tag] = [one for one in view_of(service, "a:b").candidates if one.slot != "floor"]
    assert (tag.kind, tag.provider, tag.family) == ("native", "client", model)
    job = service.store.run(reading.job(service.keys("a:b"), waiting.job.jid))
    assert job is not None
    assert [(one["mode"], one["outcome"]) for one in job.calls] == [("native", "ok")]
    assert job.calls[0]["output_tokens"] > 0


async def test_a_block_that_was_spoiled_on_its_way_is_not_used(opened: Opens) -> None:
    """An SDK's dump adds nulls, which the provider would refuse: a transcript is asked for instead."""
    service = opened.service
    spec = ProviderSpec(name=ProviderName.CLIENT, call_timeout_s=2 * LONG_WAIT_S)
    policy = Policy(providers=(spec,), preset="anthropic-native", fallback=False)
    service.store.run(save_policy(service.tenant, policy))
    waiting = opened("anthropic", CLAUDE)
    asked = await waiting.request()
    block = {"type": "compaction", "content": "x", "signature": "s", "encrypted_content": None}
    spoiled = {"type": "message", "stop_reason": "compaction", "content": [block]}
    assert waiting.post(asked["id"], spoiled).status_code == 202
    again = await waiting.request(but=asked["id"])
    assert "compaction" not in again["body"]
    assert waiting.post(again["id"], message(record())).status_code == 202
    assert await asyncio.wait_for(waiting.working, LONG_WAIT_S) == Ended("stored")
    job = service.store.run(reading.job(service.keys("a:b"), waiting.job.jid))
    assert job is not None
    assert [(one["mode"], one["outcome"]) for one in job.calls] == [
        ("native", "null_field"),
        ("transcript", "ok"),
    ]
