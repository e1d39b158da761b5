"""The client against the real API: the contract held by both sides, faults of the network and of Redis included."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from redis import Redis

from precompact import (
    AsyncClient,
    CandidateRefusedError,
    Client,
    HistoryDivergedError,
    HistoryRewrittenError,
    NotAuthorizedError,
    ProblemError,
    Retry,
    Session,
    SessionDeletedError,
    Status,
    UnseenEndError,
)
from tests.contract.scripted_provider import ScriptedProvider, scripted_provider
from tests.contract.test_agent_loops import LOOPS, SCRIPT
from tests.support.service import Service
from tests.support.standin import Served


def said(number: int) -> dict[str, str]:
    """One message of a conversation."""
    return {"role": "user" if number % 2 == 0 else "assistant", "content": f"message {number}"}


def talk(session: Session, start: int, end: int) -> None:
    """Prepare with one message after the other."""
    for number in range(start, end):
        session.prepare(said(number))


class Losing(httpx.BaseTransport):
    """Passes everything on; while `losing`, answers to requests that hold `marked` get lost on their way back."""

    def __init__(self) -> None:
        self._inner = httpx.HTTPTransport()
        self.losing = False
        self.marked = b""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """One exchange."""
        response = self._inner.handle_request(request)
        if not self.losing or self.marked not in request.read():
            return response
        response.read()
        response.close()
        raise httpx.ReadTimeout("lost")

    def close(self) -> None:
        """Give the connections back."""
        self._inner.close()


@pytest.fixture
def network() -> Losing:
    """The way to the service."""
    return Losing()


@pytest.fixture
def client(service: Service, network: Losing) -> Iterator[Client]:
    """A client of the test's own tenant."""
    with Client(service.base_url, service.key, transport=network, retry=Retry(first_pause_s=0.0)) as opened:
        yield opened


@pytest.fixture
def session(client: Client) -> Session:
    """A new session."""
    return client.session("chat", format="anthropic", window=100_000)


def stored(service: Service, session_id: str = "chat") -> list[Any]:
    """What the service holds, read by somebody else."""
    with service.client() as http:
        answer = http.get(f"/v1/sessions/{session_id}/history").json()
    return [entry["message"] for entry in answer["entries"]]


def snapshot(redis: Redis, service: Service) -> Callable[[], None]:
    """Remember the tenant's session keys; the result brings them back: a failover that lost what came after."""
    pattern = f"*{service.tenant}/*"
    kept = {key: redis.dump(key) for key in redis.scan_iter(pattern)}

    def restore() -> None:
        for key in list(redis.scan_iter(pattern)):
            redis.delete(key)
        for key, value in kept.items():
            redis.restore(key, 0, value)  # type: ignore[arg-type]

    return restore


def test_a_session_is_made_and_grows(session: Session, service: Service) -> None:
    """Only news travels, the context is the whole list while nothing is compacted."""
    talk(session, 0, 5)
    context = session.prepare(said(5), usage={"input_tokens": 900, "output_tokens": 1})
    assert context.status is Status.FITS
    assert context.messages == session.messages == stored(service)
    assert (context.window, context.version, context.length) == (100_000, 0, 6)
    assert context.hard is not None
    assert context.limit is not None
    assert 0 < context.limit < context.hard < 100_000


def test_reported_usage_is_the_base_of_the_size(session: Session) -> None:
    """Source `usage`, and at least as many tokens as were reported."""
    session.prepare(said(0))
    session.record({"content": "ok", "usage": {"input_tokens": 20, "cache_read_input_tokens": 30_000}})
    context = session.prepare(said(2))
    assert context.source == "usage"
    assert context.tokens is not None
    assert 30_020 <= context.tokens < 30_500


def test_lost_answers_double_nothing(session: Session, service: Service, network: Losing) -> None:
    """All attempts of two calls arrive, none is answered."""
    session.prepare(said(0))
    network.losing = True
    assert session.prepare(said(1)).status is Status.UNREACHABLE
    session.prepare(said(2))
    network.losing = False
    assert session.prepare(said(3)).messages == stored(service) == [said(number) for number in range(4)]


def test_a_lost_rewind_is_settled(session: Session, service: Service, network: Losing) -> None:
    """Whether it is called again or not, both sides agree in the end."""
    talk(session, 0, 6)
    network.losing = True
    with pytest.raises(Exception, match="did not answer"):
        session.rewind(3)
    network.losing = False
    session.prepare(said(6))
    assert stored(service) == session.messages == [said(number) for number in range(7)]
    network.losing = True
    with pytest.raises(Exception, match="did not answer"):
        session.rewind(3)
    network.losing = False
    session.rewind(3)
    session.prepare(said(3))
    assert stored(service) == session.messages == [said(number) for number in range(4)]


def test_a_redis_that_lost_its_newest_entries_gets_them_again(
    session: Session, service: Service, redis_client: Redis
) -> None:
    """history_gap."""
    talk(session, 0, 3)
    lose = snapshot(redis_client, service)
    talk(session, 3, 7)
    lose()
    session.prepare(said(7))
    assert stored(service) == session.messages == [said(number) for number in range(8)]


def test_a_redis_that_lost_a_rewind_is_healed(
    session: Session, service: Service, redis_client: Redis
) -> None:
    """history_regressed: the list of the caller wins, with a version above both."""
    talk(session, 0, 4)
    lose = snapshot(redis_client, service)
    session.rewind(2)
    session.prepare({"role": "user", "content": "another way"})
    version = session.version
    lose()
    context = session.prepare(said(3))
    assert stored(service) == session.messages
    assert len(session.messages) == 4
    assert context.version > version


def test_a_heal_whose_answer_was_lost_is_settled(
    session: Session, service: Service, network: Losing, redis_client: Redis
) -> None:
    """The service is healed and we do not know it: no conflict with ourselves."""
    talk(session, 0, 4)
    lose = snapshot(redis_client, service)
    session.rewind(2)
    session.prepare({"role": "user", "content": "another way"})
    lose()
    network.losing, network.marked = True, b'"heal":true'
    assert session.prepare(said(3)).status is Status.UNREACHABLE
    network.losing = False
    context = session.prepare(said(4))
    assert context.messages == stored(service) == session.messages
    assert len(session.messages) == 5


def test_an_entry_taken_back_while_its_delivery_is_in_doubt_is_gone(
    session: Session, service: Service, network: Losing
) -> None:
    """It had arrived: taking it back needs a call."""
    session.prepare(said(0))
    network.losing = True
    session.prepare(said(1))
    network.losing = False
    session.rewind(1)
    session.prepare({"role": "assistant", "content": "said instead"})
    assert stored(service) == session.messages == [said(0), {"role": "assistant", "content": "said instead"}]


def test_a_redis_that_lost_everything_is_filled_again(
    session: Session, service: Service, redis_client: Redis
) -> None:
    """The session itself is gone."""
    lose = snapshot(redis_client, service)
    talk(session, 0, 4)
    session.rewind(3)
    session.prepare(said(3))
    lose()
    session.prepare(said(4))
    assert stored(service) == session.messages == [said(number) for number in range(5)]


def test_two_writers_are_told_and_can_go_on(client: Client, session: Session, service: Service) -> None:
    """Diverged, rewritten, unseen: each names `reload`, and it helps."""
    other = client.session("chat", format="anthropic", window=100_000)
    talk(session, 0, 2)
    other.reload()
    other.prepare(said(2))
    with pytest.raises(HistoryDivergedError, match="reload"):
        session.prepare({"role": "user", "content": "mine"})
    session.reload()
    assert session.messages == stored(service)
    other.prepare(said(3))
    with pytest.raises((UnseenEndError, HistoryDivergedError), match="reload"):
        session.rewind(1)
    other.rewind(1)
    with pytest.raises(HistoryRewrittenError, match="reload"):
        session.prepare(said(5))
    session.reload()
    assert session.prepare(said(1)).messages == stored(service) == [said(0), said(1)]


def test_a_fork_is_a_session_of_its_own(session: Session, service: Service) -> None:
    """With what was not sent yet; later news stays apart."""
    talk(session, 0, 3)
    session.append(said(3))
    copy, early = session.fork("copy"), session.fork("early", to=1)
    copy.prepare(said(4))
    early.prepare({"role": "assistant", "content": "other"})
    session.prepare({"role": "user", "content": "own"})
    assert stored(service, "copy") == copy.messages == [said(number) for number in range(5)]
    assert stored(service, "early") == early.messages
    assert stored(service) == session.messages
    assert len(early.messages) == 2


def test_recall_reads_by_place_and_by_text(session: Session) -> None:
    """Whatever is compacted."""
    talk(session, 0, 6)
    assert [entry.message for entry in session.history(1, 3)] == [said(1), said(2)]
    assert [entry.seq for entry in session.history(grep="MESSAGE 4")] == [4]


def test_refusals_have_their_types(client: Client, session: Session, service: Service) -> None:
    """Key, window, candidate, deletion."""
    with Client(service.base_url, "pc_wrong") as stranger, pytest.raises(NotAuthorizedError):
        stranger.session("chat", format="anthropic", window=9_000).prepare(said(0))
    with pytest.raises(ProblemError) as raised:
        client.session("no-window", format="anthropic", model="nobody-knows-1").prepare(said(0))
    assert raised.value.code == "window_unknown"
    session.prepare(said(0))
    with pytest.raises(CandidateRefusedError):
        session.adopt()
    session.delete()
    session.delete()
    with pytest.raises(SessionDeletedError):
        session.prepare(said(1))


async def test_the_asyncio_client_speaks_the_same(service: Service) -> None:
    """One round of each kind of call."""
    async with AsyncClient(service.base_url, service.key) as client:
        session = client.session("async", format="openai-chat", model="gpt-5.6", window=100_000)
        context = await session.prepare([{"role": "system", "content": "be brief"}, said(0)])
        assert context.messages == session.messages
        session.append(said(1), pinned=True)
        await session.flush()
        copy = await session.fork("async-copy")
        await session.rewind(2)
        await copy.reload()
        assert [len(session.messages), len(copy.messages)] == [2, 3]
        assert len(await session.history()) == 2
        await session.delete()


@pytest.mark.parametrize("wire", LOOPS)
def test_an_agent_loop_plays_against_the_real_service(
    client: Client, service: Service, standin: Served, wire: str
) -> None:
    """The examples, the stand-in and the API: nobody refuses anything."""
    provider = scripted_provider(standin, SCRIPT)
    session = client.session(wire, format=wire, window=100_000)
    assert LOOPS[wire](provider, session) == "There are two files."
    session.flush()
    assert _asked(provider) == stored(service, wire)[: len(_asked(provider))]
    assert provider.refusals == []
    assert stored(service, wire) == session.messages


def _asked(provider: ScriptedProvider) -> list[Any]:
    body = provider.requests[-1]
    return list(body.get("messages") or body["input"])
