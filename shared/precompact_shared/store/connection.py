"""How a process meets the state Redis: clients, and the number of shards fixed at first start."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import hiredis
import redis
import redis.asyncio

from precompact_shared.errors import Configuration
from precompact_shared.store.keys import META, SCHEMA_VERSION, SessionKeys, ShardKeys, session_keys

SOCKET_TIMEOUT_S = 15


def sync_client(url: str) -> redis.Redis:
    """A client for loops and threads; answers are bytes."""
    return redis.Redis.from_url(url, socket_timeout=SOCKET_TIMEOUT_S, health_check_interval=25, protocol=2)


class PackingConnection(redis.asyncio.Connection):
    """Writes commands with hiredis, as the synchronous client does by itself: an eighth of the time."""

    def pack_command(self, *args: Any) -> list[bytes]:
        """One command as the protocol wants it."""
        name, *rest = args
        parts = name.split() if isinstance(name, str) else [name]
        return [hiredis.pack_command((*parts, *rest))]

    def pack_commands(self, commands: Iterable[Iterable[Any]]) -> list[bytes]:
        """Several commands in one piece."""
        return [b"".join(piece for command in commands for piece in self.pack_command(*command))]


def async_client(url: str, *, max_connections: int = 64) -> redis.asyncio.Redis:
    """A client for the API's event loop; answers are bytes."""
    packing: dict[str, Any] = {"connection_class": PackingConnection} if url.startswith("redis://") else {}
    return redis.asyncio.Redis.from_url(
        url,
        **packing,
        socket_timeout=SOCKET_TIMEOUT_S,
        health_check_interval=25,
        protocol=2,
        max_connections=max_connections,
    )


_known_keys = lru_cache(maxsize=32_768)(session_keys)
"""Hashing a name into its shard with every event or call would be a tenth of what an event costs."""


class Layout:
    """The shards of a deployment: which session lives where."""

    def __init__(self, shards: int) -> None:
        self.shards = shards

    def session(self, tenant: str, session: str) -> SessionKeys:
        """Keys of a session."""
        return _known_keys(tenant, session, self.shards)

    def all_shards(self) -> list[ShardKeys]:
        """Every shard, in order."""
        return [ShardKeys(number) for number in range(self.shards)]


def fix_layout(client: redis.Redis, wanted_shards: int) -> Layout:
    """The layout kept in Redis; the first process to start writes it. Raises Configuration on a foreign schema."""
    client.hsetnx(META, "shards", str(wanted_shards))
    client.hsetnx(META, "schema", str(SCHEMA_VERSION))
    shards, schema = client.hmget(META, "shards", "schema")
    if int(schema or 0) != SCHEMA_VERSION:
        raise Configuration(
            f"The state Redis holds schema {int(schema or 0)}, this version speaks {SCHEMA_VERSION}: upgrade it first."
        )
    return Layout(int(shards or wanted_shards))
