"""`doctor`: settings and servers, looked at for what loses data or hurts."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import redis

from precompact_cli.exits import Exit, print_json
from precompact_cli.services import redis_of
from precompact_shared.errors import Configuration
from precompact_shared.processes import interruptible
from precompact_shared.settings import Settings, load_settings
from precompact_shared.store.connection import sync_client

OLDEST = (6, 2)


class Level(StrEnum):
    """How much a finding matters."""

    OK = "ok"
    HURTS = "hurts"
    LOSES = "loses data"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at. `what` says what to do where it is not well."""

    level: Level
    where: str
    what: str


def run_doctor(*, as_json: bool) -> Exit:
    """Prints the findings; fails when anything is broken or loses data."""
    with interruptible():
        findings = list(_findings())
    if as_json:
        print_json({"findings": [asdict(finding) for finding in findings]})
    else:
        for finding in findings:
            sys.stdout.write(f"{finding.level.value:<11} {finding.where}: {finding.what}\n")
    bad = {Level.LOSES, Level.BROKEN}
    return Exit.FAILED if any(finding.level in bad for finding in findings) else Exit.OK


def _findings() -> Iterator[Finding]:
    try:
        settings = load_settings()
    except Configuration as error:
        yield Finding(Level.BROKEN, "settings", str(error))
        return
    yield Finding(Level.OK, "settings", "every PRECOMPACT_* variable is known and valid")
    if settings.state_redis_url is None:
        yield from _embedded(settings)
        return
    yield from _server("state", settings.required_state_redis_url, holds_state=True)
    yield from _server("broker", settings.required_broker_url, holds_state=False)


def _embedded(settings: Settings) -> Iterator[Finding]:
    with tempfile.TemporaryDirectory(prefix="precompact-doctor-") as folder:
        try:
            with redis_of(settings, Path(folder), appendonly=True) as (settled, server):
                origin = f"embedded, {server.server.origin.value}" if server else "embedded"
                yield from _server(origin, settled.required_state_redis_url, holds_state=True)
        except Configuration as error:
            yield Finding(Level.BROKEN, "embedded", str(error))
    yield Finding(Level.OK, "data folder", f"{settings.data_dir} (used by `up`)")


def _server(name: str, url: str, *, holds_state: bool) -> Iterator[Finding]:
    try:
        with sync_client(url) as client:
            info = client.info()
    except (redis.RedisError, OSError, ValueError) as error:
        yield Finding(Level.BROKEN, name, f"does not answer ({type(error).__name__}); check its URL")
        return
    yield judge_version(name, info)
    yield judge_eviction(name, info)
    if holds_state:
        yield judge_persistence(name, info)


def judge_version(name: str, info: Mapping[str, Any]) -> Finding:
    """Whether the server is new enough."""
    told = str(info.get("valkey_version") or info.get("redis_version") or "0.0")
    kind = "Valkey" if info.get("valkey_version") else "Redis"
    version = tuple(int(part) for part in told.split(".")[:2] if part.isdigit())
    if version < OLDEST:
        return Finding(Level.BROKEN, name, f"{kind} {told}; 6.2 or later is needed")
    return Finding(Level.OK, name, f"{kind} {told}")


def judge_eviction(name: str, info: Mapping[str, Any]) -> Finding:
    """Whether the server may drop keys by itself."""
    policy = str(info.get("maxmemory_policy", "noeviction"))
    if policy != "noeviction":
        return Finding(Level.LOSES, name, f"maxmemory-policy is {policy}; set it to noeviction")
    return Finding(Level.OK, name, "no eviction")


def judge_persistence(name: str, info: Mapping[str, Any]) -> Finding:
    """Whether what was written is there after a restart."""
    if str(info.get("aof_enabled", "0")) == "1":
        return Finding(Level.OK, name, "append-only file on: at most the last second can be lost")
    return Finding(Level.LOSES, name, "no append-only file; set appendonly yes")
