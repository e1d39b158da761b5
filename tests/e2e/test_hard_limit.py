"""At the hard limit with real processes: who waits gets a context that fits, and no job is paid for in vain."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from precompact import Client, Session, Status
from precompact_shared.policy import Policy, ProviderName, ProviderSpec
from precompact_shared.store import reading
from precompact_shared.store.types import JobTag
from tests.support.stack import Stack
from tests.support.talk import turns, user
from tests.support.waiting import eventually

pytestmark = pytest.mark.process

WINDOW, MAX_OUTPUT = 12_000, 1_000
"""hard = 10,760 tokens, limit = 9,684; speculation starts between 6,294 and 8,231."""
_numbers = itertools.count(1)
Jobs = Callable[[], list[JobTag]]


@pytest.fixture
def talk(stack: Stack, request: pytest.FixtureRequest) -> Iterator[tuple[Session, Jobs]]:
    """A session of its own under the test's policy, and a look at its ledger."""
    tenant, key = stack.new_tenant(getattr(request, "param", None))
    with Client(stack.api_urls[0], key, unreachable="raise", timeout_s=30) as client:
        name = f"hard-{next(_numbers)}"
        session = client.session(name, format="openai-chat", window=WINDOW, max_output=MAX_OUTPUT)
        yield session, lambda: stack.store.run(reading.jobs(stack.session(tenant, name)))


SLOW = Policy(providers=(ProviderSpec(name=ProviderName.SCRIPTED, delay_s=1.5),), summary_max_tokens=1_000)


@pytest.mark.parametrize("talk", [SLOW], indirect=True)
def test_a_job_that_began_before_the_window_was_full_is_followed_by_another(
    talk: tuple[Session, Jobs],
) -> None:
    """The first candidate covers too little of what came meanwhile; the call waits on and gets one that fits."""
    session, jobs = talk
    assert session.prepare(turns(62, words=4)).status is Status.FITS
    eventually(lambda: any(job.state == "running" for job in jobs()), 20, "a job runs")
    context = session.prepare(turns(150, start=62, words=4), wait=30)
    assert context.status is Status.WAITED
    assert context.tokens is not None
    assert context.hard is not None
    assert context.tokens < context.hard
    assert len(jobs()) >= 2


def test_what_cannot_fit_is_tried_once(talk: tuple[Session, Jobs]) -> None:
    """A newest message larger than the window: an honest overflow each time, but no new job each time."""
    session, jobs = talk
    huge: dict[str, Any] = user("one word after the other " * 4_000)
    assert session.prepare([*turns(20, words=4), huge], wait=20).status is Status.OVERFLOW
    eventually(lambda: not any(job.is_live for job in jobs()), 20, "the ledger is quiet")
    before = len(jobs())
    assert [session.prepare(wait=20).status for _ in range(4)] == [Status.OVERFLOW] * 4
    assert len(jobs()) <= before + 1
