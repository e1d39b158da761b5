"""The first tenant and its key, written to the store before anybody can ask for them over HTTP."""

from __future__ import annotations

from redis.exceptions import RedisError

from precompact_shared.errors import Unavailable
from precompact_shared.policy import Policy
from precompact_shared.store import tenants
from precompact_shared.store.connection import sync_client
from precompact_shared.store.executor import SyncStore

OWNER = frozenset({tenants.Scope.AGENT, tenants.Scope.OPS})


def admit(
    state_url: str,
    tenant: str,
    *,
    policy: Policy | None = None,
    new_key: bool = False,
    scopes: frozenset[tenants.Scope] = OWNER,
) -> str | None:
    """Makes the tenant if need be. A key is issued to a new tenant, or on request; else None: keys are kept hashed."""
    try:
        with sync_client(state_url) as client:
            return _admit(SyncStore(client), tenant, policy, new_key=new_key, scopes=scopes)
    except (RedisError, OSError) as error:
        raise Unavailable(
            f"The state Redis does not answer ({type(error).__name__}); check PRECOMPACT_STATE_REDIS_URL."
        ) from None


def _admit(
    store: SyncStore,
    tenant: str,
    policy: Policy | None,
    *,
    new_key: bool,
    scopes: frozenset[tenants.Scope],
) -> str | None:
    is_new = store.run(tenants.create_tenant(tenant))
    if policy is not None:
        store.run(tenants.save_policy(tenant, policy))
    if not (is_new or new_key):
        return None
    issued = tenants.issue_key(tenant, scopes)
    store.run(issued.op)
    return issued.secret
