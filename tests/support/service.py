"""A real API process for the whole run, and for each test a tenant and a key of its own."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from redis import Redis

from precompact_shared.processes import Child, Program, Supervisor, free_port
from precompact_shared.settings import Settings, as_environment
from precompact_shared.store import Layout, SessionOps, SyncStore, fix_layout
from precompact_shared.store import tenants as tenant_ops
from precompact_shared.store.keys import SessionKeys
from precompact_shared.store.tenants import Scope

ALL_SCOPES = frozenset({Scope.AGENT, Scope.OPS, Scope.ADMIN})


@dataclass(frozen=True, slots=True)
class ApiProcess:
    """A running API: where it answers, what it was started with, its log."""

    base_url: str
    settings: Settings
    child: Child
    log: Path


@dataclass(frozen=True, slots=True)
class Service:
    """The API for one test: a tenant of its own with its key, and the store behind it."""

    base_url: str
    tenant: str
    key: str
    settings: Settings
    store: SyncStore
    layout: Layout
    log: Path

    @property
    def headers(self) -> dict[str, str]:
        """What authorises a call."""
        return {"Authorization": f"Bearer {self.key}"}

    def client(self, **options: Any) -> httpx.Client:
        """An HTTP client with the key; close it."""
        return httpx.Client(base_url=self.base_url, headers=self.headers, timeout=30, **options)

    def ops(self, session: str) -> SessionOps:
        """Operations on a session of the tenant, for `store.run`."""
        return SessionOps(self.keys(session))

    def keys(self, session: str) -> SessionKeys:
        """Keys of a session of the tenant."""
        return self.layout.session(self.tenant, session)


def api_program(settings: Settings) -> Program:
    """How an API process is started and told to be ready."""
    url = f"http://{settings.api_host}:{settings.api_port}/readyz"

    def ready() -> bool:
        try:
            return httpx.get(url, timeout=1).status_code == 200
        except httpx.TransportError:
            return False

    argv = (sys.executable, "-m", "precompact_api")
    return Program(name="api", argv=argv, env=as_environment(settings), ready=ready)


@pytest.fixture(scope="session")
def start_api(
    redis_url: str, broker_url: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[..., ApiProcess]]:
    """Starts API processes on free ports; keyword arguments are settings. All end with the run."""
    with Supervisor() as supervisor:

        def start(**overrides: Any) -> ApiProcess:
            folder = tmp_path_factory.mktemp("api")
            chosen: dict[str, Any] = {
                "state_redis_url": redis_url,
                "broker_url": broker_url,
                "api_port": free_port(),
                "log_format": "json",
                "data_dir": folder,
            }
            settings = Settings(**(chosen | overrides))
            child = supervisor.start(api_program(settings), log=folder / "api.log")
            child.wait_ready()
            url = f"http://{settings.api_host}:{settings.api_port}"
            return ApiProcess(url, settings, child, folder / "api.log")

        yield start


@pytest.fixture(scope="session")
def api_process(start_api: Callable[..., ApiProcess]) -> ApiProcess:
    """The run's API process. Do not kill it: start one of your own for that."""
    return start_api()


@pytest.fixture
def service(api_process: ApiProcess, redis_client: Redis, tenant: str) -> Service:
    """The API with a fresh tenant and a key that has the scopes agent, ops and admin."""
    return service_for(api_process, redis_client, tenant)


@pytest.fixture
def http(service: Service) -> Iterator[httpx.Client]:
    """A client with the test's own key."""
    with service.client() as client:
        yield client


def service_for(api: ApiProcess, client: Redis, tenant: str) -> Service:
    """The same for a tenant of your choice; makes it and its key."""
    store = SyncStore(client)
    issued = tenant_ops.issue_key(tenant, ALL_SCOPES)
    store.run_all([tenant_ops.create_tenant(tenant), issued.op])
    layout = fix_layout(client, api.settings.shards)
    return Service(api.base_url, tenant, issued.secret, api.settings, store, layout, api.log)
