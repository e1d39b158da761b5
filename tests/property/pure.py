"""The store's arguments as the twin takes them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields

from precompact_shared.engine.versions import values
from precompact_shared.store.ops import Changes, Limits
from precompact_shared.store.types import CandidateTag, CheckpointTag, NewEntry, Seen

_USAGE = tuple(f.name for f in fields(values.Usage))
_CANDIDATE = tuple(f.name for f in fields(values.Candidate))


def pure_seen(seen: Seen | None) -> values.Seen | None:
    """Seen, for the twin."""
    return None if seen is None else values.Seen(seen.version, seen.length)


def pure_changes(changes: Changes | None) -> values.Changes | None:
    """Changes, for the twin."""
    if changes is None:
        return None
    usage = changes.usage
    pure = None if usage is None else values.Usage(**{name: getattr(usage, name) for name in _USAGE})
    return values.Changes(pure, changes.model, changes.window, changes.max_output, changes.overflow)


def pure_limits(limits: Limits | None) -> values.Limits | None:
    """Limits, for the twin."""
    return None if limits is None else values.Limits(limits.entries, limits.bytes)


def pure_entries(entries: Iterable[NewEntry]) -> tuple[values.Entry, ...]:
    """Entries, for the twin."""
    return tuple(
        values.Entry(e.digest, e.tokens, len(e.body), e.role, e.pinned, e.calls, e.results) for e in entries
    )


def pure_candidate(tag: CandidateTag) -> values.Candidate:
    """Candidate, for the twin."""
    return values.Candidate(**{name: getattr(tag, name) for name in _CANDIDATE})


def pure_checkpoint(tag: CheckpointTag) -> values.Checkpoint:
    """Checkpoint, for the twin."""
    return values.Checkpoint(**{f.name: getattr(tag, f.name) for f in fields(values.Checkpoint)})
