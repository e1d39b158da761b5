"""What programs print that do not live in the checkout: logs, load runs, query plans, migrations."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from random import Random
from typing import TypeVar

from precompact_cli.sample.harbor import modules

T = TypeVar("T")
TENANTS = ("nordvik", "fjordline", "skagen-yc", "bulk-sync", "harbourcam", "pilotage-app")
METHODS = ("GET", "GET", "GET", "GET", "POST", "PATCH")


def pick(rng: Random, choices: list[T] | tuple[T, ...]) -> T:
    """One of `choices`; `random()` alone is promised to stay the same between Python versions."""
    return choices[int(rng.random() * len(choices))]


def request_log(rng: Random, lines: int, start: datetime, *, limited: bool = False) -> str:
    """Lines of the request log, as JSON."""
    plural = [module["plural"] for module in modules()]
    printed, now = [], start
    for _ in range(lines):
        now += timedelta(milliseconds=round(900 * rng.random()))
        tenant = "bulk-sync" if rng.random() < 0.55 else pick(rng, TENANTS)
        refused = limited and tenant == "bulk-sync" and rng.random() < 0.7
        entry = {
            "event": "request",
            "at": now.isoformat(timespec="milliseconds"),
            "method": pick(rng, METHODS),
            "path": f"/v1/{pick(rng, plural)}{pick(rng, ('', '', '/{id}', '/{id}/history'))}",
            "status": 429 if refused else pick(rng, (200, 200, 200, 200, 201, 304, 404, 409)),
            "ms": round((2 if refused else 18) + 90 * rng.random() ** 4, 1),
            "tenant": tenant,
            "trace": f"{int(rng.random() * 2**48):012x}",
        }
        printed.append(json.dumps(entry))
    return "\n".join(printed)


def load_run(rng: Random, seconds: int, limit: int, *, leak: float = 0.0) -> str:
    """A load run second by second; `leak` is the share by which more is let through than the limit says."""
    rows = ["   s   sent  passed  refused   p50_ms   p99_ms  redis_us"]
    passed_all = refused_all = 0
    for second in range(1, seconds + 1):
        sent = limit * 2 + round(40 * rng.random())
        passed = min(sent, round(limit * (1 + leak) + 4 * rng.random()) + (limit if second == 1 else 0))
        passed_all, refused_all = passed_all + passed, refused_all + sent - passed
        times = f"{3.1 + rng.random():8.2f} {11 + 9 * rng.random():8.2f} {140 + 60 * rng.random():9.0f}"
        rows.append(f"{second:4} {sent:6} {passed:7} {sent - passed:8} {times}")
    share = 100 * (passed_all - limit) / (limit * seconds)
    total = (
        f"passed {passed_all}, refused {refused_all}; {share:.1f} % of the configured rate over {seconds} s"
    )
    return "\n".join([*rows, total])


def soak(rng: Random, runs: int, tests: int, broken: dict[int, str]) -> str:
    """The suite again and again in random order; `broken` says what failed in which run."""
    printed = []
    for run in range(1, runs + 1):
        printed.append(f"Using --randomly-seed={int(rng.random() * 2**32)}")
        dots = "." * tests
        printed += [dots[start : start + 96] for start in range(0, tests, 96)]
        if run in broken:
            printed += [
                f"FAILED {broken[run]}",
                f"1 failed, {tests - 1} passed in {31 + 4 * rng.random():.2f}s",
            ]
        else:
            printed.append(f"{tests} passed in {31 + 4 * rng.random():.2f}s")
    return "\n".join(printed)


def migrations(upto: int, names: list[str], last: str) -> str:
    """What alembic says while it goes up."""
    lines = [
        "INFO  [alembic.runtime.migration] Context impl PostgresqlImpl.",
        "INFO  [alembic.runtime.migration] Will assume transactional DDL.",
    ]
    for number, name in enumerate([*names, last][:upto]):
        before = f"{number - 1:04d}" if number else ""
        lines.append(
            f"INFO  [alembic.runtime.migration] Running upgrade {before} -> {number:04d}, {name}: first table."
        )
    return "\n".join(lines)


def query_plan(rows: int, *, indexed: bool) -> str:
    """A plan of the lookup of one tenant's limits."""
    if indexed:
        return (
            "Index Scan using tenant_limits_pkey on tenant_limits  (cost=0.15..2.37 rows=1 width=52) "
            "(actual time=0.021..0.022 rows=1 loops=1)\n  Index Cond: (tenant = 'bulk-sync'::text)\n"
            "Planning Time: 0.094 ms\nExecution Time: 0.041 ms"
        )
    return (
        f"Seq Scan on tenant_limits  (cost=0.00..{rows / 50:.2f} rows=1 width=52) (actual time=0.310..4.812 rows=1 loops=1)\n"
        f"  Filter: (lower(tenant) = 'bulk-sync'::text)\n  Rows Removed by Filter: {rows - 1}\n"
        "Planning Time: 0.102 ms\nExecution Time: 4.849 ms"
    )


def at(hour: int, minute: int) -> datetime:
    """A moment of the day the session plays on."""
    return datetime(2026, 3, 10, hour, minute, tzinfo=UTC)
