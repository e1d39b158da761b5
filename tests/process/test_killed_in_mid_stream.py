"""Real processes and a provider that falls silent: the worker is killed in mid-stream, another does the job."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from precompact_shared.engine.types import Format
from precompact_shared.policy import Policy
from precompact_shared.store import reading
from precompact_shared.store.spending import session_spent
from precompact_shared.store.types import JobState, JobTag
from precompact_standin.scenario import Fault, FaultKind, FaultRule, Scenario
from precompact_worker.providers.clients import host_of
from tests.contract.asking import KEYS
from tests.support.backends import ACCESS_KEY, KEY, NATIVE, SECRET, TEXT, Backend
from tests.support.eavesdropping import values_of
from tests.support.filling import Filled
from tests.support.stack import Shape, Stack
from tests.support.standin import Served
from tests.support.talk import turns, user
from tests.support.waiting import eventually

pytestmark = pytest.mark.process
WORDS = "pomegranate-4711"
LONG_WAIT_S = 60
KILLED = {"anthropic", "anthropic-bedrock-signed", "responses", "chat", "native-anthropic", "native-compact"}
BACKENDS = [one for one in (*TEXT, *NATIVE) if one.name in KILLED]
SILENCE = FaultRule(
    fault=Fault(kind=FaultKind.STALLED_STREAM, duration_s=600), on=tuple(range(1, len(BACKENDS) + 1))
)
"""Every first reply stops in its middle and stays there."""


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory, standin_server: Served) -> Iterator[Stack]:
    """One process of each kind; policies may use the stand-in."""
    settings = {
        "provider_hosts": (host_of(standin_server.url),),
        "provider_key_refs": ("env:*",),
        "job_attempts": 20,
    }
    shape = Shape(apis=1, schedulers=1, workers=1, settings=settings)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in KEYS.items():
            patch.setenv(name, value)
        with Stack(tmp_path_factory.mktemp("silence"), shape) as service:
            yield service


@dataclass(frozen=True)
class Case:
    """One provider's session and its job."""

    backend: Backend
    filled: Filled
    job: JobTag
    stack: Stack

    @property
    def found(self) -> JobTag:
        """The job as the ledger has it."""
        tag = self.stack.store.run(reading.job(self.filled.keys, self.job.jid))
        assert tag is not None
        return tag

    @property
    def outcomes(self) -> list[str]:
        """Of the calls on record."""
        return [str(told["outcome"]) for told in self.found.calls]

    @property
    def made(self) -> list[tuple[str | None, str]]:
        """Who wrote candidates, and of what kind."""
        tags = self.filled.view().candidates
        return [(tag.provider, tag.kind) for tag in tags if tag.slot != "floor"]


def begun(stack: Stack, backend: Backend, url: str) -> Case:
    """A session at its limit, whose tenant has this one provider."""
    tenant, _ = stack.new_tenant(Policy(providers=(backend.spec(url),), fallback=False))
    filled = Filled(stack.store, stack.layout, tenant, "s1", format=backend.format)
    filled.append([user(f"The word is {WORDS}. Never touch main.py."), *turns(100, words=12)])
    job = eventually(lambda: filled.view().job, LONG_WAIT_S, f"a claim for {backend.name}")
    assert job is not None
    return Case(backend, filled, job, stack)


def test_a_worker_killed_in_mid_stream_leaves_no_bad_candidate_and_no_call_unrecorded(
    stack: Stack, standin: Served
) -> None:
    """Half replies become nothing; their calls are on record and paid for; the jobs end well at another worker."""
    standin.play(Scenario(faults=(SILENCE,)))
    cases = [begun(stack, backend, standin.url) for backend in BACKENDS]
    eventually(lambda: len(standin.requests) == len(cases), LONG_WAIT_S, "the first calls")
    eventually(lambda: all(one.outcomes == ["begun"] for one in cases), LONG_WAIT_S, "the calls on record")
    stack.kill("worker")
    assert [one.made for one in cases] == [[]] * len(cases)
    stack.restart("worker")
    ended = {JobState.DONE, JobState.DEAD}
    eventually(lambda: all(one.found.state in ended for one in cases), LONG_WAIT_S, "the jobs' end")
    for one in cases:
        check(one)
    nothing_told(stack, cases)


def check(case: Case) -> None:
    """One good candidate; two calls on record, the first one estimated or as it was told; both counted once."""
    assert case.found.state == JobState.DONE
    kind = "native" if case.backend.is_native else "summary"
    assert case.made == [(case.backend.provider, kind)]
    lost, done = case.found.calls
    assert (lost["outcome"], done["outcome"]) == ("begun", "ok")
    # Anthropic's streams tell the prompt's size when they begin; a heartbeat may have written it down.
    assert lost["estimated"] or case.backend.format is Format.ANTHROPIC
    assert lost["input_tokens"] > 1_000
    assert (lost["cost_usd"] > 0, done["cost_usd"] > 0) == (True, True)
    spent = case.stack.store.run(session_spent(case.filled.keys))
    assert spent.calls == 2
    assert spent.cost_usd == pytest.approx(lost["cost_usd"] + done["cost_usd"])


def nothing_told(stack: Stack, cases: list[Case]) -> None:
    """No word of conversation or key in logs, broker or ledger."""
    told = "\n".join(stack.log(kind, number) for kind, number in stack.names)
    told += "\n".join(text for _, text in values_of(stack.broker.url))
    for one in cases:
        told += str(stack.client.xrange(one.filled.keys.shard.events)) + str(one.found)
        told += str(stack.client.hgetall(one.filled.keys.key("c")))
        assert one.filled.tenant in told
    for planted in (WORDS, KEY, SECRET, ACCESS_KEY):
        assert planted not in told
