"""What the rules speak of: entries, candidates, jobs, checkpoints, and what an operation answers. All frozen."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from precompact_shared.engine.estimate.loads import Side
from precompact_shared.engine.estimate.masses import Mass
from precompact_shared.engine.estimate.states import UNSAID
from precompact_shared.engine.estimate.states import State as Calibration


class State(StrEnum):
    """Where a job stands (rule 16)."""

    READY = "ready"
    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    DEAD = "dead"
    CANCELLED = "cancelled"


_UNTAUGHT, _NO_MASS = Calibration(), Mass()
LIVE = frozenset({State.READY, State.QUEUED, State.RUNNING})


@dataclass(frozen=True, slots=True)
class Seen:
    """The pair a caller last saw."""

    version: int
    length: int


@dataclass(frozen=True, slots=True)
class Usage:
    """A reported prompt size, and what it was measured on."""

    total: int
    version: int
    length: int
    model: str | None = None
    read: int = 0
    written: int = 0
    output: int = UNSAID
    reasoned: int = UNSAID
    server: bool = False
    """The reply used server-side tools: it is no base."""


@dataclass(frozen=True, slots=True)
class Changes:
    """Facts about the session that a call brings along."""

    usage: Usage | None = None
    model: str | None = None
    window: int | None = None
    max_output: int | None = None
    overflow: bool = False


@dataclass(frozen=True, slots=True)
class Start:
    """Where the calibration of a session, or of another model, begins."""

    counts_reasoning: bool = False
    state: Calibration = _UNTAUGHT


@dataclass(frozen=True, slots=True)
class Spec:
    """What a session is made with."""

    format: str
    model: str | None = None
    window: int | None = None
    max_output: int | None = None
    parent: str | None = None


@dataclass(frozen=True, slots=True)
class Limits:
    """How large a session may get."""

    entries: int = 200_000
    bytes: int = 512 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry without its content: an opaque digest and what the rules need."""

    digest: str
    tokens: int
    size: int = 0
    role: str = "u"
    pinned: bool = False
    calls: tuple[str, ...] = ()
    """`<kind>:<id>` of the calls in it."""
    results: tuple[tuple[str, int], ...] = ()
    """`<kind>:<id>` and part index of the results in it."""
    redacted: bool = False
    side: Side = Side.USER
    mass: Mass = _NO_MASS
    """What it weighs by the rates of the session's model."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A wish for a job."""

    jid: str
    kind: str
    urgency: int = 0
    base: str | None = None
    focus: str | None = None
    deadline_ms: int = 120_000
    overflow_at: Seen | None = None


@dataclass(frozen=True, slots=True)
class Announcement:
    """Where a running job will cut."""

    upto: int
    prefix: str
    through: int = 0

    @property
    def reach(self) -> int:
        """The place its digest speaks of."""
        return self.through or self.upto


@dataclass(frozen=True, slots=True)
class Candidate:
    """A prepared compaction; `state` is open, adopted or closed."""

    cid: str
    version: int
    upto: int
    prefix: str
    slot: str
    tokens_before: int
    tokens_after: int
    length_at_snapshot: int
    tokens_at_snapshot: int
    through: int = 0
    base: str | None = None
    kind: str = "summary"
    created_ms: int = 0
    job: str | None = None
    state: str = "open"
    reason: str | None = None

    @property
    def reach(self) -> int:
        """The place digest and re-stamp tests speak of: `through` for clearing, else `upto` (rule 7)."""
        return self.through or self.upto

    @property
    def is_open(self) -> bool:
        """Neither adopted nor closed."""
        return self.state == "open"


@dataclass(frozen=True, slots=True)
class Job:
    """One record of the ledger."""

    jid: str
    version: int
    kind: str
    state: State = State.READY
    fence: int = 0
    attempt: int = 0
    urgency: int = 0
    base: str | None = None
    focus: str | None = None
    upto: int | None = None
    through: int = 0
    prefix: str | None = None
    deadline_ms: int = 0
    not_before_ms: int = 0
    hurried: bool = False
    lease_until_ms: int = 0
    created_ms: int = 0
    sent_ms: int = 0
    started_ms: int = 0
    ended_ms: int = 0
    reason: str | None = None

    @property
    def is_live(self) -> bool:
        """Ready, queued or running."""
        return self.state in LIVE

    @property
    def reach(self) -> int | None:
        """The announced place, None without an announcement."""
        return None if self.upto is None else (self.through or self.upto)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """An adopted candidate in the chain."""

    cid: str
    n: int
    upto: int
    through: int = 0
    kind: str = "summary"
    adopted_version: int = 0
    adopted_ms: int = 0
    insert_tokens: int = 0
    edit_limit: int | None = None

    @property
    def edits_end(self) -> int:
        """Where its edits end now; 0 without edits."""
        return self.through if self.edit_limit is None else min(self.through, self.edit_limit)


@dataclass(frozen=True, slots=True)
class View:
    """A session as an operation shows it; the names are those of the store's view."""

    incarnation: int
    format: str
    version: int
    rewritten_at: int
    length: int
    head: str
    tokens: int
    history_tokens: int
    model: str | None
    window: int | None
    max_output: int | None
    parent: str | None
    upto: int
    checkpoint: str | None
    checkpoint_n: int
    insert_tokens: int
    cp_at: int
    anchored: bool
    last_at_ms: int
    open: tuple[tuple[int, str], ...]
    dead: tuple[tuple[int, str], ...]
    orphans: tuple[tuple[int, int], ...]
    candidates: tuple[Candidate, ...]
    job: Job | None
    observed_limit: int | None
    entry_bytes: int
    overhead: int
    context_tokens: int
    spread: int | None = None
    agent_cache: tuple[int, int, int, int] | None = None
    """When the last valid usage was told; its prompt, cache-read and cache-written tokens."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an operation answers: an outcome word and the facts that go with it."""

    o: str
    reason: str | None = None
    view: View | None = None
    appended: int = 0
    at: int = 0
    common: int = 0
    version: int = 0
    length: int = 0
    rewound: bool = False
    replayed: bool = False
    popped: int = 0
    newest: int = 0
    jid: str | None = None
    job: Job | None = None
    base: Candidate | None = None
    record: Checkpoint | None = None
    deadline_ms: int = 0
    closed: tuple[str, ...] = field(default=())
    """Candidates that the operation closed; for tests."""
