"""Jobs against the strict stand-in: summaries over each protocol, and the providers' own blocks there and back."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from precompact_shared.clock import monotonic_s
from precompact_shared.engine.types import Format
from precompact_shared.policy import Policy
from precompact_shared.provider_spec import CallMode, ProviderName, ProviderSpec, Redaction
from precompact_shared.store import AsyncStore, codec, reading
from precompact_shared.store.tenants import save_policy
from precompact_shared.store.types import JobTag
from precompact_standin import Scenario
from precompact_standin.scenario import Fault, FaultKind, FaultRule
from precompact_worker.providers.clients import host_of
from precompact_worker.run import Runner
from precompact_worker.tools import Ended
from tests.contract.asking import KEYS
from tests.integration.test_worker import Bench, new_bench
from tests.support.backends import ACCESS_KEY, KEY, NATIVE, SECRET, TEXT, Backend
from tests.support.standin import Served
from tests.support.talk import turns, user

__all__ = ["new_bench"]

CLAUDE = "claude-opus-5-5"
GPT = "gpt-6-sol"


class Desk:
    """A bench that works with the stand-in."""

    def __init__(self, bench: Bench, standin: Served) -> None:
        self.bench = bench
        self.standin = standin
        hosts = (host_of(standin.url),)
        told = {"provider_hosts": hosts, "provider_key_refs": ("env:PLANTED_TOKEN",)}
        settings = bench.settings.model_copy(update=told)
        bench.runner = Runner(AsyncStore(bench.client), bench.runner._layout, settings, now_s=monotonic_s)

    def spec(self, name: ProviderName, **fields: Any) -> ProviderSpec:
        """A provider there."""
        url, model = self.standin.url, CLAUDE
        if name is ProviderName.OPENAI:
            url, model = self.standin.openai_url, GPT
        return ProviderSpec(**{"name": name, "model": model, "base_url": url, **fields})

    def of(self, backend: Backend) -> ProviderSpec:
        """That provider there."""
        by_token = backend.key_env == "AWS_BEARER_TOKEN_BEDROCK" and not backend.signs
        return backend.spec(self.standin.url, **({"key_ref": "env:PLANTED_TOKEN"} if by_token else {}))

    def let_in(self, **fields: Any) -> None:
        """Nobody but who has the right key, or signs with the right secret."""
        who = {KEY: "ours", ACCESS_KEY: "ours"}
        self.standin.play(Scenario(keys=who, signers={ACCESS_KEY: SECRET}, **fields))

    def policy(self, *specs: ProviderSpec, **fields: Any) -> None:
        """The tenant's."""
        self.bench.store.run(save_policy(self.bench.filled.tenant, Policy(providers=specs, **fields)))

    async def done(self, **claim: Any) -> JobTag:
        """A job that has stored its candidate."""
        job = self.bench.filled.claim(**claim)
        assert await self.bench.work(job) == Ended("stored"), self.bench.job(job).calls
        return self.bench.job(job)

    def raw(self, cid: str) -> bytes:
        """A candidate's stored bytes."""
        found = self.bench.store.run(reading.candidate_body(self.bench.filled.keys, cid))
        assert found is not None
        return codec.decode(found) if found[:1] in {b"r", b"z"} else found


@pytest.fixture
async def desk(
    new_bench: Callable[[str, str, float], Bench],
    redis_url: str,
    tenant: str,
    standin: Served,
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncIterator[Desk]:
    """A bench of a tenant that uses the stand-in."""
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    made = Desk(new_bench(redis_url, tenant, 30), standin)
    yield made
    await made.bench.runner.close()


@pytest.mark.parametrize("backend", TEXT, ids=str)
async def test_each_provider_brings_a_record_in_the_presets_form(desk: Desk, backend: Backend) -> None:
    """On every platform, as stream and as JSON: checked, paid for, with everything seen."""
    desk.let_in()
    desk.policy(desk.of(backend), fallback=False)
    desk.bench.filled.append([user("Never touch main.py."), *turns(40, words=12)])
    job = await desk.done()
    [tag] = [tag for tag in desk.bench.candidates() if tag.slot == "speculative"]
    assert (tag.provider, tag.kind, tag.coverage) == (backend.provider, "summary", 1.0)
    assert "Never touch main.py" in desk.bench.body(tag.cid)["summary"]
    told = job.calls[-1]
    assert told["outcome"] == "ok"
    assert told["input_tokens"] + told["cache_write_tokens"] + told["cache_read_tokens"] > 1_000
    assert told["cost_usd"] > 0
    assert told["request_id"] == desk.standin.requests[-1]["request_id"]
    assert desk.standin.requests[-1]["url"] == backend.url


@pytest.mark.parametrize("backend", NATIVE, ids=str)
async def test_each_provider_brings_its_own_block(desk: Desk, backend: Backend) -> None:
    """On every platform; by trigger where there is no other way."""
    desk.let_in(paths_off=backend.paths_off)
    desk.policy(desk.of(backend), fallback=False)
    desk.bench.filled.format = backend.format
    desk.bench.filled.append(turns(40, words=12))
    job = await desk.done()
    assert (job.calls[-1]["mode"], job.calls[-1]["outcome"]) == ("native", "ok")
    [tag] = [tag for tag in desk.bench.candidates() if tag.slot == "speculative"]
    assert (tag.kind, tag.provider) == ("native", backend.provider)
    items = desk.bench.body(tag.cid)["insert"]
    assert "compaction" in {part.get("type") for item in items for part in (item, *parts_of(item))}
    assert desk.standin.requests[-1]["url"] == backend.url


def parts_of(item: dict[str, Any]) -> list[dict[str, Any]]:
    """A message's parts."""
    content = item.get("content")
    return [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []


async def test_anthropics_block_is_stored_as_it_came_and_goes_back_unchanged(desk: Desk, claude: Any) -> None:
    """With the signature that covers it, and a readable summary beside it."""
    desk.policy(desk.spec(ProviderName.ANTHROPIC), preset="anthropic-native", fallback=False)
    messages = turns(40, words=12)
    desk.bench.filled.append(messages)
    job = await desk.done()
    assert [(told["mode"], told["outcome"]) for told in job.calls] == [("native", "ok")]
    assert job.calls[0]["output_tokens"] > 0
    [tag] = [tag for tag in desk.bench.candidates() if tag.slot == "speculative"]
    assert (tag.kind, tag.family, tag.provider) == ("native", CLAUDE, "anthropic")
    body = desk.bench.body(tag.cid)
    [opening] = body["insert"]
    assert opening["content"][0]["type"] == "compaction"
    assert opening["content"][0]["signature"]
    assert "request 0" in body["summary"]
    assert body["native"]["readable"][0]["role"] == "user"
    rest = messages[tag.upto :]
    tail = rest if rest and rest[-1]["role"] == "user" else [*rest, user("And now?")]
    reply = claude.beta.messages.create(
        model=CLAUDE,
        max_tokens=500,
        messages=[opening, *tail],
        extra_headers={"anthropic-beta": "compact-2026-09-04"},
    )
    assert reply.stop_reason == "end_turn"


async def test_the_next_block_is_made_from_the_last_one(desk: Desk) -> None:
    """Only one block may stand in a list; the stand-in sees to that."""
    desk.policy(desk.spec(ProviderName.ANTHROPIC), preset="anthropic-native", fallback=False)
    desk.bench.filled.append(turns(40, words=12))
    await desk.done()
    view = desk.bench.filled.view()
    [first] = [tag for tag in view.candidates if tag.slot == "speculative"]
    desk.bench.adopt(first)
    desk.bench.filled.append(turns(40, start=40, words=12))
    await desk.done()
    [second] = [tag for tag in desk.bench.candidates() if tag.slot == "speculative"]
    assert second.upto > first.upto
    assert len(desk.bench.body(second.cid)["insert"]) == 1


async def test_openais_window_is_stored_as_it_came(desk: Desk, gpt: Any) -> None:
    """All items, unpruned, in front of the tail."""
    desk.policy(desk.spec(ProviderName.OPENAI), preset="openai-native", fallback=False)
    desk.bench.filled.format = Format.OPENAI_RESPONSES
    messages = turns(40, words=12)
    desk.bench.filled.append(messages)
    job = await desk.done()
    assert [(told["mode"], told["outcome"]) for told in job.calls] == [("native", "ok")]
    [tag] = [tag for tag in desk.bench.candidates() if tag.slot == "speculative"]
    assert (tag.kind, tag.family) == ("native", GPT)
    insert = desk.bench.body(tag.cid)["insert"]
    assert [item["type"] for item in insert].count("compaction") == 1
    reply = gpt.with_options(api_key=KEY).responses.create(
        model=GPT, input=[*insert, *messages[tag.upto :], user("And now?")], store=False
    )
    assert reply.status == "completed"


async def test_the_bytes_of_a_block_are_those_that_came(desk: Desk, standin: Served) -> None:
    """Not merely equal when parsed."""
    desk.policy(desk.spec(ProviderName.ANTHROPIC), preset="anthropic-native", fallback=False)
    desk.bench.filled.append([user("Grüße, 世界 — “quoted”"), *turns(40, words=12)])
    await desk.done()
    [tag] = [tag for tag in desk.bench.candidates() if tag.slot == "speculative"]
    block = desk.bench.body(tag.cid)["insert"][0]["content"][0]
    raw = desk.raw(tag.cid)
    assert json.dumps(block, ensure_ascii=False, separators=(",", ":")).encode() in raw


async def test_where_native_is_not_available_a_summary_takes_its_place(
    desk: Desk, play: Callable[..., Served]
) -> None:
    """The same provider, the other way; both calls on record."""
    unavailable = FaultRule(fault=Fault(kind=FaultKind.COMPACTION_UNAVAILABLE), on=(1,))
    play(faults=(unavailable,))
    desk.policy(desk.spec(ProviderName.ANTHROPIC), preset="anthropic-native", fallback=False)
    desk.bench.filled.append(turns(40, words=12))
    job = await desk.done()
    assert [told["mode"] for told in job.calls] == ["native", "transcript"]
    assert job.calls[0]["outcome"] == "compaction_unavailable"
    [tag] = [tag for tag in desk.bench.candidates() if tag.slot == "speculative"]
    assert tag.kind == "summary"


async def test_masking_always_excludes_native(desk: Desk) -> None:
    """A block is made from the conversation as it is."""
    desk.policy(
        desk.spec(ProviderName.ANTHROPIC), preset="anthropic-native", redact=Redaction.ALWAYS, fallback=False
    )
    desk.bench.filled.append(turns(40, words=12))
    job = await desk.done()
    assert {told["mode"] for told in job.calls} == {"transcript"}


async def test_a_policy_can_ask_for_native_with_any_preset(desk: Desk) -> None:
    """By the provider's mode."""
    desk.policy(desk.spec(ProviderName.ANTHROPIC, mode=CallMode.NATIVE), fallback=False)
    desk.bench.filled.append(turns(40, words=12))
    job = await desk.done()
    assert [told["mode"] for told in job.calls] == ["native"]
