"""Where a compaction would cut, without making one."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from precompact_api.auth import Caller
from precompact_api.quoting import quote
from precompact_api.service import Service
from precompact_api.sizing import size_up
from precompact_shared.engine.cut import Cut, plan_cut
from precompact_shared.engine.types import Entry, Format
from precompact_shared.policy import chain_of
from precompact_shared.store import reading
from precompact_shared.store.types import SessionView

CHUNK = 500


async def preview(service: Service, caller: Caller, view: SessionView, upto: int | None) -> dict[str, Any]:
    """`{upto, tokens_covered, tokens_kept}` of a manual compaction now with what it costs, or `{skipped: reason}`."""
    entries = await _entries(service, view)
    total = sum(entry.tokens for entry in entries)
    if upto is not None:
        covered = sum(entry.tokens for entry in entries if entry.seq < upto)
        return await asyncio.to_thread(_told, service, caller, upto, covered, total)
    limits = size_up(caller, view).limits
    plan = await asyncio.to_thread(
        plan_cut,
        Format(view.format),
        entries,
        keep_tokens=limits.keep_tokens,
        at_least=view.upto,
        rule=caller.tenant.policy.rules.cut.without_shortening(),
    )
    if not isinstance(plan, Cut):
        return {"skipped": plan.reason.value, "tokens_covered": 0, "tokens_kept": total}
    return await asyncio.to_thread(_told, service, caller, plan.upto, plan.covered_tokens, total)


def _told(service: Service, caller: Caller, upto: int, covered: int, total: int) -> dict[str, Any]:
    """In a thread: the tables of prices take a second when they are read first."""
    policy = caller.tenant.policy
    first, *_ = chain_of(policy, service.settings)
    sizes = {"upto": upto, "tokens_covered": covered, "tokens_kept": total - covered}
    return {**sizes, **quote(policy, first, covered)}


async def _entries(service: Service, view: SessionView) -> list[Entry]:
    keys = service.session(view.tenant, view.session)
    found: list[Entry] = []
    before = 0
    if view.upto:
        [last] = await service.read(reading.metas(keys, [view.upto - 1]))
        before = last.cum if last else 0
    for start in range(view.upto, view.length, CHUNK):
        seqs = range(start, min(start + CHUNK, view.length))
        metas = await service.read(reading.metas(keys, seqs))
        bodies = await service.read(reading.bodies(keys, seqs))
        for seq, meta, body in zip(seqs, metas, bodies, strict=True):
            if meta is None or body is None:
                continue
            found.append(Entry(seq, msgspec.json.decode(body), meta.cum - before, meta.pinned))
            before = meta.cum
    return found
