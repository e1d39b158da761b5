"""The state of one session id: absent, deleted, or a session. Frozen; operations return the next one."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce, wraps
from typing import Concatenate, ParamSpec, TypeAlias

from precompact_shared.engine.estimate import Size, Source, extend, forget, predict
from precompact_shared.engine.estimate.calibration import estimate
from precompact_shared.engine.estimate.loads import PieceOf
from precompact_shared.engine.estimate.masses import Mass
from precompact_shared.engine.estimate.predicting import whole
from precompact_shared.engine.estimate.spans import SpanOf
from precompact_shared.engine.estimate.weighing import NOTHING, Weighed
from precompact_shared.engine.versions.links import Links, links_of
from precompact_shared.engine.versions.values import (
    Candidate,
    Checkpoint,
    Entry,
    Job,
    Outcome,
    Seen,
    Start,
    View,
)

_UNTAUGHT = Start()
NO_ENTRIES = "0" * 40
"""Chain digest of an empty history."""


@dataclass(frozen=True, slots=True)
class Anchor:
    """The last usage that sizes are counted from."""

    total: int
    """Also the base of the session's state."""
    version: int
    length: int
    cache: tuple[int, int, int, int] = (0, 0, 0, 0)
    """When it was told; tokens of the prompt, read from the cache, written to it."""


@dataclass(frozen=True, slots=True)
class Remembered:
    """The last rewrite's request and answer (rule 12)."""

    req: str
    answer: Outcome


@dataclass(frozen=True, slots=True)
class Tombstone:
    """What a deleted session leaves."""

    version: int
    rewritten_at: int
    incarnation: int


@dataclass(frozen=True, slots=True)
class Session:
    """One conversation. `chain[n]` is the digest of `[0, n)`."""

    format: str
    incarnation: int = 0
    model: str | None = None
    window: int | None = None
    max_output: int | None = None
    parent: str | None = None
    version: int = 0
    rewritten_at: int = 0
    entries: tuple[Entry, ...] = ()
    chain: tuple[str, ...] = (NO_ENTRIES,)
    checkpoints: tuple[Checkpoint, ...] = ()
    cp_at: int = 0
    """The version since which the current checkpoint (or none) is what projects."""
    ordinal: int = 0
    """The last checkpoint number given."""
    candidates: tuple[Candidate, ...] = ()
    jobs: tuple[Job, ...] = ()
    start: Start = _UNTAUGHT
    """What it has learned of its model's tokens, and the base that sizes are counted from."""
    anchor: Anchor | None = None
    blind: bool = False
    """Since the anchor a reply used server-side tools: the next report teaches nothing."""
    overhead: int | None = None
    """What requests of this model hold beside the entries (system, tools)."""
    observed_limit: int | None = None
    overflow_at: Seen | None = None
    remembered: Remembered | None = None
    keys: tuple[tuple[str, Outcome], ...] = ()
    unhandled: bool = False
    visible: bool = True
    source: str | None = None
    last_at_ms: int = 0

    @property
    def length(self) -> int:
        """Number of entries."""
        return len(self.entries)

    @property
    def top(self) -> Checkpoint | None:
        """The current checkpoint."""
        return self.checkpoints[-1] if self.checkpoints else None

    @property
    def upto(self) -> int:
        """Where the current checkpoint ends, 0 without."""
        return self.checkpoints[-1].upto if self.checkpoints else 0

    @property
    def live(self) -> Job | None:
        """The one live job (rule 17)."""
        return next((job for job in reversed(self.jobs) if job.is_live), None)

    def job(self, jid: str) -> Job | None:
        """A ledger record."""
        return next((job for job in self.jobs if job.jid == jid), None)

    def candidate(self, cid: str) -> Candidate | None:
        """A candidate, open or not."""
        return next((candidate for candidate in self.candidates if candidate.cid == cid), None)

    def holds(self, reach: int, prefix: str | None) -> bool:
        """Whether `[0, reach)` still is what the digest says."""
        return reach <= self.length and self.chain[reach] == prefix

    def tokens_of(self, start: int, end: int) -> int:
        """Estimated tokens of entries `[start, end)`."""
        return sum(entry.tokens for entry in self.entries[start:end])

    @property
    def links(self) -> Links:
        """Open, dead and orphaned calls and results."""
        return links_of(self.format, self.entries)


Known: TypeAlias = Session | Tombstone | None
"""What an id may stand for."""

P = ParamSpec("P")


def on_session(
    operation: Callable[Concatenate[Session, P], tuple[Session, Outcome]],
) -> Callable[Concatenate[Known, P], tuple[Known, Outcome]]:
    """Refuses `gone` and `not_found` in front of an operation that needs a visible session."""

    @wraps(operation)
    def guarded(state: Known, /, *args: P.args, **kwargs: P.kwargs) -> tuple[Known, Outcome]:
        if isinstance(state, Tombstone):
            return state, Outcome("gone")
        if state is None or not state.visible:
            return state, Outcome("not_found")
        return operation(state, *args, **kwargs)

    return guarded


def chained(chain: tuple[str, ...], entries: tuple[Entry, ...]) -> tuple[str, ...]:
    """The chain digests with more entries behind."""
    grown = list(chain)
    for entry in entries:
        grown.append(hashlib.sha1((grown[-1] + entry.digest).encode(), usedforsecurity=False).hexdigest())
    return tuple(grown)


def with_job(session: Session, job: Job) -> Session:
    """The session with a ledger record put in its place."""
    return replace(session, jobs=tuple(job if old.jid == job.jid else old for old in session.jobs))


def with_candidate(session: Session, candidate: Candidate) -> Session:
    """The session with a candidate's tag put in its place."""
    found = tuple(candidate if old.cid == candidate.cid else old for old in session.candidates)
    return replace(session, candidates=found)


def touched(session: Session) -> Session:
    """An event was written: the decide step has not seen this state."""
    return replace(session, unhandled=True)


def grown(session: Session, fresh: tuple[Entry, ...], now_ms: int) -> Session:
    """The session with entries at its end; system and developer entries at the head are pinned."""
    if not fresh:
        return session
    entries = headed(session.entries + fresh)
    return replace(session, entries=entries, chain=chained(session.chain, fresh), last_at_ms=now_ms)


def headed(entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
    """The entries with system and developer entries at the head pinned."""
    head = next((seq for seq, entry in enumerate(entries) if entry.role != "s"), len(entries))
    if all(entry.pinned for entry in entries[:head]):
        return entries
    return tuple(replace(entry, pinned=True) for entry in entries[:head]) + entries[head:]


def size(session: Session) -> Size:
    """Tokens of the next request; without an anchor our own estimate, and how far off it is nobody knows."""
    if session.anchor:
        return predict(session.start.state, measures(session), span(session, session.length))
    tokens = (session.overhead or 0) + context_estimate(session, session.length)
    return Size(max(0, whole(tokens)), Source.ESTIMATED, None)


def measures(session: Session) -> Weighed:
    """What is known of the rates that the entries were weighed by."""
    return Weighed(session.start.counts_reasoning)


def span(session: Session, end: int) -> SpanOf[Mass]:
    """What came between the anchor and `end`."""
    start = session.anchor.length if session.anchor else 0
    pieces = (PieceOf(entry.side, entry.mass) for entry in session.entries[start:end])
    return reduce(extend, pieces, NOTHING)


def context_estimate(session: Session, end: int) -> float:
    """Insert and tail up to `end`, as the session has shown its tokens to be."""
    factors = session.start.state.factors
    insert = session.top.insert_tokens if session.top else 0
    tail = sum((entry.mass for entry in session.entries[session.upto : end]), Mass())
    return factors[0] * insert + estimate(factors, measures(session).parts(tail))


def unanchored(session: Session) -> Session:
    """No report is a base any more; what was learned stays."""
    if session.anchor is None:
        return session
    start = replace(session.start, state=forget(session.start.state, 0))
    return replace(session, start=start, anchor=None, blind=False)


def context_tokens(session: Session) -> int:
    """Estimated tokens of insert and tail."""
    insert = session.top.insert_tokens if session.top else 0
    return insert + session.tokens_of(session.upto, session.length)


def view(session: Session) -> View:
    """What answers show of a session."""
    top, links, sized = session.top, session.links, size(session)
    return View(
        incarnation=session.incarnation,
        format=session.format,
        version=session.version,
        rewritten_at=session.rewritten_at,
        length=session.length,
        head=session.chain[-1],
        tokens=sized.tokens,
        history_tokens=session.tokens_of(0, session.length),
        model=session.model,
        window=session.window,
        max_output=session.max_output,
        parent=session.parent,
        upto=session.upto,
        checkpoint=top.cid if top else None,
        checkpoint_n=top.n if top else 0,
        insert_tokens=top.insert_tokens if top else 0,
        cp_at=session.cp_at,
        anchored=session.anchor is not None,
        last_at_ms=session.last_at_ms,
        open=links.open,
        dead=links.dead,
        orphans=links.orphans,
        candidates=tuple(candidate for candidate in session.candidates if candidate.is_open),
        job=session.live,
        observed_limit=session.observed_limit,
        entry_bytes=sum(entry.size for entry in session.entries),
        overhead=session.overhead or 0,
        context_tokens=context_tokens(session),
        spread=sized.spread,
        agent_cache=session.anchor.cache if session.anchor else None,
    )


def shown(session: Session, o: str, **facts: object) -> tuple[Session, Outcome]:
    """An answer with the session's view."""
    return session, replace(Outcome(o, view=view(session)), **facts)  # type: ignore[arg-type]
