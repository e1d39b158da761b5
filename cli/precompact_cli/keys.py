"""`key`: a tenant and a key for it, written straight to the store of a deployment that has none yet."""

from __future__ import annotations

import sys

from precompact_cli.exits import Exit, InputRefused, print_json
from precompact_cli.tenancy import admit
from precompact_shared.settings import load_settings
from precompact_shared.store.tenants import Scope, check_name


def run_key(tenant: str, scopes: list[str], *, as_json: bool) -> Exit:
    """Prints the key, once: the store keeps its hash alone. Raises InputRefused for a bad name or scope."""
    unknown = sorted(set(scopes) - {scope.value for scope in Scope})
    if unknown:
        raise InputRefused(f"There is no such scope; use: {', '.join(Scope)}.")
    check_name(tenant)
    url = load_settings().required_state_redis_url
    secret = admit(url, tenant, new_key=True, scopes=frozenset(Scope(scope) for scope in scopes))
    if as_json:
        print_json({"tenant": tenant, "key": secret, "scopes": sorted(scopes)})
    else:
        print_key(tenant, secret or "")
    return Exit.OK


def print_key(tenant: str, secret: str) -> None:
    """One line for people; the key is the last word."""
    sys.stdout.write(f"key of tenant {tenant} (shown once): {secret}\n")
