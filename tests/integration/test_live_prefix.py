"""Summaries on the agent's live prefix: what is sent is the agent's own request, and it reads the agent's cache."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import pytest

from precompact_shared.policy import Policy
from precompact_shared.provider_spec import Api, CallMode, ProviderName, ProviderSpec, Redaction
from precompact_shared.store import codec, reading
from precompact_shared.store.tenants import save_policy
from precompact_shared.store.types import JobKind
from precompact_standin.scenario import CacheLies
from precompact_worker.run import Ref, Runner
from precompact_worker.tools import Ended
from tests.support.candidates import claim
from tests.support.service import Service
from tests.support.standin import Served
from tests.support.talk import assistant, call, turns, user
from tests.support.workers import worker_of

CLAUDE, CHEAP = "claude-opus-5-5", "claude-haiku-4-5"
TOOL = {"name": "Read", "description": "Reads a file.", "input_schema": {"type": "object", "properties": {}}}
PREFIX: dict[str, Any] = {
    "system": [
        {"type": "text", "text": "You are a careful agent. " * 200, "cache_control": {"type": "ephemeral"}}
    ],
    "tools": [TOOL],
    "params": {"max_tokens": 1_000, "stop_sequences": ["STOP"], "metadata": {"user_id": "u1"}},
}


class Desk:
    """An agent with a session, and a worker whose tenant uses the stand-in with the agent's key."""

    def __init__(self, service: Service, http: httpx.Client, runner: Runner, url: str) -> None:
        self.service, self.http, self.runner, self.url = service, http, runner, url
        self.messages: list[Any] = []
        self.wire, self.model = "anthropic", CLAUDE

    def policy(self, model: str, mode: CallMode, **fields: Any) -> None:
        """One provider, and no fallback."""
        spec = ProviderSpec(
            name=ProviderName.ANTHROPIC,
            model=model,
            base_url=self.url,
            mode=mode,
            window=200_000,
            max_output=32_000,
        )
        policy = Policy(providers=(spec,), fallback=False, **fields)
        self.service.store.run(save_policy(self.service.tenant, policy))

    def prepare(self, news: list[Any], **options: Any) -> dict[str, Any]:
        """Sends news."""
        body = {"format": self.wire, "model": self.model, "window": 200_000, "max_output": 8_000}
        seen = {"version": 0, "length": len(self.messages)}
        self.messages += news
        answer = self.http.post(
            "/v1/sessions/p/prepare", json={**body, "seen": seen, "messages": news, **options}
        )
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def call_model(self, claude: Any) -> None:
        """The agent's own call: it writes the cache at the end of what it sends."""
        *before, last = self.messages
        marked = [{"type": "text", "text": last["content"], "cache_control": {"type": "ephemeral"}}]
        claude.messages.create(
            model=CLAUDE,
            max_tokens=1_000,
            system=PREFIX["system"],
            tools=PREFIX["tools"],
            messages=[*before, {"role": last["role"], "content": marked}],
        )

    async def work(self, kind: JobKind = JobKind.SPECULATIVE) -> dict[str, Any]:
        """A job done; its last call."""
        job = claim(self.service, "p", kind)
        self.service.store.run(self.service.ops("p").queued(job.jid))
        assert await self.runner.run(Ref(self.service.tenant, "p", job.jid)) == Ended("stored")
        found = self.service.store.run(reading.job(self.service.keys("p"), job.jid))
        assert found is not None
        return found.calls[-1]


@pytest.fixture
async def desk(
    service: Service, http: httpx.Client, standin: Served, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Desk]:
    """The agent's key is the worker's: caches belong to a workspace."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test")
    async with worker_of(service, standin.url) as runner:
        yield Desk(service, http, runner, standin.url)


async def test_the_prefix_is_sent_once_and_known_by_its_digest(desk: Desk) -> None:
    """In full only when it is asked for."""
    told = desk.prepare(turns(2), prefix=PREFIX)
    assert desk.prepare([], prefix={"digest": told["prefix"]})["prefix"] == told["prefix"]
    unknown = desk.prepare([], prefix={"digest": "0" * 32})
    assert "send_prefix" in unknown["compaction"]["advice"]
    assert "prefix" not in unknown
    assert desk.http.post("/v1/sessions/p/prepare", json={"prefix": {}}).status_code == 400


async def test_a_prefix_that_another_process_has_replaced_is_asked_for_again(desk: Desk) -> None:
    """An agent that goes to and fro between two prompts may meet another process of the service each time."""
    told = desk.prepare(turns(2), prefix=PREFIX)
    desk.service.store.run(desk.service.ops("p").keep_prefix("1" * 32, b'{"system":"Plan."}'))
    again = desk.prepare([], prefix={"digest": told["prefix"]})
    assert "send_prefix" in again["compaction"]["advice"]
    assert desk.prepare([], prefix=PREFIX)["prefix"] == told["prefix"]
    kept = desk.service.store.run(reading.prefix_digest(desk.service.keys("p")))
    assert kept == told["prefix"]


async def test_the_agents_own_request_reads_the_agents_cache(
    desk: Desk, claude: Any, standin: Served
) -> None:
    """System prompt, tools and parameters as the caller sends them, less what would spoil a summary."""
    desk.policy(CLAUDE, CallMode.PREFIX)
    desk.prepare([*turns(60, words=12), user("And now?")], prefix=PREFIX)
    desk.call_model(claude)
    told = await desk.work()
    assert (told["mode"], told["outcome"], told["model"]) == ("prefix", "ok", CLAUDE)
    assert told["cache_read_tokens"] > 10 * (told["input_tokens"] + told["cache_write_tokens"])
    assert told["cost_usd"] > 0


async def test_a_call_that_waits_for_its_result_is_not_sent(desk: Desk, claude: Any) -> None:
    """The agent's newest request ended before it; with it the provider would refuse ours."""
    desk.policy(CLAUDE, CallMode.PREFIX)
    desk.prepare([*turns(60, words=12), user("And now?")], prefix=PREFIX)
    desk.call_model(claude)
    desk.prepare([call("toolu_1", "Read")])
    told = await desk.work()
    assert (told["mode"], told["outcome"]) == ("prefix", "ok")
    assert told["cache_read_tokens"] > 10 * (told["input_tokens"] + told["cache_write_tokens"])


async def test_a_block_of_the_providers_reads_the_agents_cache_too(desk: Desk, claude: Any) -> None:
    """It is read up to the cut, near which an earlier request of the agent's ended."""
    desk.policy(CLAUDE, CallMode.NATIVE, preset="anthropic-native")
    desk.prepare([*turns(60, words=12), user("And now?")], prefix=PREFIX)
    desk.call_model(claude)
    desk.prepare([assistant("That was all."), user("And then?")])
    told = await desk.work()
    assert (told["mode"], told["outcome"]) == ("native", "ok")
    assert told["cache_read_tokens"] > 10 * (told["input_tokens"] + told["cache_write_tokens"])


async def test_an_agent_that_reads_nothing_is_believed(desk: Desk) -> None:
    """Its usage says so before a call of ours has to miss."""
    desk.policy(CLAUDE, CallMode.AUTO)
    answer = desk.prepare([*turns(60, words=12), user("And now?")], prefix=PREFIX)
    size = answer["context"]["tokens"]
    seen = {"version": answer["history_version"], "length": answer["length"]}
    usage = {"input_tokens": size, "output_tokens": 9, "cache_write_tokens": size, **seen}
    desk.prepare([], usage=usage)
    assert (await desk.work())["mode"] == "transcript"


async def test_after_one_miss_the_agents_hits_say_nothing(
    desk: Desk, claude: Any, play: Callable[..., Served]
) -> None:
    """Its key belongs to another workspace than ours."""
    play(keys={"sk-test": "ours", "sk-agent": "the agent's"})
    desk.policy(CLAUDE, CallMode.AUTO)
    answer = desk.prepare([*turns(60, words=12), user("And now?")], prefix=PREFIX)
    modes = []
    for kind in (JobKind.SPECULATIVE, JobKind.MANUAL):
        size = answer["context"]["tokens"]
        seen = {"version": answer["history_version"], "length": answer["length"]}
        usage = {"input_tokens": size, "output_tokens": 9, "cache_read_tokens": size - 100, **seen}
        answer = desk.prepare([], usage=usage)
        modes.append((await desk.work(kind))["mode"])
    assert modes == ["prefix", "transcript"]


async def test_without_a_prefix_on_record_a_transcript_is_sent(desk: Desk) -> None:
    """It always works."""
    desk.policy(CLAUDE, CallMode.PREFIX)
    desk.prepare([*turns(60, words=12), user("And now?")])
    told = await desk.work()
    assert (told["mode"], told["choice"]["reason"]) == ("transcript", "prefix_unknown")


async def test_masking_always_excludes_the_live_prefix(desk: Desk) -> None:
    """The conversation as it is does not leave."""
    desk.policy(CLAUDE, CallMode.PREFIX, redact=Redaction.ALWAYS)
    desk.prepare([*turns(60, words=12), user("And now?")], prefix=PREFIX)
    assert (await desk.work())["mode"] == "transcript"


@pytest.mark.parametrize("redact", [Redaction.NEVER, Redaction.TRANSCRIPT])
async def test_a_record_of_the_live_prefix_is_masked_where_transcripts_are(
    desk: Desk, redact: Redaction
) -> None:
    """Another model may be shown it when the next one is made."""
    desk.policy(CLAUDE, CallMode.PREFIX, redact=redact)
    key = "q7" * 20
    desk.prepare([user(f"Deploy with API_KEY={key}."), *turns(60, words=12), user("And now?")], prefix=PREFIX)
    assert (await desk.work())["mode"] == "prefix"
    [tag] = [
        one
        for one in desk.service.store.run(reading.candidates(desk.service.keys("p")))
        if one.slot != "floor"
    ]
    body = desk.service.store.run(reading.candidate_body(desk.service.keys("p"), tag.cid))
    assert body is not None
    summary = json.loads(codec.decode(body) if body[:1] in {b"r", b"z"} else body)["summary"]
    assert (key in summary) is (redact is Redaction.NEVER)


@pytest.mark.parametrize(("model", "mode"), [(CLAUDE, "prefix"), ("house-model", "transcript")])
async def test_the_mode_is_computed_from_prices_and_warmth(desk: Desk, model: str, mode: str) -> None:
    """On the agent's own model a warm prefix wins; where no price is known, a transcript does."""
    desk.policy(model, CallMode.AUTO)
    desk.prepare([*turns(60, words=12), user("And now?")], prefix=PREFIX)
    assert (await desk.work())["mode"] == mode


@pytest.mark.parametrize(
    ("policy", "chosen"),
    [
        ((CLAUDE, CallMode.AUTO), ("prefix", "cheaper")),
        ((CLAUDE, CallMode.PREFIX), ("prefix", "asked_for")),
        ((CLAUDE, CallMode.TRANSCRIPT), ("transcript", "asked_for")),
        ((CLAUDE, CallMode.AUTO, Redaction.ALWAYS), ("transcript", "masked")),
        (("house-model", CallMode.AUTO), ("transcript", "price_unknown")),
    ],
)
async def test_which_mode_was_chosen_and_why_stands_with_the_job(
    desk: Desk, policy: tuple[Any, ...], chosen: tuple[str, str]
) -> None:
    """As an operator reads it: codes and dollars."""
    model, mode, *masking = policy
    desk.policy(model, mode, **({"redact": masking[0]} if masking else {}))
    desk.prepare([*turns(60, words=12), user("And now?")], prefix=PREFIX)
    await desk.work()
    [job] = desk.http.get("/v1/sessions/p/jobs").json()["jobs"]
    told = job["calls"][-1]["choice"]
    assert (told["mode"], told["reason"]) == chosen
    if told["reason"] == "cheaper":
        assert 0 < told["prefix_usd"] < told["transcript_usd"]


async def test_after_one_miss_the_transcript_is_taken(
    desk: Desk, claude: Any, play: Callable[..., Served]
) -> None:
    """The cache lies: another workspace."""
    play(cache=CacheLies(other_workspace=True))
    desk.policy(CLAUDE, CallMode.AUTO)
    desk.prepare([*turns(60, words=12), user("And now?")], prefix=PREFIX)
    desk.call_model(claude)
    first = await desk.work()
    assert (first["mode"], first["cache_read_tokens"]) == ("prefix", 0)
    desk.prepare([*turns(60, start=60, words=12), user("And then?")])
    assert (await desk.work(JobKind.MANUAL))["mode"] == "transcript"


@pytest.mark.parametrize("api", list(Api))
async def test_openais_protocols_have_live_prefixes_too(desk: Desk, api: Api) -> None:
    """A forced tool call and a format of the answer are left out, the rest goes along."""
    desk.wire, desk.model = ("openai-chat" if api is Api.CHAT else "openai-responses"), "gpt-6-sol"
    function = {"name": "read", "description": "Reads.", "parameters": {"type": "object", "properties": {}}}
    tool = (
        {"type": "function", "function": function}
        if api is Api.CHAT
        else {"type": "function", "strict": False, **function}
    )
    params = {"tool_choice": "required", "prompt_cache_key": "k1", "stream": False}
    prefix = {"system": "You are a careful agent.", "tools": [tool], "params": params}
    spec = ProviderSpec(
        name=ProviderName.OPENAI, model="gpt-6-sol", api=api, base_url=f"{desk.url}/v1", mode=CallMode.PREFIX
    )
    desk.service.store.run(save_policy(desk.service.tenant, Policy(providers=(spec,), fallback=False)))
    head = [{"role": "system", "content": "You are a careful agent."}] if api is Api.CHAT else []
    desk.prepare([*head, *turns(90, words=12), user("And now?")], prefix=prefix)
    told = await desk.work()
    assert (told["mode"], told["outcome"]) == ("prefix", "ok")
    assert told["output_tokens"] > 0
