"""The two executors of `Op`s: a plain one for loops and threads, a batching one for the API's event loop."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, TypeVar

import redis
import redis.asyncio
from redis.exceptions import NoScriptError, RedisError, ResponseError

from precompact_shared.store.op import Op

T = TypeVar("T")
_INCLUDE = re.compile(rb"^--- @include (\S+)$", re.MULTILINE)
_DEFINE = re.compile(rb"^--- @define (\w+) (\S+)\n", re.MULTILINE)


@cache
def script_source(name: str) -> bytes:
    """The Lua text of a script with its includes and constants in place."""
    folder = files(__package__) / "lua"
    raw = (folder / f"{name}.lua").read_bytes()
    return with_defines(_INCLUDE.sub(lambda match: (folder / "lib" / match[1].decode()).read_bytes(), raw))


def with_defines(source: bytes) -> bytes:
    """A script with the names of its `@define` lines replaced: Lua has no constants that cost nothing."""
    values = dict(_DEFINE.findall(source))
    if not values:
        return source
    names = re.compile(rb"\b(" + b"|".join(values) + rb")\b")
    return names.sub(lambda match: values[match[1]], _DEFINE.sub(b"", source))


@cache
def script_sha(name: str) -> str:
    """The digest EVALSHA wants."""
    return hashlib.sha1(script_source(name), usedforsecurity=False).hexdigest()


def script_names() -> list[str]:
    """All scripts that ship."""
    return sorted(
        item.name[:-4] for item in (files(__package__) / "lua").iterdir() if item.name.endswith(".lua")
    )


def command(op: Op[Any]) -> tuple[Any, ...]:
    """The Redis command of an op."""
    if op.script is None:
        return op.args
    return ("EVALSHA", script_sha(op.script), len(op.keys), *op.keys, *op.args)


def _call(client: Any, op: Op[Any]) -> Any:
    """Sends an op; the client's own method is untyped. A coroutine from an asynchronous client."""
    return client.execute_command(*command(op))


class SyncStore:
    """Runs ops on a synchronous client (`decode_responses` off): schedulers, workers, tests."""

    def __init__(self, client: redis.Redis) -> None:
        self.client = client

    def load(self) -> None:
        """Sends every script, so that EVALSHA finds it."""
        for name in script_names():
            self.client.script_load(script_source(name))

    def run(self, op: Op[T]) -> T:
        """One op, one round trip. Raises redis.RedisError when the server does not answer or refuses."""
        try:
            return op.decode(_call(self.client, op))
        except NoScriptError:
            self.load()
            return op.decode(_call(self.client, op))

    def run_all(self, ops: Sequence[Op[Any]]) -> list[Any]:
        """All in one pipeline, in order; answers decoded. The first error raises after all were sent."""
        if not ops:
            return []
        return self._settled(ops, self._pipeline(ops))

    def run_each(self, batches: Iterable[Sequence[Op[Any]]]) -> list[Any]:
        """Scripts in order, as `run_all`, each batch sent as soon as it is made; the answers of all.

        So the server is at work on one batch while the next is made. When making one fails, those before it were sent
        all the same and their answers are lost.
        """
        sent: list[Op[Any]] = []
        coming = iter(batches)
        try:
            replies = self._stream(coming, sent)
        except (redis.ConnectionError, redis.TimeoutError):
            return self.run_all([*sent, *(op for batch in coming for op in batch)])
        return self._settled(sent, replies)

    def _stream(self, batches: Iterable[Sequence[Op[Any]]], sent: list[Op[Any]]) -> list[Any]:
        pool = self.client.connection_pool
        connection: Any = pool.get_connection()
        try:
            for batch in batches:
                sent += batch
                connection.send_packed_command(connection.pack_commands(map(command, batch)))
            return [_reply(connection) for _ in sent]
        except BaseException:
            connection.disconnect()
            raise
        finally:
            pool.release(connection)

    def _settled(self, ops: Sequence[Op[Any]], replies: list[Any]) -> list[Any]:
        missing = [i for i, reply in enumerate(replies) if isinstance(reply, NoScriptError)]
        if missing:
            self.load()
            for i, reply in zip(missing, self._pipeline([ops[i] for i in missing]), strict=True):
                replies[i] = reply
        for reply in replies:
            if isinstance(reply, Exception):
                raise reply
        return [op.decode(reply) for op, reply in zip(ops, replies, strict=True)]

    def _pipeline(self, ops: Iterable[Op[Any]]) -> list[Any]:
        pipe = self.client.pipeline(transaction=False)
        for op in ops:
            _call(pipe, op)
        return pipe.execute(raise_on_error=False)


def _reply(connection: Any) -> Any:
    """The next reply; an error that the server answers with is a reply too."""
    try:
        return connection.read_response()
    except ResponseError as error:
        return error


class AsyncStore:
    """Runs ops on an asynchronous client; ops that arrive while a pipeline is in flight share the next one."""

    def __init__(self, client: redis.asyncio.Redis) -> None:
        self.client = client
        self._waiting: list[tuple[Op[Any], asyncio.Future[Any]]] = []
        self._flusher: asyncio.Task[None] | None = None

    async def load(self) -> None:
        """Sends every script."""
        for name in script_names():
            await self.client.script_load(script_source(name))

    async def run(self, op: Op[T]) -> T:
        """One op; shares its round trip with whatever else is waiting."""
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting.append((op, future))
        if self._flusher is None or self._flusher.done():
            self._flusher = asyncio.create_task(self._flush())
        return op.decode(await future)

    async def run_all(self, ops: Sequence[Op[Any]]) -> list[Any]:
        """Several ops, in order, in one batch."""
        return list(await asyncio.gather(*(self.run(op) for op in ops)))

    async def _flush(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting, []
            try:
                replies = await self._send([op for op, _ in batch])
            except Exception as error:  # noqa: BLE001 - every waiter has to hear of it
                replies = [error] * len(batch)
            for (_, future), reply in zip(batch, replies, strict=True):
                _settle(future, reply)

    async def _send(self, ops: Sequence[Op[Any]]) -> list[Any]:
        replies = await self._pipeline(ops)
        missing = [i for i, reply in enumerate(replies) if isinstance(reply, NoScriptError)]
        if missing:
            await self.load()
            for i, reply in zip(missing, await self._pipeline([ops[i] for i in missing]), strict=True):
                replies[i] = reply
        return replies

    async def _pipeline(self, ops: Sequence[Op[Any]]) -> list[Any]:
        if len(ops) == 1:
            try:
                return [await _call(self.client, ops[0])]
            except RedisError as error:
                return [error]
        pipe = self.client.pipeline(transaction=False)
        for op in ops:
            _call(pipe, op)
        return await pipe.execute(raise_on_error=False)


def _settle(future: asyncio.Future[Any], reply: object) -> None:
    if future.done():
        return
    if isinstance(reply, BaseException):
        future.set_exception(reply)
    else:
        future.set_result(reply)
