"""Providers that asked to be left alone: jobs that nobody waits for keep away from them, whichever job was told so."""

from __future__ import annotations

import zlib
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass

from redis.exceptions import RedisError

from precompact_shared.store.executor import AsyncStore
from precompact_shared.store.holds import held_ms, hold
from precompact_worker.providers.verdicts import ProviderHeld

SPREAD_SHARE = 0.25
"""Of the wait, that jobs come back apart by: all at once, they would be told the same again."""


@dataclass(frozen=True, slots=True)
class Holds:
    """What one job asks and tells of a tenant's providers. Advice: a store that does not answer holds nobody back."""

    store: AsyncStore
    tenant: str
    jid: str
    is_urgent: Callable[[], Awaitable[bool]]
    """Whether somebody waits for the job by now; then it is held back by nothing."""

    async def keep_away(self, place: str) -> None:
        """Raises `ProviderHeld` if the provider at this place asked to be left alone, and nobody waits."""
        left_ms = 0
        with suppress(RedisError, OSError):
            left_ms = await self.store.run(held_ms(self.tenant, place))
        if left_ms > 0 and not await self.is_urgent():
            raise ProviderHeld(retry_after_s=spread_s(left_ms / 1000, self.jid))

    async def note(self, place: str, for_s: float) -> None:
        """The provider at this place asked to be left alone for so long."""
        with suppress(RedisError, OSError):
            await self.store.run(hold(self.tenant, place, int(for_s * 1000)))


def spread_s(left_s: float, jid: str) -> float:
    """When this job comes back: not before the time, and not with all the others."""
    return left_s * (1 + SPREAD_SHARE * (zlib.crc32(jid.encode()) % 1000) / 1000)
