"""The consumer group on every shard's stream: reading, acknowledging, taking over from the dead."""

from __future__ import annotations

import os
import secrets
import socket
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import redis
from redis.exceptions import ResponseError

from precompact_shared.store.connection import Layout

GROUP = "sched"
TAKE_OVER_IDLE_MS = 30_000
DEAD_IDLE_MS = 3_600_000


def consumer_name() -> str:
    """`host:pid:boot`: never the same for two processes, also after a restart with the same pid."""
    return f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"


class Delivered(NamedTuple):
    """One entry of a stream as it was delivered to us."""

    stream: str
    id: bytes
    fields: Sequence[Any]


class Streams:
    """All shards' streams as one consumer sees them. Every method raises `redis.RedisError`."""

    def __init__(self, client: redis.Redis, layout: Layout, consumer: str) -> None:
        self._client: Any = client  # redis-py leaves `execute_command` untyped
        # The raw reply: redis-py would make a dictionary of every entry, which costs more than reading it.
        self._client.set_response_callback("XREADGROUP", lambda reply, **_: reply)
        self._names = [shard.events for shard in layout.all_shards()]
        self._from = {name.encode(): name for name in self._names}
        self.consumer = consumer

    def make_groups(self) -> None:
        """The group on every stream, from its beginning; those that are there stay as they are."""
        pipe = self._client.pipeline(transaction=False)
        for name in self._names:
            pipe.execute_command("XGROUP", "CREATE", name, GROUP, "0", "MKSTREAM")
        for answer in pipe.execute(raise_on_error=False):
            if isinstance(answer, ResponseError) and "BUSYGROUP" in str(answer):
                continue
            if isinstance(answer, Exception):
                raise answer

    def read(self, *, count: int, block_ms: int) -> list[Delivered]:
        """Up to `count` new entries of each stream; waits up to `block_ms` for the first."""
        command = ("XREADGROUP", "GROUP", GROUP, self.consumer, "COUNT", count, "BLOCK", block_ms, "STREAMS")
        answer = self._client.execute_command(*command, *self._names, *([">"] * len(self._names)))
        return [
            Delivered(self._from[stream], entry_id, fields or ())
            for stream, entries in _pairs(answer)
            for entry_id, fields in entries
        ]

    def take_over(self, *, count: int) -> list[Delivered]:
        """Entries that were delivered to somebody long ago and never acknowledged."""
        pipe = self._client.pipeline(transaction=False)
        for name in self._names:
            pipe.execute_command(
                "XAUTOCLAIM", name, GROUP, self.consumer, TAKE_OVER_IDLE_MS, "0-0", "COUNT", count
            )
        answers = pipe.execute()
        return [
            Delivered(name, entry_id, fields)
            for name, answer in zip(self._names, answers, strict=True)
            for entry_id, fields in _entries(answer[1])
        ]

    def acknowledge(self, delivered: Iterable[Delivered]) -> None:
        """They are dealt with."""
        ids: defaultdict[str, list[bytes]] = defaultdict(list)
        for entry in delivered:
            ids[entry.stream].append(entry.id)
        pipe = self._client.pipeline(transaction=False)
        for stream, known in ids.items():
            pipe.execute_command("XACK", stream, GROUP, *known)
        pipe.execute()

    def remove_dead(self) -> int:
        """Removes consumers that are idle for an hour and owe nothing; returns how many."""
        return self._remove(lambda name, idle_ms: name != self.consumer and idle_ms > DEAD_IDLE_MS)

    def leave(self) -> None:
        """Removes this consumer where it owes nothing; what it owes is taken over by others."""
        self._remove(lambda name, _idle_ms: name == self.consumer)

    def _remove(self, is_gone: Any) -> int:
        listed = self._client.pipeline(transaction=False)
        for stream in self._names:
            listed.xinfo_consumers(stream, GROUP)
        removing = self._client.pipeline(transaction=False)
        for stream, consumers in zip(self._names, listed.execute(), strict=True):
            for consumer in consumers:
                name = consumer["name"].decode(errors="replace")
                if consumer["pending"] == 0 and is_gone(name, consumer["idle"]):
                    removing.xgroup_delconsumer(stream, GROUP, consumer["name"])
        return len(removing.execute())


def _pairs(answer: Any) -> Iterable[tuple[bytes, list[tuple[bytes, Any]]]]:
    """XREADGROUP's answer, as the raw reply or as redis-py's callbacks shape it."""
    if not answer:
        return ()
    return answer.items() if isinstance(answer, dict) else answer


def _entries(listed: Any) -> Iterable[tuple[bytes, Any]]:
    # An entry that was trimmed after its delivery comes without fields.
    return [(item[0], item[1]) for item in listed or () if item and item[1]]
