"""Tenants, their keys and policies, as `Op`s for both executors.

A tenant's hash holds its digest key (identity of entries is keyed, or digests would be an oracle) and its policy. An
API key is found by the SHA-256 of its secret; the secret itself is never stored.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import msgspec

from precompact_shared.engine.estimate import Lessons
from precompact_shared.engine.estimate.teaching import MOST_SESSIONS
from precompact_shared.errors import Refused
from precompact_shared.policy import Policy
from precompact_shared.store.keys import api_key_key, tenant_key
from precompact_shared.store.op import Op
from precompact_shared.store.types import Lesson

KEY_PREFIX = "pck_"
MOST_MODELS = 50
"""Of a tenant, whose sessions' lessons are kept."""
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class Scope(StrEnum):
    """What a key may do."""

    AGENT = "agent"
    """Sessions of its tenant: everything an agent platform calls."""
    OPS = "ops"
    """Numbers, breakers, decisions; no conversation text."""
    ADMIN = "admin"
    """Tenants, keys and policies."""
    PLATFORM = "platform"
    """Acts for the tenant that the header `Precompact-Tenant` names."""


class InvalidTenant(Refused):
    """A tenant is named by 1 to 64 letters, digits, dots, dashes and underscores, a letter or digit first."""

    code = "invalid_tenant"


@dataclass(frozen=True, slots=True)
class KeyRecord:
    """What an API key stands for."""

    tenant: str
    scopes: frozenset[Scope]


@dataclass(frozen=True, slots=True)
class TenantRecord:
    """What the service keeps of a tenant."""

    name: str
    digest_key: bytes
    """Keys the digests of entries; never leaves the service."""
    policy: Policy
    lessons: Mapping[str, Lessons]
    """What sessions have learned of a model's tokens, by model."""


@dataclass(frozen=True, slots=True)
class IssuedKey:
    """A new key. `secret` is shown once and kept nowhere; it is good as soon as `op` was run."""

    secret: str
    op: Op[None]


def check_name(tenant: str) -> str:
    """The name, if it may be one. Raises InvalidTenant."""
    if not NAME.fullmatch(tenant):
        raise InvalidTenant
    return tenant


def create_tenant(tenant: str) -> Op[bool]:
    """Makes a tenant with a digest key of its own; False when it was there, which changes nothing."""
    return _tenant_op("HSETNX", tenant, bool, "digest_key", secrets.token_hex(32))


def load_tenant(tenant: str) -> Op[TenantRecord | None]:
    """Digest key, policy and lessons in one read; None when there is no such tenant."""

    def decode(raw: list[bytes | None]) -> TenantRecord | None:
        digest_key, policy, lessons = raw
        if digest_key is None:
            return None
        known = _lessons(lessons) if lessons else {}
        return TenantRecord(tenant, bytes.fromhex(digest_key.decode()), _policy(policy), known)

    return _tenant_op("HMGET", tenant, decode, "digest_key", "policy", "lessons")


def load_digest_key(tenant: str) -> Op[bytes | None]:
    """The key of the tenant's entry digests; None when there is no such tenant."""
    return _tenant_op("HGET", tenant, lambda raw: bytes.fromhex(raw.decode()) if raw else None, "digest_key")


def load_policy(tenant: str) -> Op[Policy]:
    """The tenant's policy; the default where it has none of its own."""
    return _tenant_op("HGET", tenant, _policy, "policy")


def save_policy(tenant: str, policy: Policy) -> Op[None]:
    """Keeps a policy for the tenant; every process sees it within a few seconds."""
    return _tenant_op("HSET", tenant, _nothing, "policy", policy.model_dump_json())


def issue_key(tenant: str, scopes: frozenset[Scope] = frozenset({Scope.AGENT})) -> IssuedKey:
    """A key for a tenant (which need not exist yet)."""
    secret = KEY_PREFIX + secrets.token_urlsafe(32)
    return IssuedKey(secret, register_key(secret, tenant, scopes))


def register_key(secret: str, tenant: str, scopes: frozenset[Scope] = frozenset({Scope.AGENT})) -> Op[None]:
    """Lets a given secret stand for a tenant; an operator may bring keys of their own."""
    fields = ("tenant", check_name(tenant), "scopes", ",".join(sorted(scopes)))
    return Op(None, (), ("HSET", api_key_key(digest_of(secret)), *fields), _nothing)


def find_key(secret: str) -> Op[KeyRecord | None]:
    """The record of a key; None when nobody issued it or it was revoked."""

    def decode(raw: list[bytes | None]) -> KeyRecord | None:
        tenant, scopes = raw
        if tenant is None:
            return None
        names = [name for name in (scopes or b"").decode().split(",") if name]
        return KeyRecord(tenant.decode(), frozenset(map(Scope, names)))

    return Op(None, (), ("HMGET", api_key_key(digest_of(secret)), "tenant", "scopes"), decode)


def revoke_key(secret: str) -> Op[None]:
    """Ends a key; processes forget it within a few seconds."""
    return Op(None, (), ("DEL", api_key_key(digest_of(secret))), _nothing)


def digest_of(secret: str) -> str:
    """How a key is found at rest. Secrets are random and long, so a plain hash is enough."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def teach(tenant: str, model: str, lesson: Lesson, now_ms: int) -> Op[None]:
    """One session more in the means of what is known of a model's tokens; the model not heard of for longest gives way."""
    told = msgspec.json.encode(lesson)
    return Op(
        "teach",
        (tenant_key(check_name(tenant)),),
        (model, told, now_ms, MOST_MODELS, MOST_SESSIONS),
        _nothing,
    )


def _tenant_op(command: str, tenant: str, decode: Any, *args: str) -> Op[Any]:
    return Op(None, (), (command, tenant_key(check_name(tenant)), *args), decode)


_lessons = msgspec.json.Decoder(dict[str, Lessons], strict=False).decode


def _policy(raw: bytes | None) -> Policy:
    return Policy.model_validate_json(raw) if raw else Policy()


def _nothing(_raw: object) -> None:
    return None
