"""What model calls used and cost, summed by session and by a tenant's day. Money in US dollars."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from precompact_shared.store.keys import SessionKeys, counted_calls_key, usage_key
from precompact_shared.store.op import Argument, Op

NANO = 1_000_000_000
CALLS_REMEMBERED = 10_000
MEASURES = ("calls", "input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens")
TOLD = ("silent_calls", "estimated_tokens")
"""What only a tenant's days know besides."""
_SESSION_FIELDS = ("u_calls", "u_in", "u_read", "u_write", "u_out", "u_nano", "u_unpriced")


class Spent(msgspec.Struct, frozen=True, kw_only=True):
    """Sums over some calls."""

    calls: int = 0
    input_tokens: int = 0
    """Neither read from a cache nor written to one."""
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0
    unpriced_calls: int = 0
    """Calls whose price nobody knows; `cost_usd` is without them."""


class DaySpent(Spent, frozen=True, kw_only=True):
    """Sums over a tenant's calls of one kind on one day."""

    day: str
    provider: str
    model: str
    mode: str
    silent_calls: int = 0
    """Of the calls, those that told no usage: refused, or broken off."""
    estimated_tokens: int = 0
    """Of `input_tokens`, the estimated prompts of calls that were broken off."""


def day_of(now_ms: int) -> str:
    """The UTC day, as `2026-11-30`."""
    return datetime.fromtimestamp(now_ms / 1000, UTC).date().isoformat()


def add_calls(tenant: str, calls: Sequence[Mapping[str, Any]], now_ms: int) -> Op[int]:
    """Counts calls (records of the ledger) for a tenant's day, each id once; the number that were new."""
    args: list[Argument] = [now_ms, CALLS_REMEMBERED, len(calls)]
    for call in calls:
        pairs = list(_pairs(call))
        args += [str(call["id"]), len(pairs), *(part for pair in pairs for part in pair)]
    keys = (usage_key(tenant, day_of(now_ms)), counted_calls_key(tenant))
    return Op("spend", keys, tuple(args), int)


def session_spent(keys: SessionKeys) -> Op[Spent]:
    """All that was ever used for a session; zeros for one that is not there."""

    def decode(raw: list[bytes | None]) -> Spent:
        calls, read_in, read, write, out, nano, unpriced = (int(value or 0) for value in raw)
        return Spent(
            calls=calls,
            input_tokens=read_in,
            cache_read_tokens=read,
            cache_write_tokens=write,
            output_tokens=out,
            cost_usd=nano / NANO,
            unpriced_calls=unpriced,
        )

    return Op(None, (), ("HMGET", keys.key("h"), *_SESSION_FIELDS), decode)


def tenant_spent(tenant: str, day: str) -> Op[list[DaySpent]]:
    """A tenant's sums of a day, by provider, model and mode."""

    def decode(raw: Any) -> list[DaySpent]:
        flat = raw.items() if isinstance(raw, Mapping) else zip(raw[::2], raw[1::2], strict=True)
        return _rows(day, flat)

    return Op(None, (), ("HGETALL", usage_key(tenant, day)), decode)


def _pairs(call: Mapping[str, Any]) -> Iterable[tuple[str, int]]:
    kind = f"{call['provider']}|{call.get('model') or ''}|{call.get('mode') or ''}"
    for measure in MEASURES:
        amount = 1 if measure == "calls" else int(call.get(measure) or 0)
        if amount:
            yield f"{kind}|{measure}", amount
    used = sum(int(call.get(measure) or 0) for measure in MEASURES[1:])
    if call.get("estimated") or not used:
        yield f"{kind}|silent_calls", 1
    if call.get("estimated"):
        yield f"{kind}|estimated_tokens", int(call.get("input_tokens") or 0)
    cost = call.get("cost_usd")
    yield (f"{kind}|unpriced", 1) if cost is None else (f"{kind}|nano", round(cost * NANO))


def _rows(day: str, flat: Iterable[tuple[bytes, bytes]]) -> list[DaySpent]:
    sums: dict[tuple[str, str, str], dict[str, int]] = {}
    for field, value in flat:
        provider, rest = field.decode().split("|", 1)
        model, mode, measure = rest.rsplit("|", 2)
        sums.setdefault((provider, model, mode), {})[measure] = int(value)
    return [_row(day, kind, told) for kind, told in sorted(sums.items())]


def _row(day: str, kind: tuple[str, str, str], told: Mapping[str, int]) -> DaySpent:
    provider, model, mode = kind
    return DaySpent(
        day=day,
        provider=provider,
        model=model,
        mode=mode,
        cost_usd=told.get("nano", 0) / NANO,
        unpriced_calls=told.get("unpriced", 0),
        **{measure: told.get(measure, 0) for measure in (*MEASURES, *TOLD)},
    )
