"""A provider's block from the job to the context: adopted, named headers with it, and replaced for other models."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from precompact.splice import apply_context
from precompact_shared.policy import Policy
from precompact_shared.provider_spec import ProviderName, ProviderSpec
from precompact_shared.store.tenants import save_policy
from precompact_worker.run import Ref, Runner
from precompact_worker.tools import Ended
from tests.support.candidates import claim
from tests.support.service import Service
from tests.support.standin import Served
from tests.support.talk import turns, user
from tests.support.workers import worker_of

CLAUDE = "claude-opus-5-5"


@pytest.fixture
async def runner(service: Service, standin: Served, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Runner]:
    """A worker whose tenant lets Anthropic compact, at the stand-in."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test")
    spec = ProviderSpec(name=ProviderName.ANTHROPIC, model=CLAUDE, base_url=standin.url)
    policy = Policy(preset="anthropic-native", providers=(spec,), fallback=False)
    service.store.run(save_policy(service.tenant, policy))
    async with worker_of(service, standin.url) as made:
        yield made


def adopt(http: httpx.Client) -> httpx.Response:
    """The candidate, by hand."""
    return http.post("/v1/sessions/n/adopt", json={})


def prepare(http: httpx.Client, news: list[Any], seen: dict[str, int], **options: Any) -> dict[str, Any]:
    """One call before a model call."""
    body = {"format": "anthropic", "window": 200_000, "max_output": 8_000, "seen": seen, "messages": news}
    response = http.post("/v1/sessions/n/prepare", json={"model": CLAUDE, **body, **options})
    assert response.status_code == 200, response.text
    found: dict[str, Any] = response.json()
    return found


async def test_a_block_is_adopted_with_the_header_it_needs_and_other_models_read_the_summary(
    service: Service, http: httpx.Client, runner: Runner, claude: Any
) -> None:
    """Before, with, and after a change of model."""
    messages = [*turns(40, words=12), user("And now?")]
    first = prepare(http, messages, {"version": 0, "length": 0})
    assert first["request"] == {"headers": {}, "body": {}}
    job = claim(service, "n")
    service.store.run(service.ops("n").queued(job.jid))
    assert await runner.run(Ref(service.tenant, "n", job.jid)) == Ended("stored")
    adopted = adopt(http)
    assert adopted.status_code == 200, adopted.text
    seen = {"version": adopted.json()["history_version"], "length": len(messages)}

    answer = prepare(http, [], seen, have=adopted.json()["context"]["checkpoint"])
    assert answer["request"] == {"headers": {"anthropic-beta": "compact-2026-09-04"}, "body": {}}
    stated = answer["context"]
    context = apply_context(messages, stated["insert"], stated["keep_from"], stated["edits"])
    assert context[0]["content"][0]["type"] == "compaction"
    if context[-1]["role"] == "assistant":
        context.append(user("And now?"))
    reply = claude.beta.messages.create(
        model=CLAUDE, max_tokens=300, messages=context, extra_headers=answer["request"]["headers"]
    )
    assert reply.stop_reason == "end_turn"

    other = prepare(http, [], seen, model="claude-haiku-4-5")
    assert other["request"] == {"headers": {}, "body": {}}
    shown = json.dumps(other["context"]["insert"])
    assert "compaction" not in shown
    assert "request 0" in shown
    assert other["context"]["checkpoint"] == stated["checkpoint"]


async def test_a_block_for_another_model_is_not_adopted(
    service: Service, http: httpx.Client, runner: Runner
) -> None:
    """The session's model changed while the job ran."""
    messages = [*turns(40, words=12), user("And now?")]
    prepare(http, messages, {"version": 0, "length": 0})
    job = claim(service, "n")
    service.store.run(service.ops("n").queued(job.jid))
    assert await runner.run(Ref(service.tenant, "n", job.jid)) == Ended("stored")
    prepare(http, [], {"version": 0, "length": len(messages)}, model="claude-haiku-4-5")
    refused = adopt(http)
    assert refused.status_code == 412
    assert refused.json()["reason"] == "instructions_changed"


TEXT = {"type": "text", "text": "You write Python."}
MARKED = [{**TEXT, "cache_control": {"type": "ephemeral"}}]
SYSTEM = {"system": [TEXT], "tools": [], "params": {"max_tokens": 1_000}}


@pytest.mark.parametrize(
    "told",
    [
        (SYSTEM, {}, 200),
        (SYSTEM, {"prefix": SYSTEM}, 200),
        (SYSTEM, {"prefix": SYSTEM | {"params": {"max_tokens": 2_000, "temperature": 1}}}, 200),
        (SYSTEM, {"prefix": SYSTEM | {"system": MARKED}}, 200),
        (SYSTEM, {"prefix": SYSTEM | {"tools": [{"name": "Read", "input_schema": {"type": "object"}}]}}, 412),
        (SYSTEM, {"prefix": SYSTEM | {"system": "You write Rust."}}, 412),
        (None, {"prefix": SYSTEM}, 200),
        (None, {}, 200),
    ],
    ids=[
        "unchanged",
        "sent again",
        "other parameters",
        "marked",
        "other tools",
        "other system",
        "unknown at the start",
        "never known",
    ],
)
async def test_a_block_made_under_other_instructions_is_not_adopted(
    service: Service,
    http: httpx.Client,
    runner: Runner,
    told: tuple[dict[str, Any] | None, dict[str, Any], int],
) -> None:
    """Rule 7. Where the caller never told its system prompt and tools nobody can tell, and the block is taken."""
    before, after, status = told
    messages = [*turns(40, words=12), user("And now?")]
    prepare(http, messages, {"version": 0, "length": 0}, **({"prefix": before} if before else {}))
    job = claim(service, "n")
    service.store.run(service.ops("n").queued(job.jid))
    assert await runner.run(Ref(service.tenant, "n", job.jid)) == Ended("stored")
    prepare(http, [], {"version": 0, "length": len(messages)}, **after)
    answer = adopt(http)
    assert answer.status_code == status, answer.text
    if status == 412:
        assert answer.json()["reason"] == "instructions_changed"
        kept = read(http, "/v1/sessions/n/candidates")["candidates"]
        [closed] = [one for one in kept if one["slot"] != "floor"]
        assert (closed["state"], closed["reason"]) == ("closed", "instructions_changed")


@pytest.mark.parametrize(("known", "status"), [(True, "adopted"), (False, "fits")])
async def test_a_digest_that_this_call_names_counts_before_its_content_has_come(
    service: Service, http: httpx.Client, runner: Runner, known: bool, status: str
) -> None:
    """The next request goes out with these instructions, whatever is still on record."""
    messages = [*turns(40, words=12), user("And now?")]
    told = prepare(http, messages, {"version": 0, "length": 0}, prefix=SYSTEM)
    job = claim(service, "n")
    service.store.run(service.ops("n").queued(job.jid))
    assert await runner.run(Ref(service.tenant, "n", job.jid)) == Ended("stored")
    named = told["prefix"] if known else "0" * 32
    usage = {"input_tokens": 180_000, "version": 0, "length": len(messages)}
    seen = {"version": 0, "length": len(messages)}
    answer = prepare(http, [], seen, prefix={"digest": named}, usage=usage)
    assert answer["status"] == status, answer["compaction"]
    if known:
        return
    assert answer["compaction"]["reason"] == "instructions_unknown"
    assert "send_prefix" in answer["compaction"]["advice"]
    warmer = {**SYSTEM, "params": {"max_tokens": 9_000}}
    assert prepare(http, [], seen, prefix=warmer)["status"] == "adopted"


async def test_what_it_cost_is_told_for_job_candidate_session_and_tenant(
    service: Service, http: httpx.Client, runner: Runner
) -> None:
    """The same sum everywhere; failed calls included."""
    prepare(http, [*turns(40, words=12), user("And now?")], {"version": 0, "length": 0})
    job = claim(service, "n")
    service.store.run(service.ops("n").queued(job.jid))
    assert await runner.run(Ref(service.tenant, "n", job.jid)) == Ended("stored")
    [told] = read(http, "/v1/sessions/n/jobs")["jobs"][-1]["calls"]
    [candidate] = [
        one for one in read(http, "/v1/sessions/n/candidates")["candidates"] if one["slot"] != "floor"
    ]
    session = read(http, "/v1/sessions/n/usage")
    tenant = read(http, "/v1/usage")
    assert told["cost_usd"] > 0
    assert candidate["cost_usd"] == told["cost_usd"] == session["cost_usd"] == tenant["total"]["cost_usd"]
    assert (session["calls"], session["output_tokens"]) == (1, told["output_tokens"])
    [row] = tenant["rows"]
    assert (row["provider"], row["model"], row["mode"], row["calls"]) == ("anthropic", CLAUDE, "native", 1)
    adopt(http)
    [checkpoint] = read(http, "/v1/sessions/n/checkpoints")["checkpoints"]
    assert checkpoint["cost_usd"] == told["cost_usd"]


@pytest.mark.parametrize("query", ["from=yesterday", "from=2026-02-01&to=2026-01-01", "from=1990-01-01"])
def test_a_span_of_days_has_to_be_one(http: httpx.Client, query: str) -> None:
    """A year at most."""
    assert http.get(f"/v1/usage?{query}").status_code == 400


def read(http: httpx.Client, path: str) -> dict[str, Any]:
    """An answer."""
    response = http.get(path)
    assert response.status_code == 200, response.text
    found: dict[str, Any] = response.json()
    return found
