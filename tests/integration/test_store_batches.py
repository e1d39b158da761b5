"""Batches that are sent while the next is made."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import redis

from precompact_shared.store import Create, Layout, SyncStore
from precompact_shared.store.op import Op
from precompact_shared.store.ops import SessionOps

SPEC = Create("anthropic", None, 100_000, 8_000)
NAMES = [f"s{number}" for number in range(12)]


@pytest.fixture
def store(redis_client: redis.Redis) -> SyncStore:
    """A store that knows its scripts."""
    store = SyncStore(redis_client)
    store.load()
    return store


def made(tenant: str, name: str) -> Op[Any]:
    """One script."""
    return SessionOps(Layout(4).session(tenant, name)).create(SPEC)


def batches(tenant: str) -> Iterator[list[Op[Any]]]:
    """Four scripts at a time."""
    for at in range(0, len(NAMES), 4):
        yield [made(tenant, name) for name in NAMES[at : at + 4]]


def told(answers: list[Any]) -> list[tuple[str, str]]:
    """Outcome and session of each answer."""
    return [(answer.o, answer.view.session) for answer in answers]


def test_answers_come_in_order(store: SyncStore, tenant: str) -> None:
    """Of all batches, as one list."""
    assert told(store.run_each(batches(tenant))) == [("created", name) for name in NAMES]
    assert store.run_each([]) == []


def test_scripts_that_were_forgotten_are_sent_again(store: SyncStore, tenant: str) -> None:
    """A server that restarted knows none."""
    store.client.script_flush()
    assert told(store.run_each(batches(tenant))) == [("created", name) for name in NAMES]


def test_a_connection_that_breaks_between_two_batches_loses_nothing(store: SyncStore, tenant: str) -> None:
    """All are sent once more: each script finds what it did before."""

    def breaking() -> Iterator[list[Op[Any]]]:
        for number, batch in enumerate(batches(tenant)):
            if number == 1:
                store.client.client_kill_filter(_type="normal", skipme=True)
            yield batch

    answers = store.run_each(breaking())
    assert [answer.view.session for answer in answers] == NAMES
    assert store.run(made(tenant, NAMES[-1])).o == "exists"


def test_what_fails_while_a_batch_is_made_is_raised_and_leaves_a_clean_connection(
    store: SyncStore, tenant: str
) -> None:
    """No answer of before may be taken for one of after."""

    def failing() -> Iterator[list[Op[Any]]]:
        yield [made(tenant, NAMES[0])]
        raise ValueError("not made")

    with pytest.raises(ValueError, match="not made"):
        store.run_each(failing())
    assert told(store.run_all([made(tenant, NAMES[1])])) == [("created", NAMES[1])]
