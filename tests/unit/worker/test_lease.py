"""The heartbeat: it renews, it asks again, and it stops the work when the job is not ours any more."""

from __future__ import annotations

import asyncio

import pytest
from redis.exceptions import ConnectionError as RedisGone

from precompact_shared.clock import monotonic_s
from precompact_shared.store import Announcement
from precompact_shared.store.types import Answer
from precompact_worker.lease import Lease, LeaseLost
from tests.support.waiting import eventually_async

OK = Answer(o="ok")


class Store:
    """Answers beats with what it is given, the last one again and again; counts them."""

    def __init__(self, *answers: Answer | Exception) -> None:
        self.answers = list(answers)
        self.beats: list[Announcement | None] = []

    async def beat(self, announcement: Announcement | None) -> Answer:
        """One beat."""
        self.beats.append(announcement)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def lease(self, lease_s: float = 0.06) -> Lease:
        """A lease on a job of this store."""
        return Lease(self.beat, lease_s=lease_s, now_s=monotonic_s)


async def beaten(store: Store, times: int) -> bool:
    """Whether so many beats came."""
    return len(store.beats) >= times


async def test_it_beats_while_the_work_goes_on_and_not_longer() -> None:
    """Three times a lease."""
    store = Store(OK)
    async with store.lease() as lease:
        await eventually_async(lambda: beaten(store, 3))
        assert lease.left_s > 0
    count = len(store.beats)
    await asyncio.sleep(0.05)
    assert len(store.beats) == count


async def test_a_lost_job_cancels_the_work_and_says_why() -> None:
    """In the word of the store."""
    store = Store(OK, Answer(o="lost", reason="version_changed"))
    with pytest.raises(LeaseLost) as lost:
        async with store.lease():
            await asyncio.sleep(30)
    assert lost.value.reason == "version_changed"


async def test_a_deleted_session_is_a_lost_job() -> None:
    """The store answers with an outcome alone."""
    with pytest.raises(LeaseLost) as lost:
        async with Store(Answer(o="gone")).lease():
            await asyncio.sleep(30)
    assert lost.value.reason == "gone"


async def test_a_store_that_comes_back_in_time_costs_nothing() -> None:
    """It is asked again."""
    store = Store(RedisGone(), RedisGone(), OK)
    async with store.lease(0.6):
        await eventually_async(lambda: beaten(store, 4))


async def test_a_store_that_stays_away_ends_the_work_when_the_lease_must_be_over() -> None:
    """Somebody else may have the job by then."""
    begun_s = monotonic_s()
    with pytest.raises(LeaseLost) as lost:
        async with Store(RedisGone()).lease(0.2):
            await asyncio.sleep(30)
    assert lost.value.reason == "lease_expired"
    assert 0.15 < monotonic_s() - begun_s < 2


async def test_an_announcement_that_is_refused_ends_the_work() -> None:
    """The prefix is no longer what was read."""
    store = Store(Answer(o="lost", reason="version_changed"))
    with pytest.raises(LeaseLost):
        async with store.lease(30) as lease:
            await lease.announce(Announcement(upto=3, prefix="0" * 40))
    assert store.beats == [Announcement(upto=3, prefix="0" * 40)]


async def test_a_cancellation_from_outside_stays_one() -> None:
    """A drain is no lost lease."""

    async def work() -> None:
        async with Store(OK).lease(30):
            await asyncio.sleep(30)

    task = asyncio.create_task(work())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_an_error_of_the_work_goes_through() -> None:
    """The lease hides nothing."""
    with pytest.raises(ZeroDivisionError):
        async with Store(OK).lease():
            raise ZeroDivisionError
