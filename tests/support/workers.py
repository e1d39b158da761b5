"""A worker without Celery, on the test's own loop."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from precompact_shared.clock import monotonic_s
from precompact_shared.store.connection import async_client
from precompact_shared.store.executor import AsyncStore
from precompact_worker.providers.clients import host_of
from precompact_worker.run import Runner
from tests.support.service import Service


@asynccontextmanager
async def worker_of(service: Service, *urls: str) -> AsyncIterator[Runner]:
    """Works on the service's jobs when told to, and may send to the hosts of these URLs."""
    settings = service.settings.model_copy(update={"provider_hosts": tuple(map(host_of, urls))})
    client = async_client(service.settings.required_state_redis_url)
    runner = Runner(AsyncStore(client), service.layout, settings, now_s=monotonic_s)
    try:
        yield runner
    finally:
        await runner.close()
        await client.aclose()
