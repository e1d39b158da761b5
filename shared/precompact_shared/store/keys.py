"""Every Redis key of precompact: built here and nowhere else.

Session-scoped keys share the hash tag of their shard (`{s17}`), so that one Lua call may touch a session, its
shard's event stream, timers and open jobs, also on Redis Cluster. Tenant keys have tags of their own and are never
touched by a session's script. None of these keys has an EXPIRE: a timer runs the delete script.

| key | type | owner | what |
| --- | --- | --- | --- |
| `pc1:meta` | hash | store | schema version, number of shards (fixed at first start) |
| `pc1:{s0}:ev` | stream | store | context-size and job events of the shard |
| `pc1:{s0}:un` | zset | store | sessions whose newest event is unhandled, by the time it became so |
| `pc1:{s0}:oj` | zset | store | open jobs, by the time the sweeper must look |
| `pc1:{s0}:ix` | set | store | sessions of the shard |
| `pc1:{s0}:h:<s>` | hash | store | session: version, length, sizes, estimate (`est`, `span`), current checkpoint, live job |
| `pc1:{s0}:m:<s>` | hash | store | seq -> packed facts of an entry (digest, chain digest, running sums, ...) |
| `pc1:{s0}:b:<s>` | hash | store | seq -> entry as sent (codec byte + bytes) |
| `pc1:{s0}:k:<s>` | list | store | chain of checkpoints: candidate ids, oldest first |
| `pc1:{s0}:c:<s>` | hash | store | candidate id -> tag; closed ones are kept for a while without their text |
| `pc1:{s0}:x:<s>` | hash | store | candidate id -> body (insert, summary, carried facts), `cp:<id>` -> frozen context, `req:<job>` and `res:<job>` -> client-run request and reply, `prefix` |
| `pc1:{s0}:j:<s>` | hash | store | job id -> ledger record |
| `pc1:{s0}:i:<s>` | hash | store | idempotency key -> remembered answer |
| `pc1:{s0}:il:<s>` | list | store | idempotency keys by age (last 256) |
| `pc1:{s0}:d:<s>` | list | store | decisions, newest first (last 100) |
| `pc1:{s0}:a:<s>` | list | store | archive of entries a rewind removed |
| `pc1:{s0}:t:<s>` | hash | store | tombstone of a deleted session |
| `pc1:{t:<tenant>}` | hash | tenants | tenant: digest key, policy, lessons (what its sessions learned of a model's tokens) |
| `pc1:{t:<tenant>}:u:<day>` | hash | spending | what the tenant's calls used on a day: `<provider>|<model>|<mode>|<measure>` -> sum |
| `pc1:{t:<tenant>}:ui` | zset | spending | ids of the calls counted lately, by time |
| `pc1:{keys}:<sha256>` | hash | tenants | API key: tenant, scopes |

`<s>` is `<tenant>/<session id>`.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache

PREFIX = "pc1"
SCHEMA_VERSION = 2
META = f"{PREFIX}:meta"


@dataclass(frozen=True, slots=True)
class ShardKeys:
    """Keys of one shard; `number` runs from 0."""

    number: int

    @property
    def tag(self) -> str:
        """The hash tag with the key prefix in front."""
        return f"{PREFIX}:{{s{self.number}}}"

    @property
    def events(self) -> str:
        """Stream of events."""
        return f"{self.tag}:ev"

    @property
    def unhandled(self) -> str:
        """Sessions whose newest event nobody has decided on."""
        return f"{self.tag}:un"

    @property
    def open_jobs(self) -> str:
        """Open jobs by the time the sweeper must look at them."""
        return f"{self.tag}:oj"

    @property
    def index(self) -> str:
        """Names of the shard's sessions."""
        return f"{self.tag}:ix"


@dataclass(frozen=True, slots=True)
class SessionKeys:
    """Keys of one session. `all` is the KEYS list of every session script (see lua/lib/session.lua)."""

    tenant: str
    session: str
    shard: ShardKeys

    @property
    def name(self) -> str:
        """`<tenant>/<session>`: how a session is named inside its shard."""
        return f"{self.tenant}/{self.session}"

    def key(self, kind: str) -> str:
        """The key of one kind (see the module's table)."""
        return f"{self.shard.tag}:{kind}:{self.name}"

    @property
    def all(self) -> tuple[str, ...]:
        """KEYS[1..16] of every session script."""
        return _session_scripts_keys(self)


@lru_cache(maxsize=16_384)
def _session_scripts_keys(keys: SessionKeys) -> tuple[str, ...]:
    own = tuple(keys.key(kind) for kind in ("h", "m", "b", "k", "c", "x", "j", "i", "il", "d", "a", "t"))
    shard = keys.shard
    return (*own, shard.events, shard.unhandled, shard.open_jobs, shard.index)


def shard_of(tenant: str, session: str, shards: int) -> ShardKeys:
    """The shard of a session: stable, evenly spread, the same in every process."""
    raw = hashlib.blake2b(f"{tenant}/{session}".encode(), digest_size=8).digest()
    return ShardKeys(int.from_bytes(raw, "big") % shards)


def session_keys(tenant: str, session: str, shards: int) -> SessionKeys:
    """The keys of a session."""
    return SessionKeys(tenant, session, shard_of(tenant, session, shards))


def split_name(name: str) -> tuple[str, str]:
    """`<tenant>/<session>` back into its two parts (a tenant's name holds no slash)."""
    tenant, _, session = name.partition("/")
    return tenant, session


def tenant_key(tenant: str) -> str:
    """Hash of a tenant."""
    return f"{PREFIX}:{{t:{tenant}}}"


def usage_key(tenant: str, day: str) -> str:
    """Sums of a tenant's calls on a day (`2026-11-30`, UTC)."""
    return f"{tenant_key(tenant)}:u:{day}"


def counted_calls_key(tenant: str) -> str:
    """Ids of calls that are in those sums already."""
    return f"{tenant_key(tenant)}:ui"


def hold_key(tenant: str, place: str) -> str:
    """Stands while a provider asked the tenant to be left alone; `place`: whose server, which key, which model."""
    digest = hashlib.blake2b(place.encode(), digest_size=12).hexdigest()
    return f"{PREFIX}:{{p:{tenant}}}:hold:{digest}"


def api_key_key(sha256_hex: str) -> str:
    """Hash of an API key, found by the digest of its secret."""
    return f"{PREFIX}:{{keys}}:{sha256_hex}"
