"""Where a job cuts and what it puts in front: pure, from a snapshot and the job's wishes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from precompact_shared.engine.cut import Skip, plan_cut, safe_cuts
from precompact_shared.engine.preset import CutRule
from precompact_shared.store.types import JobKind, JobTag
from precompact_worker.snapshot import Snapshot


class Nothing(Exception):
    """The job ends without a candidate; `reason` is told to whoever asked."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Unsupported(Exception):
    """A kind of job that this version cannot do."""


SUPPORTED = frozenset(set(JobKind) - {JobKind.BRANCH})


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What a job asks for beyond its kind."""

    start: int | None = None
    """Manual: entries before it stay word for word (rule 22)."""
    upto: int | None = None
    """Manual: cover at most entries before it."""
    focus: str | None = None
    extractive_only: bool = False
    by_hand: bool = False
    """Somebody asked for it: a preset that cuts what fits may cover all there is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Entries `[summary_from, upto)` are summarised; `[base.upto, summary_from)` travel word for word."""

    upto: int
    summary_from: int
    keeps_base: bool
    """The base's insert stays in front as it is (a manual run with `from`)."""
    turn_start: int | None = None
    """Where the turn begins that the cut divides; its head gets a summary of its own."""


def wishes_of(job: JobTag) -> Wishes:
    """The wishes in a job's record. Raises `Unsupported` for kinds that a later version does."""
    if job.kind not in SUPPORTED or job.extra.get("mode", "summary") != "summary":
        raise Unsupported
    return Wishes(
        start=_whole(job.extra, "from"),
        upto=_whole(job.extra, "upto"),
        focus=job.focus,
        extractive_only=bool(job.extra.get("extractive_only")),
        by_hand=job.kind is JobKind.MANUAL,
    )


def make_plan(snapshot: Snapshot, wishes: Wishes, *, keep_tokens: int, rule: CutRule) -> Plan:
    """Where to cut. Raises `Nothing` with the reason when there is nothing to do."""
    current = snapshot.base.upto
    if wishes.start is not None and wishes.start < current:
        raise Nothing("from_already_covered")
    if wishes.upto is not None and wishes.upto <= current:
        raise Nothing("upto_already_covered")
    if wishes.start is not None and wishes.start >= snapshot.view.length:
        raise Nothing("from_beyond_the_end")
    start = current if wishes.start is None else _nearest_safe(snapshot, wishes.start)
    upto, turn_start = _upto(snapshot, wishes, max(start, current), keep_tokens, rule)
    if turn_start is not None and turn_start < start:
        turn_start = None
    made_from = snapshot.made_from if wishes.start is None else start
    return Plan(upto=upto, summary_from=made_from, keeps_base=wishes.start is not None, turn_start=turn_start)


def _upto(
    snapshot: Snapshot, wishes: Wishes, at_least: int, keep_tokens: int, rule: CutRule
) -> tuple[int, int | None]:
    if wishes.upto is not None:
        upto = _nearest_safe(snapshot, min(wishes.upto, snapshot.view.length))
        if upto <= at_least:
            raise Nothing("no_safe_cut")
        return upto, None
    tail = snapshot.between(snapshot.base.upto, snapshot.view.length)
    # What shortening saves is known at the adoption only; until then the gates count the whole text (ADR 12).
    counted = rule.without_shortening()
    cut = plan_cut(
        snapshot.format,
        tail,
        keep_tokens=keep_tokens,
        at_least=at_least,
        rule=counted,
        by_hand=wishes.by_hand,
    )
    if isinstance(cut, Skip):
        raise Nothing(str(cut.reason))
    return cut.upto, cut.turn_start


def _nearest_safe(snapshot: Snapshot, wanted: int) -> int:
    """The last safe place at or before `wanted`, never before the base."""
    first = snapshot.base.upto
    tail = snapshot.between(first, snapshot.view.length)
    safe = (first + place for place in safe_cuts(snapshot.format, tail))
    return max((place for place in safe if place <= wanted), default=first)


def _whole(extra: Mapping[str, Any], name: str) -> int | None:
    value = extra.get(name)
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
