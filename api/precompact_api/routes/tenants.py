"""Tenants, keys and policies."""

from __future__ import annotations

from typing import Any

import msgspec
from fastapi import APIRouter
from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import Response

from precompact_api.answers import answer
from precompact_api.auth import ADMIN, ANY, SIGHT, authorize, find_tenant, identify
from precompact_api.bodies import KeyBody, TenantBody
from precompact_api.problems import Code, Problem
from precompact_api.routes.calls import read_as
from precompact_api.service import Service
from precompact_shared.policy import Policy
from precompact_shared.store import tenants
from precompact_shared.store.tenants import KeyRecord, Scope


def routes(service: Service) -> APIRouter:
    """The router."""
    router = APIRouter(tags=["tenants"])

    @router.get("/v1/policy", summary="The tenant's policy")
    async def show_policy(request: Request) -> Response:
        caller = await identify(service, request, ANY)
        policy = await service.run(tenants.load_policy(caller.name))
        return answer(policy.model_dump(mode="json"))

    @router.put("/v1/policy", summary="Set the tenant's policy: what is said, on the default")
    async def set_policy(request: Request) -> Response:
        caller = await identify(service, request, SIGHT | ADMIN)
        wanted, _ = await read_as(service, request, dict[str, Any])
        current = await service.run(tenants.load_policy(caller.name))
        policy = _policy(wanted | {"version": current.version + 1})
        await service.run(tenants.save_policy(caller.name, policy))
        service.tenants.forget(caller.name)
        return answer(policy.model_dump(mode="json"))

    @router.post("/v1/tenants", status_code=201, summary="Make a tenant and its first key")
    async def make_tenant(request: Request) -> Response:
        await authorize(service, request, ADMIN)
        body, _ = await read_as(service, request, TenantBody)
        if not tenants.NAME.fullmatch(body.tenant):
            raise Problem(Code.INVALID_TENANT)
        if not await service.run(tenants.create_tenant(body.tenant)):
            raise Problem(Code.TENANT_EXISTS)
        issued = tenants.issue_key(body.tenant)
        await service.run(issued.op)
        return answer({"tenant": body.tenant, "key": issued.secret}, 201)

    @router.post("/v1/keys", status_code=201, summary="Issue a key; it is shown once")
    async def issue_key(request: Request) -> Response:
        record = await authorize(service, request, ADMIN)
        body, _ = await read_as(service, request, KeyBody)
        scopes = frozenset(map(Scope, body.scopes))
        tenant = body.tenant or record.tenant
        _may_issue(record, tenant, scopes)
        if not tenants.NAME.fullmatch(tenant) or await find_tenant(service, tenant) is None:
            raise Problem(Code.INVALID_TENANT, "There is no such tenant; make it with POST /v1/tenants.")
        issued = tenants.issue_key(tenant, scopes)
        await service.run(issued.op)
        return answer({"tenant": tenant, "scopes": sorted(scopes), "key": issued.secret}, 201)

    return router


def _may_issue(record: KeyRecord, tenant: str, scopes: frozenset[Scope]) -> None:
    """An admin issues for its own tenant; for others, and platform keys, only a platform key does."""
    if Scope.PLATFORM not in record.scopes and (tenant != record.tenant or Scope.PLATFORM in scopes):
        raise Problem(Code.FORBIDDEN)


def _policy(wanted: dict[str, Any]) -> Policy:
    try:
        return Policy.model_validate_json(msgspec.json.encode(wanted))
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False, include_context=False)[0]
        raise Problem(Code.INVALID_REQUEST, where=_place(first["loc"]), reason=first["type"]) from None


def _place(loc: tuple[int | str, ...]) -> str:
    """The place, by names of ours only: what the caller called its keys is not echoed."""
    if not loc or loc[0] not in Policy.model_fields:
        return "$"
    rest = "".join(f"[{part}]" for part in loc[1:] if isinstance(part, int))
    return f"$.{loc[0]}{rest}"
