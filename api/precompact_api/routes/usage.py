"""What compaction has used and cost: for a session, and for the tenant by day."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from datetime import date, timedelta
from typing import Annotated

import msgspec
from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from precompact_api.answers import answer, session_answer
from precompact_api.auth import ADMIN, SIGHT, identify
from precompact_api.problems import Code, Problem
from precompact_api.routes.calls import session_call
from precompact_api.service import Service
from precompact_shared.clock import now_ms
from precompact_shared.store.spending import Spent, day_of, session_spent, tenant_spent

MOST_DAYS = 366


def routes(service: Service) -> APIRouter:
    """The router."""
    router = APIRouter(tags=["sight"])

    @router.get("/v1/sessions/{session}/usage", summary="What compacting this session has cost so far")
    async def show_session_usage(session: str, request: Request) -> Response:
        call = await session_call(service, request, session, SIGHT)
        view = await call.view()
        return session_answer(view, msgspec.to_builtins(await service.read(session_spent(call.keys))))

    @router.get(
        "/v1/usage", summary="What the tenant's compactions have cost, by day, provider, model and mode"
    )
    async def show_usage(
        request: Request,
        first: Annotated[str | None, Query(alias="from", max_length=10)] = None,
        last: Annotated[str | None, Query(alias="to", max_length=10)] = None,
    ) -> Response:
        caller = await identify(service, request, SIGHT | ADMIN)
        days = _days(first, last, day_of(now_ms()))
        found = await asyncio.gather(*(service.read(tenant_spent(caller.name, day)) for day in days))
        rows = [row for listed in found for row in listed]
        return answer({"from": days[0], "to": days[-1], "total": total(rows), "rows": rows})

    return router


def total(rows: Iterable[Spent]) -> Spent:
    """The sums of all rows together."""
    listed = list(rows)
    sums = {name: sum(getattr(row, name) for row in listed) for name in Spent.__struct_fields__}
    return Spent(**sums)


def _days(first: str | None, last: str | None, today: str) -> list[str]:
    """The days of a span, both ends included; today where nothing is said. Raises Problem for no such span."""
    try:
        end = date.fromisoformat(last or today)
        start = date.fromisoformat(first) if first else end
    except ValueError:
        raise Problem(Code.INVALID_REQUEST, where="$.from" if first else "$.to") from None
    count = (end - start).days + 1
    if not 1 <= count <= MOST_DAYS:
        raise Problem(Code.INVALID_REQUEST, where="$.from")
    return [(start + timedelta(days=at)).isoformat() for at in range(count)]
