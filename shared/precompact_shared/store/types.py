"""What the store answers: frozen values with the design's words. Times are milliseconds since 1970 (Redis TIME)."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec

from precompact_shared.engine.estimate.states import UNSAID


class Frozen(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Base of the store's values: immutable, JSON in and out."""


class Seen(msgspec.Struct, frozen=True):
    """The pair a caller last saw."""

    version: int
    length: int


class Usage(msgspec.Struct, frozen=True, omit_defaults=True):
    """A provider-reported prompt size with what it was measured on."""

    total: int
    version: int
    length: int
    model: str | None = None
    read: int = 0
    """Tokens of it that came from the provider's cache."""
    written: int = 0
    """Tokens of it that were written there."""
    output: int = UNSAID
    """Tokens of the reply, reasoning included."""
    reasoned: int = UNSAID
    """Of these, its reasoning."""
    server: bool = False
    """The reply used server-side tools: `total` sums up several passes and is no prompt's size."""


class Lesson(msgspec.Struct, frozen=True):
    """What a session has learned of its model's tokens: factors of its family's rates, and its reasoning."""

    f: tuple[float, float, float]
    leaves: float
    root: float


class AgentCache(msgspec.Struct, frozen=True, array_like=True):
    """What the agent's last valid usage said of its provider's prompt cache."""

    at_ms: int
    """When it was told."""
    prompt_tokens: int
    read_tokens: int
    written_tokens: int


class Load(msgspec.Struct, frozen=True, array_like=True):
    """What an entry weighs by the rates of the session's model (engine/estimate/masses.py, Mass)."""

    side: str
    """Who brought it: `r` the model, `u` the caller with a genuine user message, `g` the caller with anything else."""
    text: int = 0
    thinking: int = 0
    structure: int = 0
    sealed_chars: int = 0
    sealed: int = 0
    thoughts: int = 0


class NewEntry(msgspec.Struct, frozen=True):
    """An entry on its way into the store."""

    digest: str
    """Keyed digest of the canonical entry, 64 hex digits."""
    tokens: int
    body: bytes
    """Encoded body (see codec.py)."""
    pinned: bool = False
    role: str = "u"
    """`s` system, `u` user, `a` assistant, `t` results alone, `o` other."""
    calls: tuple[str, ...] = ()
    """`<kind>:<id>` of each call in it that needs a result of its own."""
    results: tuple[tuple[str, int], ...] = ()
    """`<kind>:<id>` and part index of each result in it; -1 when the whole entry is the result."""
    load: Load | None = None
    """None: all of its tokens are text, brought by whom the role says."""

    @property
    def weighed(self) -> Load:
        """Its load."""
        return self.load or Load(_SIDES.get(self.role, "g"), self.tokens, thoughts=int(self.role == "a"))


_SIDES = {"a": "r", "u": "u"}


class JobKind(StrEnum):
    """Why a job exists (design section 2)."""

    SPECULATIVE = "speculative"
    REFRESH = "refresh"
    IDLE = "idle"
    DUE = "due"
    OVERFLOW = "overflow"
    MANUAL = "manual"
    BRANCH = "branch"


class JobState(StrEnum):
    """Where a job stands (design rule 16)."""

    READY = "ready"
    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    DEAD = "dead"
    CANCELLED = "cancelled"


LIVE_STATES = frozenset({JobState.READY, JobState.QUEUED, JobState.RUNNING})


class Slot(StrEnum):
    """Which place a candidate takes: at most one open candidate a session in each."""

    SPECULATIVE = "speculative"
    MANUAL = "manual"
    FLOOR = "floor"


class CandidateTag(Frozen, frozen=True, kw_only=True, omit_defaults=True):
    """What a candidate may rely on, and what it would bring. Its text lies elsewhere."""

    cid: str
    version: int
    upto: int
    through: int = 0
    """Last edited seq + 1 for clearing, else 0."""
    prefix: str
    """Chain digest of `[0, through or upto)`."""
    base: str | None = None
    slot: Slot
    kind: str = "summary"
    family: str = ""
    """Native: the models that may read it."""
    instructions: str | None = None
    """Native: digest of the system prompt and tools that the block was made under; None = none on record."""
    preset: str
    preset_version: str
    tokens_before: int
    """Estimated tokens of what it replaces: the context up to `upto`."""
    tokens_after: int
    """Estimated tokens of its insert."""
    length_at_snapshot: int
    tokens_at_snapshot: int
    created_ms: int = 0
    provider: str
    coverage: float = 1.0
    cost_usd: float | None = 0.0
    """Of all calls made for it; None where a price is unknown."""
    job: str | None = None
    state: str = "open"
    reason: str | None = None

    @property
    def reach(self) -> int:
        """The place its digest and re-stamp tests speak of: `through` for clearing, else `upto`."""
        return self.through or self.upto


class JobTag(Frozen, frozen=True, kw_only=True, omit_defaults=True):
    """One record of the ledger."""

    jid: str
    version: int
    kind: JobKind
    state: JobState
    fence: int = 0
    attempt: int = 0
    urgency: int = 0
    base: str | None = None
    focus: str | None = None
    upto: int | None = None
    through: int = 0
    prefix: str | None = None
    basis: str | None = None
    """What its summary is made of: `originals:…`, or `previous:…` with the reason why."""
    deadline_ms: int = 0
    not_before_ms: int = 0
    hurried: bool = False
    """A limit was reached while it ran in the background: if this attempt fails, the next one waits for nothing."""
    lease_until_ms: int = 0
    created_ms: int = 0
    sent_ms: int = 0
    started_ms: int = 0
    ended_ms: int = 0
    reason: str | None = None
    extra: dict[str, Any] = {}
    asks: str | None = None
    """Id of the request that waits for the caller to run it (client-run)."""
    calls: list[dict[str, Any]] = []
    """Usage of every model call made for it, once per call id."""

    @property
    def is_live(self) -> bool:
        """Ready, queued or running."""
        return self.state in LIVE_STATES


class CheckpointTag(Frozen, frozen=True, kw_only=True, omit_defaults=True):
    """An adopted candidate in the chain."""

    cid: str
    n: int
    """Ordinal, from 1; never used twice in a session."""
    upto: int
    through: int = 0
    kind: str = "summary"
    adopted_version: int
    """The history_version after its adoption."""
    adopted_ms: int = 0
    tokens_before: int = 0
    tokens_after: int = 0
    insert_tokens: int = 0
    edit_limit: int | None = None
    """Edits at this seq and later no longer hold (a rewrite came below them)."""
    cleared: list[tuple[int, int]] = []
    """Cleared entries, rising: seq, and the tokens that clearing it saves. They are in `insert_tokens`, below 0 if need be."""
    sighted: int = 0
    """Texts of its edits may have seen entries before this one, also of edits that no longer hold."""
    job: str | None = None
    preset: str = ""
    provider: str = ""
    coverage: float = 1.0
    cost_usd: float | None = 0.0


class SessionView(Frozen, frozen=True, kw_only=True, omit_defaults=True):
    """A session as one script call saw it."""

    tenant: str
    session: str
    incarnation: int
    format: str
    version: int
    rewritten_at: int
    length: int
    head: str
    tokens: int
    history_tokens: int = 0
    model: str | None = None
    window: int | None = None
    max_output: int | None = None
    upto: int = 0
    checkpoint: str | None = None
    checkpoint_n: int = 0
    insert_tokens: int = 0
    cp_at: int = 0
    anchored: bool = False
    growth_tokens_per_s: float = 0.0
    last_at_ms: int = 0
    now_ms: int = 0
    open: list[tuple[int, str]] = []
    """Calls without a result that may still get one: seq and `<kind>:<id>`."""
    dead: list[tuple[int, str]] = []
    """Calls whose block closed without a result."""
    orphans: list[tuple[int, int]] = []
    """Results without a call: seq and part index (-1: the whole entry)."""
    candidates: list[CandidateTag] = []
    job: JobTag | None = None
    observed_limit: int | None = None
    entry_bytes: int = 0
    gap_ms: int = 0
    """Time between the newest append and the one before: what a prompt cache had to outlive."""
    overhead: int = 0
    """The part of reported sizes that no entry accounts for: system text, tools."""
    context_tokens: int = 0
    """Our own estimate of insert and tail, without the overhead."""
    parent: str | None = None
    spread: int | None = None
    """Nine times in ten `tokens` is no farther off. None: unknown, since nothing valid was reported."""
    lesson: Lesson | None = None
    """Set by the one call with which the session has learned enough to tell its tenant."""
    agent_cache: AgentCache | None = None
    """None where nothing valid was reported of this context: the prefix may be anywhere."""


class Answer(Frozen, frozen=True, kw_only=True, omit_defaults=True):
    """What a session script answered: an outcome word and the facts that go with it."""

    o: str
    view: SessionView | None = None
    appended: int = 0
    at: int = 0
    common: int = 0
    version: int = 0
    length: int = 0
    head: str = ""
    rewritten_at: int = 0
    rewound: bool = False
    replayed: bool = False
    popped: int = 0
    newest: int = 0
    jid: str | None = None
    kind: str | None = None
    job: JobTag | None = None
    base: CandidateTag | None = None
    record: CheckpointTag | None = None
    reason: str | None = None
    deadline_ms: int = 0
    delay_ms: int = 0
