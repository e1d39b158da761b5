"""What the agent of the sample session writes: the rate limiter of "harbor", first versions and corrections."""

from __future__ import annotations

BUCKET = '''"""A token bucket as plain arithmetic: no clock, no I/O."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limit:
    """`rate` tokens flow in each second, up to `burst`."""

    rate: float
    burst: int


@dataclass(frozen=True)
class Level:
    """What was in the bucket at a moment, in seconds of the same clock."""

    tokens: float
    at: float


@dataclass(frozen=True)
class Verdict:
    allowed: bool
    level: Level
    retry_after: float


def take(limit: Limit, level: Level | None, cost: int, now: float) -> Verdict:
    """Take `cost` tokens if they are there; never a part of them."""
    tokens = limit.burst if level is None else min(limit.burst, level.tokens + (now - level.at) * limit.rate)
    if tokens >= cost:
        return Verdict(True, Level(tokens - cost, now), 0.0)
    return Verdict(False, Level(tokens, now), (cost - tokens) / limit.rate)
'''

BUCKET_TESTS = """from __future__ import annotations

import time

import pytest

from harbor.limits.bucket import Level, Limit, take

LIMIT = Limit(rate=10, burst=20)


def test_a_new_bucket_is_full() -> None:
    assert take(LIMIT, None, 20, now=0.0).allowed


def test_an_empty_bucket_refuses_and_says_when() -> None:
    verdict = take(LIMIT, Level(0, 0.0), 5, now=0.0)
    assert not verdict.allowed
    assert verdict.retry_after == pytest.approx(0.5)


def test_tokens_flow_in_with_time() -> None:
    now = time.time()
    verdict = take(LIMIT, Level(0, now), 1, now=time.time() + 0.1)
    assert verdict.level.tokens == 0


def test_it_never_holds_more_than_the_burst() -> None:
    assert take(LIMIT, Level(0, 0.0), 0, now=3_600.0).level.tokens == 20


def test_a_clock_that_goes_back_takes_nothing_away() -> None:
    verdict = take(LIMIT, Level(7, 100.0), 7, now=99.0)
    assert verdict.allowed
"""

FLOWS_OLD = """    now = time.time()
    verdict = take(LIMIT, Level(0, now), 1, now=time.time() + 0.1)
    assert verdict.level.tokens == 0
"""
FLOWS_NEW = """    started = clock.now().timestamp()
    clock.advance(seconds=0.1)
    verdict = take(LIMIT, Level(0, started), 1, now=clock.now().timestamp())
    assert verdict.level.tokens == pytest.approx(0)
"""

TAKE_OLD = "    tokens = limit.burst if level is None else min(limit.burst, level.tokens + (now - level.at) * limit.rate)\n"
TAKE_NEW = """    if level is None:
        level = Level(limit.burst, now)
    elapsed = max(0.0, now - level.at)  # a failover may bring a clock that is behind
    tokens = min(limit.burst, level.tokens + elapsed * limit.rate)
"""

SCRIPT = """-- Token bucket of one API key.
-- KEYS[1] bucket (hash: tokens, at)   ARGV rate, burst, cost
-- Returns {allowed 0|1, tokens left in thousandths, retry after in ms}
local now = redis.call('TIME')
local at = tonumber(now[1]) + tonumber(now[2]) / 1000000
local rate, burst, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local held = redis.call('HMGET', KEYS[1], 'tokens', 'at')
local tokens = tonumber(held[1]) or burst
local elapsed = math.max(0, at - (tonumber(held[2]) or at))
tokens = math.min(burst, math.ceil(tokens + elapsed * rate))
local allowed = tokens >= cost and 1 or 0
if allowed == 1 then tokens = tokens - cost end
redis.call('HSET', KEYS[1], 'tokens', tokens, 'at', at)
redis.call('PEXPIRE', KEYS[1], math.ceil(burst / rate * 1000) + 1000)
return {allowed, math.floor(tokens * 1000), allowed == 1 and 0 or math.ceil((cost - tokens) / rate * 1000)}
"""

SCRIPT_OLD = "tokens = math.min(burst, math.ceil(tokens + elapsed * rate))\n"
SCRIPT_NEW = "tokens = math.min(burst, tokens + elapsed * rate)\n"

REDIS_CLOCK = '''"""The bucket script at a given moment."""

from __future__ import annotations

from harbor.limits.store import SCRIPT

NOW = "local now = redis.call('TIME')\\n"


async def frozen(redis, now: float, limit, cost: int) -> bool:
    """Whether the script lets `cost` through at `now`."""
    seconds, micros = divmod(round(now * 1_000_000), 1_000_000)
    script = redis.register_script(SCRIPT.replace(NOW, f"local now = {{{seconds}, {micros}}}\\n"))
    allowed, *_ = await script(keys=["limit:{twin}"], args=[limit.rate, limit.burst, cost])
    return bool(allowed)
'''

TWIN_TESTS = """from __future__ import annotations

import random

import pytest

from harbor.limits.bucket import Limit, take
from tests.limits.redis_clock import frozen


@pytest.mark.parametrize("seed", range(25))
async def test_script_and_arithmetic_agree(redis, seed: int) -> None:
    rng, limit, level = random.Random(seed), Limit(10, 20), None
    for now in sorted(rng.uniform(0, 30) for _ in range(200)):
        cost = rng.choice([1, 1, 2, 5])
        verdict = take(limit, level, cost, now)
        level = verdict.level
        assert await frozen(redis, now, limit, cost) == verdict.allowed
"""

STORE = '''"""Buckets in Redis: one round trip for each request."""

from __future__ import annotations

from importlib.resources import files

import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError

from harbor.clock import Clock
from harbor.limits.bucket import Limit

log = structlog.get_logger()
SCRIPT = files("harbor.limits").joinpath("take.lua").read_text()
QUIET_S = 60


class Buckets:
    """Takes tokens. While Redis is away everything is allowed, and the log says so once a minute."""

    def __init__(self, redis: Redis, clock: Clock) -> None:
        self._take = redis.register_script(SCRIPT)
        self._clock = clock
        self._told_at: float | None = None

    async def take(self, key_id: int, limit: Limit, cost: int) -> float:
        """Seconds to wait; 0 when allowed."""
        try:
            allowed, _, wait_ms = await self._take(keys=[f"limit:{{{key_id}}}"], args=[limit.rate, limit.burst, cost])
        except RedisError as error:
            self._tell(error)
            return 0.0
        return 0.0 if allowed else wait_ms / 1000

    def _tell(self, error: RedisError) -> None:
        now = self._clock.now().timestamp()
        if self._told_at is None or now - self._told_at >= QUIET_S:
            self._told_at = now
            log.warning("limits.open", error=type(error).__name__)
'''

POLICY = '''"""Which limit holds for whom: the tenant's own row, else the default from the settings."""

from __future__ import annotations

from datetime import timedelta

from harbor.limits.bucket import Limit

KEPT = timedelta(seconds=30)
QUERY = "SELECT rate, burst FROM tenant_limits WHERE lower(tenant) = $1"


class Limits:
    """Read once in half a minute for each tenant."""

    def __init__(self, pool, clock, default: Limit) -> None:
        self._pool = pool
        self._clock = clock
        self._default = default
        self._known: dict[str, tuple[object, Limit]] = {}

    async def of(self, tenant: str) -> Limit:
        now = self._clock.now()
        until, limit = self._known.get(tenant, (now, self._default))
        if until > now:
            return limit
        row = await self._pool.fetchrow(QUERY, tenant.lower())
        limit = Limit(row["rate"], row["burst"]) if row else self._default
        self._known[tenant] = (now + KEPT, limit)
        return limit
'''

COST = '''"""What a route costs; routes say it, the limiter reads it."""

from __future__ import annotations

from fastapi import Depends, Request

from harbor.errors import TooManyRequests


def cost(tokens: int):
    """A dependency that takes `tokens` from the caller's bucket or refuses the request."""

    async def take(request: Request) -> None:
        wiring, holder = request.app.state.wiring, request.scope["holder"]
        limit = await wiring.limits.of(holder.tenant)
        wait = await wiring.buckets.take(holder.key_id, limit, tokens)
        if wait:
            raise TooManyRequests(wait)

    return Depends(take)
'''

ERROR_OLD = "def install_handlers(app: FastAPI) -> None:\n"
ERROR_NEW = """class TooManyRequests(HarborError):
    code, status = "too_many_requests", 429

    def __init__(self, wait: float) -> None:
        super().__init__("the rate limit of this key is reached; try again after the time in Retry-After")
        self.wait = wait

    def headers(self) -> dict[str, str]:
        return {"Retry-After": str(max(1, ceil(self.wait)))}


def install_handlers(app: FastAPI) -> None:
"""

MIGRATION = '''"""tenant_limits: own rate and burst for a tenant."""

from alembic import op

revision = "0014"
down_revision = "0013"

UP = """
CREATE TABLE tenant_limits (
    tenant text PRIMARY KEY,
    rate double precision NOT NULL CHECK (rate > 0),
    burst integer NOT NULL CHECK (burst >= 1),
    note text,
    changed_at timestamptz NOT NULL DEFAULT now()
);
INSERT INTO tenant_limits (tenant, rate, burst, note)
VALUES ('bulk-sync', 5, 50, 'nightly import, agreed by mail 2026-02-17');
"""


def upgrade() -> None:
    op.execute(UP)


def downgrade() -> None:
    pass
'''

WIRING_EDITS = (
    (
        "from harbor.keys import KeyCache\n",
        "from harbor.keys import KeyCache\nfrom harbor.limits.policy import Limits\nfrom harbor.limits.store import Buckets\n",
    ),
    ("    keys: KeyCache\n", "    keys: KeyCache\n    limits: Limits\n    buckets: Buckets\n"),
)

COSTS = {
    "berths": (2, "The list joins nothing, one index scan; but clients poll it for free berths, so two."),
    "vessels": (1, "Plain lookups by primary key. One."),
    "bookings": (
        5,
        "The page runs the overlap check for every row it shows. That is the expensive one: five.",
    ),
    "tides": (1, "Forecast rows are tiny and cached by the proxy. One."),
    "pilots": (
        2,
        "`rest_left` is computed for each pilot in the list, two queries a row. Two is still mild.",
    ),
    "cargo": (3, "Consignments come with their fees, and each asks the tariffs. Three."),
    "declarations": (
        3,
        "The list reads every revision before it keeps the newest. Three until that query is better.",
    ),
    "weather": (
        1,
        "Ten-minute data, one gauge: one. The trend call is what costs, but nobody calls it in bulk.",
    ),
    "tariffs": (1, "A handful of rows. One."),
    "notices": (
        4,
        "Payloads are jsonb and large; bulk-sync reads them all every minute according to the log. Four.",
    ),
    "crews": (2, "The immigration list sorts in Python. Two."),
    "waitlist": (
        5,
        "Scores are computed for the whole list before paging, so a page costs as much as everything. Five.",
    ),
    "moorings": (1, "Forty rows in total. One."),
    "inspections": (3, "Risk needs the findings of three years. Three."),
}
