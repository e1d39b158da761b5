"""The store's arguments as the twin takes them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields

import msgspec

from precompact_shared.engine.estimate import Side, State
from precompact_shared.engine.estimate.masses import Mass
from precompact_shared.engine.versions import values
from precompact_shared.store.calibration import Remembered, unpack
from precompact_shared.store.ops import Changes, Limits
from precompact_shared.store.types import CandidateTag, CheckpointTag, NewEntry, Seen

_USAGE = tuple(f.name for f in fields(values.Usage))
_SIDES = {"r": Side.REPLY, "u": Side.USER, "g": Side.GIVEN, "s": Side.SYSTEM}
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
    return tuple(_pure_entry(entry) for entry in entries)


def _pure_entry(e: NewEntry) -> values.Entry:
    side, *numbers = msgspec.structs.astuple(e.weighed)
    return values.Entry(
        e.digest,
        e.tokens,
        len(e.body),
        e.role,
        e.pinned,
        e.calls,
        e.results,
        side=_SIDES[side],
        mass=Mass(*numbers),
    )


def pure_start(start: bytes) -> values.Start | None:
    """Where a calibration begins, for the twin."""
    return pure_remembered(unpack(start)) if start else None


def pure_remembered(known: Remembered) -> values.Start:
    """A calibration as the store has it, for the twin."""
    state = State(
        base=known.base,
        output=known.output,
        reasoned=known.reasoned,
        carried=known.carried,
        leaves=known.leaves,
        leaves_weight=known.leaves_weight,
        root_reasoning=known.root_reasoning,
        reasoning_weight=known.reasoning_weight,
        factors=known.factors,
        doubt=known.doubt,
        steps=known.steps,
    )
    return values.Start(known.counts_reasoning, state)


def pure_candidate(tag: CandidateTag) -> values.Candidate:
    """Candidate, for the twin."""
    return values.Candidate(**{name: getattr(tag, name) for name in _CANDIDATE})


def pure_checkpoint(tag: CheckpointTag) -> values.Checkpoint:
    """Checkpoint, for the twin."""
    return values.Checkpoint(**{f.name: getattr(tag, f.name) for f in fields(values.Checkpoint)})
