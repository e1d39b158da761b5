"""Real processes and a provider that falls silent: the worker is killed in mid-stream, another does the job."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import redis

from precompact_shared.policy import Policy
from precompact_shared.store import reading
from precompact_shared.store.types import JobState, JobTag
from precompact_standin.scenario import Fault, FaultKind, FaultRule, Scenario
from tests.support.filling import Filled
from tests.support.stack import Shape, Stack
from tests.support.standin import Served
from tests.support.talk import turns, user
from tests.support.waiting import eventually

MODEL = "claude-opus-5-5"
KEY = "sk-test-planted-key-0123456789"
WORDS = "pomegranate-4711"
SILENCE = FaultRule(fault=Fault(kind=FaultKind.STALLED_STREAM, duration_s=600), path="/v1/messages", on=(1,))


@pytest.fixture
def stack(
    tmp_path_factory: pytest.TempPathFactory, standin: Served, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Stack]:
    """One process of each kind; the deployment's chain is Anthropic at the stand-in, then code."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    settings = {
        "provider_chain": ("anthropic",),
        "anthropic_model": MODEL,
        "anthropic_base_url": standin.url,
        "job_attempts": 20,
    }
    shape = Shape(apis=1, schedulers=1, workers=1, settings=settings)
    with Stack(tmp_path_factory.mktemp("silence"), shape) as service:
        yield service


@pytest.mark.process
def test_a_worker_killed_in_mid_stream_leaves_no_bad_candidate_and_no_call_unrecorded(
    stack: Stack, standin: Served
) -> None:
    """And nothing of conversation or key in logs, broker, events or the ledger."""
    standin.play(Scenario(faults=(SILENCE,)))
    tenant, _ = stack.new_tenant(Policy())
    filled = Filled(stack.store, stack.layout, tenant, "s1")
    filled.append([user(f"The word is {WORDS}. Never touch main.py."), *turns(60, words=12)])
    job = eventually(lambda: filled.view().job, 30, "the scheduler's claim")
    assert job is not None
    eventually(lambda: len(standin.requests) == 1, 30, "the first call")
    eventually(lambda: calls(stack, filled, job) == ["begun"], 30, "the call on record")
    stack.kill("worker")
    assert [tag.slot for tag in filled.view().candidates] == ["floor"]
    stack.restart("worker")
    eventually(lambda: found(stack, filled, job).state == JobState.DONE, 60, "the job's end")
    assert [tag.provider for tag in filled.view().candidates] == ["anthropic"]
    assert calls(stack, filled, job) == ["begun", "ok"]
    begun, done = found(stack, filled, job).calls
    assert begun["estimated"]
    assert begun["input_tokens"] > 1_000
    assert done["cost_usd"] > 0
    told = "\n".join(stack.log(kind, number) for kind, number in stack.names)
    told += str(stack.client.xrange(filled.keys.shard.events)) + str(found(stack, filled, job))
    told += str(stack.client.hgetall(filled.keys.key("c"))) + str(
        stack.client.lrange(filled.keys.key("d"), 0, -1)
    )
    told += everything(stack.broker.url)
    assert tenant in told
    assert WORDS not in told
    assert KEY not in told


def found(stack: Stack, filled: Filled, job: JobTag) -> JobTag:
    """The job as the ledger has it."""
    tag = stack.store.run(reading.job(filled.keys, job.jid))
    assert tag is not None
    return tag


def calls(stack: Stack, filled: Filled, job: JobTag) -> list[str]:
    """Outcomes of the calls on record."""
    return [str(told["outcome"]) for told in found(stack, filled, job).calls]


def everything(url: str) -> str:
    """All that a Redis holds, whatever its type."""
    with redis.Redis.from_url(url) as client:
        return str([(key, client.dump(key)) for key in client.scan_iter(count=1_000)])
