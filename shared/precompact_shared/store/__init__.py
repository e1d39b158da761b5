"""Sessions, ledger and checkpoints in Redis. README.md explains versions; ops.py lists every transition."""

from precompact_shared.store.connection import Layout, async_client, fix_layout, sync_client
from precompact_shared.store.executor import AsyncStore, SyncStore
from precompact_shared.store.ops import Announcement, Changes, ClaimSpec, Create, Limits, SessionOps

__all__ = [
    "Announcement",
    "AsyncStore",
    "Changes",
    "ClaimSpec",
    "Create",
    "Layout",
    "Limits",
    "SessionOps",
    "SyncStore",
    "async_client",
    "fix_layout",
    "sync_client",
]
