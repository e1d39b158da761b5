"""What the tests of the rules share: one connection, and a session on both sides."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import pytest

from precompact_shared.store.connection import sync_client
from precompact_shared.store.executor import SyncStore
from precompact_shared.store.keys import SessionKeys, ShardKeys
from tests.property.stage import Stage

_shards = itertools.count(1_000_000)


@pytest.fixture(scope="session")
def store(redis_url: str) -> Iterator[SyncStore]:
    """One connection for all histories."""
    with sync_client(redis_url) as client:
        store = SyncStore(client)
        store.load()
        yield store


@pytest.fixture
def stage(store: SyncStore, tenant: str) -> Stage:
    """A session id nobody has used, on the real store and the twin."""
    return Stage(store, SessionKeys(tenant, "s", ShardKeys(next(_shards))))


@pytest.fixture
def other(store: SyncStore, tenant: str) -> Callable[[str], Stage]:
    """More session ids of the same tenant."""
    return lambda name: Stage(store, SessionKeys(tenant, name, ShardKeys(next(_shards))))
