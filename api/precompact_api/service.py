"""What the routes share: settings, connections to the store, and this process's memories."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

import redis
import redis.asyncio
from redis.exceptions import RedisError

from precompact_api.caches import Aging, Recent
from precompact_api.frozen import FrozenContext
from precompact_api.waiting import Waiting
from precompact_shared.engine.preset import Limits
from precompact_shared.engine.types import Edit, Format
from precompact_shared.errors import Unavailable
from precompact_shared.policy import Policy
from precompact_shared.settings import Settings
from precompact_shared.store import AsyncStore, Layout, SessionOps, async_client, fix_layout, sync_client
from precompact_shared.store import Limits as SessionLimits
from precompact_shared.store.calibration import start_of
from precompact_shared.store.keys import SessionKeys
from precompact_shared.store.op import Op
from precompact_shared.store.tenants import KeyRecord, TenantRecord

T = TypeVar("T")
START_TRIES, START_PAUSE_S = 60, 0.5
FROZEN_CACHE_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Known:
    """What this process remembers of a session between calls: enough to read its messages."""

    format: Format
    model: str | None


@dataclass(frozen=True, slots=True)
class Sizing:
    """Limits of a session at a moment, in tokens. `limits` is None when the window leaves no room for input."""

    limits: Limits | None
    window: int
    max_output: int


@lru_cache(maxsize=8192)
def _sizing(
    policy: str, model: str | None, window: int | None, max_output: int | None, observed: int | None
) -> Sizing | None:
    parsed = Policy.model_validate_json(policy)
    found = parsed.window_of(model, window, max_output)
    if found is None:
        return None
    return Sizing(parsed.limits_of(model, window, max_output, observed), found.window, found.max_output)


class Tenant:
    """A tenant's digest key and policy, read a few seconds ago at most."""

    def __init__(self, record: TenantRecord) -> None:
        self.name = record.name
        self.digest_key = record.digest_key
        self.policy = record.policy
        self.lessons = record.lessons
        self._policy_json = record.policy.model_dump_json()

    def start(self, wire: Format, model: str | None) -> bytes:
        """Where the calibration of a session with this model starts."""
        return start_of(wire.value, model, self.lessons.get(model or ""))

    def sizing(
        self,
        model: str | None,
        window: int | None,
        max_output: int | None,
        observed: int | None = None,
    ) -> Sizing | None:
        """What a session is held against; None when its window is unknown."""
        return _sizing(self._policy_json, model, window, max_output, observed)


class Service:
    """One API process. `open` before use, `close` at the end."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.url = settings.required_state_redis_url
        self.limits = SessionLimits(settings.session_entries_limit, settings.session_bytes_limit)
        self.layout = Layout(settings.shards)
        self.keys: Aging[str, KeyRecord] = Aging(5.0, 50_000)
        self.tenants: Aging[str, Tenant] = Aging(3.0, 10_000)
        self.known: Aging[tuple[str, str], Known] = Aging(60.0, 100_000)
        self.frozen: Recent[tuple[str, str, int, str], FrozenContext] = Recent(FROZEN_CACHE_BYTES)
        self.edits: Aging[tuple[object, ...], tuple[Edit, ...]] = Aging(60.0, 10_000)

    async def open(self) -> None:
        """Connects. Raises Unavailable when the store does not answer for half a minute."""
        self._hot = async_client(self.url)
        self._bulk = async_client(self.url)
        self._stream = async_client(self.url)
        self.store = AsyncStore(self._hot)
        self.reads = AsyncStore(self._bulk)
        self.layout = await self._fix_layout()
        await self.store.load()
        self.waiting = Waiting(self._stream, self.layout)

    async def close(self) -> None:
        """Ends readers and connections."""
        await self.waiting.close()
        for client in (self._hot, self._bulk, self._stream):
            await client.aclose()

    async def is_ready(self) -> bool:
        """Whether the store answers."""
        try:
            return bool(await asyncio.wait_for(self._bulk.ping(), 2.0))
        except (RedisError, OSError, TimeoutError):
            return False

    def session(self, tenant: str, session: str) -> SessionKeys:
        """Keys of a session."""
        return self.layout.session(tenant, session)

    def ops(self, tenant: str, session: str) -> SessionOps:
        """Operations on a session."""
        return SessionOps(self.layout.session(tenant, session))

    async def run(self, op: Op[T]) -> T:
        """A transition; shares its round trip with what else is waiting."""
        return await self.store.run(op)

    async def read(self, op: Op[T]) -> T:
        """A read of bodies, on a connection of its own."""
        return await self.reads.run(op)

    async def _fix_layout(self) -> Layout:
        for left in reversed(range(START_TRIES)):
            try:
                return await asyncio.to_thread(self._layout_once)
            except (redis.RedisError, OSError):
                if not left:
                    raise Unavailable(
                        "The state Redis does not answer; check PRECOMPACT_STATE_REDIS_URL."
                    ) from None
                await asyncio.sleep(START_PAUSE_S)
        raise Unavailable

    def _layout_once(self) -> Layout:
        with sync_client(self.url) as client:
            return fix_layout(client, self.settings.shards)
