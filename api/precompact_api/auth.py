"""Who calls: a key, its tenant, its scopes."""

from __future__ import annotations

import msgspec
from starlette.requests import Request

from precompact_api.problems import Code, Problem
from precompact_api.service import Service, Tenant
from precompact_shared.store import tenants
from precompact_shared.store.tenants import KeyRecord, Scope

KEY_MAX_CHARS = 200


class Caller(msgspec.Struct, frozen=True):
    """Somebody with a valid key, acting for a tenant."""

    tenant: Tenant
    scopes: frozenset[Scope]

    @property
    def name(self) -> str:
        """The tenant's name."""
        return self.tenant.name


AGENT = frozenset({Scope.AGENT})
SIGHT = frozenset({Scope.AGENT, Scope.OPS})
"""Calls that show no conversation text."""
ADMIN = frozenset({Scope.ADMIN})
ANY = frozenset(Scope)


async def identify(service: Service, request: Request, any_of: frozenset[Scope] = AGENT) -> Caller:
    """The caller, if the key is valid and has one of the scopes. Raises Problem 401 or 403."""
    record = await authorize(service, request, any_of)
    tenant = await find_tenant(service, _acting_for(request, record))
    if tenant is None:
        raise Problem(Code.FORBIDDEN if Scope.PLATFORM in record.scopes else Code.UNAUTHORIZED)
    return Caller(tenant, record.scopes)


async def authorize(service: Service, request: Request, any_of: frozenset[Scope]) -> KeyRecord:
    """The key's record, for calls that concern no tenant of its own."""
    record = await _record(service, _secret(request))
    if not record.scopes & any_of:
        raise Problem(Code.FORBIDDEN, scopes=sorted(any_of))
    return record


async def find_tenant(service: Service, name: str) -> Tenant | None:
    """A tenant, a few seconds old at most."""
    kept = service.tenants.get(name)
    if kept is not None:
        return kept
    record = await service.run(tenants.load_tenant(name))
    return None if record is None else service.tenants.put(name, Tenant(record))


def _secret(request: Request) -> str:
    scheme, _, secret = request.headers.get("authorization", "").partition(" ")
    secret = secret.strip()
    if scheme.lower() != "bearer" or not secret or len(secret) > KEY_MAX_CHARS:
        raise Problem(Code.UNAUTHORIZED)
    return secret


async def _record(service: Service, secret: str) -> KeyRecord:
    digest = tenants.digest_of(secret)
    record = service.keys.get(digest)
    if record is None:
        record = await service.run(tenants.find_key(secret))
        if record is None:
            raise Problem(Code.UNAUTHORIZED)
        service.keys.put(digest, record)
    return record


def _acting_for(request: Request, record: KeyRecord) -> str:
    named = request.headers.get("precompact-tenant")
    if named is None or named == record.tenant:
        return record.tenant
    if Scope.PLATFORM not in record.scopes or not tenants.NAME.fullmatch(named):
        raise Problem(Code.FORBIDDEN)
    return named
