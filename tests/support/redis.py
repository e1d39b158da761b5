"""A real Redis for the whole test run, and a tenant of its own for each test."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator

import pytest
from redis import Redis

from precompact_shared.redis_server import EmbeddedRedis

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def embedded_redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedRedis]:
    """The run's server, without append-only file. Do not kill it: start one of your own for that."""
    with EmbeddedRedis(tmp_path_factory.mktemp("redis"), appendonly=False) as server:
        yield server


@pytest.fixture(scope="session")
def redis_url(embedded_redis: EmbeddedRedis) -> str:
    """URL of database 0 of the run's server: sessions and ledger."""
    return embedded_redis.url


@pytest.fixture(scope="session")
def broker_url(embedded_redis: EmbeddedRedis) -> str:
    """URL of database 1 of the run's server: for Celery."""
    return embedded_redis.url_of(1)


@pytest.fixture
def redis_client(redis_url: str) -> Iterator[Redis]:
    """A synchronous client that answers bytes."""
    with Redis.from_url(redis_url, decode_responses=False) as client:
        yield client


@pytest.fixture
def tenant() -> str:
    """A tenant nobody else uses, so that tests share one Redis and never flush it."""
    return f"t{os.getpid()}x{next(_numbers)}"
