"""The rules of versions, candidates, adoption and the ledger as pure functions: the twin of the store's scripts.

Each operation takes the state of one session id, its arguments and `now_ms`, and returns the next state and an
`Outcome` with the words the store answers. Nothing here does I/O; a property test plays random histories on both.
"""

from precompact_shared.engine.versions.adoption import adopt, revert
from precompact_shared.engine.versions.candidates import close, put
from precompact_shared.engine.versions.forks import fork_copy, fork_open, fork_publish
from precompact_shared.engine.versions.history import append, redact, replaced, rewind
from precompact_shared.engine.versions.ledger import beat, cancel, claim, due, finish, queued, start
from precompact_shared.engine.versions.life import create, delete, handled, seen_as
from precompact_shared.engine.versions.lists import sync
from precompact_shared.engine.versions.session import Known, Session, Tombstone, view

__all__ = [
    "Known",
    "Session",
    "Tombstone",
    "adopt",
    "append",
    "beat",
    "cancel",
    "claim",
    "close",
    "create",
    "delete",
    "due",
    "finish",
    "fork_copy",
    "fork_open",
    "fork_publish",
    "handled",
    "put",
    "queued",
    "redact",
    "replaced",
    "revert",
    "rewind",
    "seen_as",
    "start",
    "sync",
    "view",
]
