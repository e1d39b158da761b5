"""The files of "harbor" that are no module of the domain: settings, wiring, tools, fakes for tests."""

from __future__ import annotations

CORE: dict[str, str] = {
    "README.md": """# harbor

Berths, bookings and everything around them for small harbours. FastAPI, PostgreSQL, Redis.

    make up        start PostgreSQL and Redis and run the migrations
    make serve     the API on :8080 with reload
    make test      all tests; `make test ARGS="-k tides"` for some
    make soak      the suite twenty times in random order

## Layout

One package for each part of the domain below `src/harbor`, each with `models`, `store`, `service` and `routes`.
`payments` talks to the bank. It is under audit until the end of the quarter; changes need the auditor's sign-off.

## Rules of the house

* Time comes from `harbor.clock.Clock`, in tests from `tests.fakes.FakeClock`. No `datetime.now()`, no sleeping.
* Every error has a code that clients may rely on (`harbor.errors`).
* Settings are read once, in `harbor.settings`.
""",
    "Makefile": """.PHONY: up serve test soak lint

up:
\tdocker compose up -d --wait db redis
\tuv run alembic upgrade head

serve:
\tuv run uvicorn harbor.app:create_app --factory --reload --port 8080

test:
\tuv run pytest -q $(ARGS)

soak:
\tfor i in $$(seq 20); do uv run pytest -q -p randomly -p no:cacheprovider || exit 1; done

lint:
\tuv run ruff check . && uv run ruff format --check . && uv run mypy src
""",
    "pyproject.toml": """[project]
name = "harbor"
version = "3.8.1"
requires-python = ">=3.12"
dependencies = [
  "alembic>=1.14",
  "asyncpg>=0.30",
  "fastapi>=0.115",
  "redis>=5.2",
  "sqlalchemy[asyncio]>=2.0",
  "structlog>=24.4",
]

[dependency-groups]
dev = ["httpx", "mypy", "pytest", "pytest-asyncio", "pytest-randomly", "ruff"]

[tool.pytest.ini_options]
asyncio_mode = "auto"
testpaths = ["tests"]

[tool.ruff]
line-length = 110
""",
    "src/harbor/app.py": '''"""The application: middleware outside, routers inside."""

from __future__ import annotations

from contextlib import asynccontextmanager

from fastapi import FastAPI

from harbor import berths, bookings, cargo, crews, declarations, inspections, moorings, notices, payments
from harbor import pilots, tariffs, tides, vessels, waitlist, weather
from harbor.auth import AuthMiddleware
from harbor.errors import install_handlers
from harbor.request_log import RequestLogMiddleware
from harbor.settings import Settings
from harbor.wiring import Wiring

PARTS = (
    berths, bookings, cargo, crews, declarations, inspections, moorings, notices, payments,
    pilots, tariffs, tides, vessels, waitlist, weather,
)


@asynccontextmanager
async def lifespan(app: FastAPI):
    async with Wiring.open(app.state.settings) as wiring:
        app.state.wiring = wiring
        yield


def create_app(settings: Settings | None = None) -> FastAPI:
    settings = settings or Settings()
    app = FastAPI(title="harbor", version="3.8.1", lifespan=lifespan)
    app.state.settings = settings
    install_handlers(app)
    # The last one added is the outermost.
    app.add_middleware(AuthMiddleware, public={"/healthz", "/readyz", "/metrics"})
    app.add_middleware(RequestLogMiddleware)
    for part in PARTS:
        app.include_router(part.routes.router, prefix="/v1")
    return app
''',
    "src/harbor/settings.py": '''"""Settings, read once from the environment (prefix HARBOR_)."""

from __future__ import annotations

from pydantic import Field, PostgresDsn, RedisDsn, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict


class Settings(BaseSettings):
    """Everything that differs between machines."""

    model_config = SettingsConfigDict(env_prefix="HARBOR_", frozen=True)

    database_url: PostgresDsn
    redis_url: RedisDsn
    key_pepper: SecretStr
    pool_size: int = Field(default=10, ge=1, le=100)
    statement_timeout_ms: int = 5_000
    default_page_size: int = 50
    quay_timezone: str = "Europe/Oslo"
''',
    "src/harbor/clock.py": '''"""The only place that knows what time it is."""

from __future__ import annotations

import asyncio
from datetime import UTC, date, datetime
from typing import Protocol


class Clock(Protocol):
    def now(self) -> datetime: ...

    def today(self) -> date: ...

    async def sleep(self, seconds: float) -> None: ...


class SystemClock:
    """Real time, always in UTC; `today` is the day at the quay."""

    def __init__(self, zone) -> None:
        self._zone = zone

    def now(self) -> datetime:
        return datetime.now(UTC)

    def today(self) -> date:
        return self.now().astimezone(self._zone).date()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
''',
    "src/harbor/errors.py": '''"""Errors with codes, and how they look over HTTP."""

from __future__ import annotations

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse


class HarborError(Exception):
    """Root; `code` is stable, `status` is the HTTP status."""

    code = "internal"
    status = 500

    def facts(self) -> dict[str, object]:
        return {}


class NotFound(HarborError):
    code, status = "not_found", 404

    def __init__(self, kind: str, key: object) -> None:
        super().__init__(f"no {kind} {key}")
        self.kind = kind


class StaleRevision(HarborError):
    code, status = "stale_revision", 409

    def __init__(self, kind: str, key: object) -> None:
        super().__init__(f"{kind} {key} was changed in the meantime; read it again")


class IllegalMove(HarborError):
    code, status = "illegal_move", 409

    def __init__(self, kind: str, key: object, old: str, new: str) -> None:
        super().__init__(f"{kind} {key} cannot go from {old} to {new}")


class ScopeMissing(HarborError):
    code, status = "scope_missing", 403

    def __init__(self, scope: str) -> None:
        super().__init__(f"this key lacks the scope {scope}")


def install_handlers(app: FastAPI) -> None:
    @app.exception_handler(HarborError)
    async def answer(_: Request, error: HarborError) -> JSONResponse:
        body = {"code": error.code, "detail": str(error), **error.facts()}
        return JSONResponse(body, status_code=error.status, media_type="application/problem+json")
''',
    "src/harbor/auth.py": '''"""API keys: who calls, and what he may do."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request
from starlette.types import ASGIApp, Receive, Scope, Send

from harbor.errors import ScopeMissing


@dataclass(frozen=True)
class KeyHolder:
    """The owner of the key of this request."""

    key_id: int
    tenant: str
    scopes: frozenset[str]

    def must_hold(self, scope: str) -> None:
        if scope not in self.scopes:
            raise ScopeMissing(scope)


def digest(key: str, pepper: str) -> str:
    return hmac.new(pepper.encode(), key.encode(), hashlib.sha256).hexdigest()


class AuthMiddleware:
    """Looks the key up once and puts the holder into the scope."""

    def __init__(self, app: ASGIApp, public: set[str]) -> None:
        self.app = app
        self.public = public

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in self.public:
            return await self.app(scope, receive, send)
        wiring = scope["app"].state.wiring
        key = dict(scope["headers"]).get(b"authorization", b"").decode().removeprefix("Bearer ")
        holder = await wiring.keys.holder(digest(key, wiring.pepper))
        if holder is None:
            return await wiring.refuse(send, 401, "key_unknown")
        scope["holder"] = holder
        await self.app(scope, receive, send)


async def holder_of(request: Request) -> KeyHolder:
    return request.scope["holder"]


Caller = Annotated[KeyHolder, Depends(holder_of)]
''',
    "src/harbor/request_log.py": '''"""One line for each request."""

from __future__ import annotations

import structlog
from starlette.types import ASGIApp, Message, Receive, Scope, Send

log = structlog.get_logger()


class RequestLogMiddleware:
    """Method, path template, status, milliseconds, tenant. No query strings: they hold names."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        clock = scope["app"].state.wiring.clock
        started = clock.now()
        status = 0

        async def watch(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, watch)
        finally:
            route = scope.get("route")
            log.info(
                "request",
                method=scope["method"],
                path=route.path if route else "unmatched",
                status=status,
                ms=round((clock.now() - started).total_seconds() * 1000, 1),
                tenant=getattr(scope.get("holder"), "tenant", None),
            )
''',
    "src/harbor/wiring.py": '''"""Builds every service once; routes ask for them here."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass
from zoneinfo import ZoneInfo

import asyncpg
from redis.asyncio import Redis
from starlette.responses import JSONResponse

from harbor.clock import Clock, SystemClock
from harbor.keys import KeyCache
from harbor.settings import Settings


@dataclass
class Wiring:
    """What lives as long as the process."""

    pool: asyncpg.Pool
    redis: Redis
    keys: KeyCache
    clock: Clock
    pepper: str

    @classmethod
    @asynccontextmanager
    async def open(cls, settings: Settings):
        pool = await asyncpg.create_pool(str(settings.database_url), max_size=settings.pool_size)
        redis = Redis.from_url(str(settings.redis_url))
        clock = SystemClock(ZoneInfo(settings.quay_timezone))
        try:
            yield cls(pool, redis, KeyCache(pool, clock), clock, settings.key_pepper.get_secret_value())
        finally:
            await redis.aclose()
            await pool.close()

    @staticmethod
    async def refuse(send, status: int, code: str, headers: dict[str, str] | None = None) -> None:
        answer = JSONResponse({"code": code}, status_code=status, headers=headers)
        await answer({"type": "http"}, None, send)
''',
    "src/harbor/keys.py": '''"""Known API keys, cached for half a minute."""

from __future__ import annotations

from datetime import timedelta

from harbor.auth import KeyHolder

KEPT = timedelta(seconds=30)
QUERY = "SELECT id, tenant, scopes FROM api_keys WHERE digest = $1 AND revoked_at IS NULL"


class KeyCache:
    """Remembers hits and misses alike, so that a wrong key does not cost a query each time."""

    def __init__(self, pool, clock) -> None:
        self._pool = pool
        self._clock = clock
        self._known: dict[str, tuple[object, KeyHolder | None]] = {}

    async def holder(self, digest: str) -> KeyHolder | None:
        now = self._clock.now()
        until, holder = self._known.get(digest, (now, None))
        if until > now:
            return holder
        row = await self._pool.fetchrow(QUERY, digest)
        holder = KeyHolder(row["id"], row["tenant"], frozenset(row["scopes"])) if row else None
        self._known[digest] = (now + KEPT, holder)
        return holder
''',
    "src/harbor/money.py": '''"""Amounts in cents; no floats anywhere near a price."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Money:
    currency: str
    cents: int

    def __mul__(self, factor: int) -> Money:
        return Money(self.currency, self.cents * factor)

    def __add__(self, other: Money) -> Money:
        if self.currency != other.currency:
            raise ValueError("amounts of two currencies cannot be added")
        return Money(self.currency, self.cents + other.cents)
''',
    "src/harbor/paging.py": '''"""Keyset paging: a cursor is the last id, in base 36."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from pydantic import BaseModel

T = TypeVar("T")
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True)
class Page(Generic[T]):
    items: Sequence[T]
    next: str | None

    @classmethod
    def of(cls, rows: Sequence[T], size: int) -> Page[T]:
        if len(rows) <= size:
            return cls(rows, None)
        return cls(rows[:size], to_cursor(rows[size - 1].id))


class PageOut(BaseModel, Generic[T]):
    items: list[T]
    next: str | None

    @classmethod
    def of(cls, page: Page, render: Callable) -> PageOut:
        return cls(items=[render(item) for item in page.items], next=page.next)


def after_cursor(cursor: str | None, column: str) -> tuple[str, list[object]]:
    return (f"{column} > $1", [int(cursor, 36)]) if cursor else ("TRUE", [])


def to_cursor(number: int) -> str:
    text = ""
    while number:
        number, digit = divmod(number, 36)
        text = DIGITS[digit] + text
    return text or "0"
''',
    "src/harbor/payments/__init__.py": '"""Talks to the bank. Under audit: no changes without sign-off."""\n',
    "src/harbor/payments/routes.py": '"""HTTP for payments. Under audit."""\n',
    "src/harbor/payments/service.py": '"""Rules for payments. Under audit."""\n',
    "tests/fakes.py": '''"""Stand-ins for tests: a clock that moves on command, a store in memory."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta


def utc(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)


class FakeClock:
    """Stands still until told to go; sleeping moves it."""

    def __init__(self, now: datetime = utc(2026, 3, 10, 12, 0)) -> None:
        self._now = now
        self.slept: list[float] = []

    def now(self) -> datetime:
        return self._now

    def today(self) -> date:
        return self._now.date()

    def advance(self, **delta: float) -> None:
        self._now += timedelta(**delta)

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.advance(seconds=seconds)


class FakeStore:
    """Keeps what it is given, by id."""

    def __init__(self, *rows) -> None:
        self.rows = {row.id: row for row in rows}

    async def get(self, key: int):
        return self.rows[key]

    async def update(self, row):
        self.rows[row.id] = row
        return row


def grant(*scopes: str) -> dict[str, str]:
    return {"authorization": "Bearer test-" + "+".join(scopes)}
''',
    "tests/conftest.py": """from __future__ import annotations

import pytest
from httpx import ASGITransport, AsyncClient

from harbor.app import create_app
from tests.fakes import FakeClock


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def client(settings, clock):
    app = create_app(settings)
    async with app.router.lifespan_context(app):
        app.state.wiring.clock = clock
        async with AsyncClient(transport=ASGITransport(app), base_url="http://harbor.test") as client:
            yield client
""",
}
