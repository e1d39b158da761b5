"""Rules of versions and adoption that show at the contract only; the store's own are in tests/property."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import httpx
import pytest

from precompact_api import forking
from precompact_shared.store import AsyncStore, Limits, async_client
from precompact_shared.store.types import SessionView
from tests.integration.test_api_prepare import SMALL, Agent
from tests.support.candidates import put, view_of
from tests.support.service import Service
from tests.support.talk import call, turns, user
from tests.support.waiting import eventually


@pytest.fixture
def agent(http: httpx.Client) -> Agent:
    """An agent of session `s`."""
    return Agent(http, "s")


def fall_silent(service: Service, session: str, seconds: int) -> None:
    """Puts the session's newest append back in time, as if nobody had spoken since."""
    keys = service.keys(session)
    last = int(service.store.client.hget(keys.key("h"), "last") or 0)
    service.store.client.hset(keys.key("h"), "last", str(last - 1000 * seconds))


def test_rule_08_a_call_at_the_boundary_defers_and_its_result_lets_the_candidate_in(
    agent: Agent, service: Service
) -> None:
    """Deferred is not discarded: the same candidate is adopted at the next call."""
    agent.prepare([*turns(10, words=4), user("go on"), call("c1")], open_calls={"c1": "pending"})
    cid = put(service, "s", upto=22)
    answer = agent.prepare(turns(3, start=10, words=4), open_calls={"c1": "pending"})
    assert (answer["status"], answer["compaction"]["reason"]) == ("fits", "open_call")
    assert answer["compaction"]["candidate"]["id"] == cid
    answer = agent.prepare([])
    assert (answer["status"], answer["context"]["checkpoint"]) == ("adopted", cid)


def test_rule_11_a_candidate_is_adopted_below_the_limit_once_the_cache_has_gone_cold(
    agent: Agent, service: Service
) -> None:
    """After a pause longer than the cache lives the prefix is paid for anyway, so the shorter one is taken."""
    agent.prepare(turns(10, words=4))
    cid = put(service, "s", upto=16)
    answer = agent.prepare([user("a word")])
    assert (answer["status"], answer["compaction"]["reason"]) == ("fits", "candidate_ready")
    fall_silent(service, "s", 299)
    assert agent.prepare([user("a little later")])["status"] == "fits"
    fall_silent(service, "s", 301)
    answer = agent.prepare([user("and much later")])
    assert (answer["status"], answer["compaction"]["reason"]) == ("adopted", "cache_cold")
    assert answer["context"]["checkpoint"] == cid


def test_rule_11_a_pause_alone_compacts_nothing(agent: Agent, service: Service) -> None:
    """Without a candidate a cold cache changes nothing, and nobody waits."""
    agent.prepare(turns(4))
    fall_silent(service, "s", 3_600)
    answer = agent.prepare([user("back again")])
    assert (answer["status"], answer["history_version"]) == ("fits", 0)


def test_rule_12_adopting_what_is_adopted_gets_the_same_bytes(
    agent: Agent, http: httpx.Client, service: Service
) -> None:
    """A retry whose first answer got lost."""
    agent.prepare(turns(10, words=4))
    cid = put(service, "s", upto=10)
    first = http.post("/v1/sessions/s/adopt", json={"candidate": cid})
    again = http.post("/v1/sessions/s/adopt", json={"candidate": cid})
    assert (first.status_code, again.status_code) == (200, 200)
    assert first.json()["context"] == again.json()["context"]
    assert first.json()["history_version"] == again.json()["history_version"] == 1


def test_rule_12_the_context_of_a_checkpoint_is_the_same_in_every_answer(
    agent: Agent, service: Service
) -> None:
    """Byte-stable from request to request, or the provider's cache would miss."""
    agent.prepare(turns(10, words=4))
    put(service, "s", upto=10)
    first = agent.prepare(turns(3, start=10, words=4))
    later = agent.prepare([user("next")])
    assert first["status"] == "adopted"
    assert later["context"]["insert"] == first["context"]["insert"]
    assert agent.context(later)[: len(agent.context(first))] == agent.context(first)


def test_rule_18_waiters_share_one_reader_of_the_streams(service: Service, http: httpx.Client) -> None:
    """Eight callers wait at `hard`; the process reads the streams once, and each hears of its own job."""
    agents = [Agent(http, f"w{n}") for n in range(8)]
    for one in agents:
        one.prepare(turns(10, words=4))
    answers: list[dict[str, Any]] = []

    def wait(one: Agent) -> None:
        answers.append(one.prepare(turns(8, start=10, words=4), wait=20))

    threads = [threading.Thread(target=wait, args=(one,)) for one in agents]
    for thread in threads:
        thread.start()
    for one in agents:
        job = eventually(lambda one=one: view_of(service, one.session).job, 10)  # type: ignore[misc]
        put(service, one.session, upto=16, job=job)
    readers = [told for told in service.store.client.client_list() if told["cmd"] == "xread"]
    for thread in threads:
        thread.join(30)
    assert len(readers) <= 1, "one reader per API process"
    assert [answer["status"] for answer in answers] == ["waited"] * 8


def test_rule_23_a_source_that_is_rewritten_while_it_is_copied_is_copied_again(
    service: Service, http: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rewrite lands between the last entry and the check: what is published is what the source then holds."""
    agent = Agent(http, "s")
    agent.prepare(turns(6))
    looks = _rewrite_at_the_first_look(http, agent, monkeypatch)
    copy, made = asyncio.run(_fork(service, view_of(service, "s"), "copy"))
    assert made
    assert looks == ["rewritten", "calm", "calm"][: len(looks)]
    assert len(looks) >= 2
    assert (copy.length, copy.version) == (8, 0)
    assert copy.head == view_of(service, "s").head


def _rewrite_at_the_first_look(
    http: httpx.Client, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> list[str]:
    looks: list[str] = []
    look = forking._again

    def rewind() -> None:
        seen = {"version": agent.version, "length": agent.length}
        assert http.post("/v1/sessions/s/rewind", json={"seen": seen, "to": 8}).status_code == 200

    async def again(*args: Any) -> SessionView:
        if looks:
            looks.append("calm")
        else:
            await asyncio.to_thread(rewind)
            looks.append("rewritten")
        return await look(*args)

    monkeypatch.setattr(forking, "_again", again)
    return looks


async def _fork(service: Service, source: SessionView, target: str) -> tuple[SessionView, bool]:
    """Runs the API's own copying in this process, on the same store."""
    client = async_client(service.settings.required_state_redis_url)
    store = AsyncStore(client)

    class Here:
        limits = Limits()
        run = staticmethod(store.run)
        read = staticmethod(store.run)

        @staticmethod
        def ops(tenant: str, session: str) -> Any:
            assert tenant == service.tenant
            return service.ops(session)

        @staticmethod
        def session(tenant: str, session: str) -> Any:
            assert tenant == service.tenant
            return service.keys(session)

    try:
        return await forking.fork(Here(), source, target, None)  # type: ignore[arg-type]
    finally:
        await client.aclose()


def test_small_sessions_are_what_these_tests_think() -> None:
    """The numbers above rest on this window."""
    assert SMALL["window"] == 3_265
