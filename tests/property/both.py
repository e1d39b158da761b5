"""Every operation on the real store and on the pure twin at once: answers and states must be equal after each."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from precompact_shared.engine import versions as twin
from precompact_shared.engine.versions import values
from precompact_shared.store.executor import SyncStore
from precompact_shared.store.keys import SessionKeys
from precompact_shared.store.op import Op
from precompact_shared.store.ops import Announcement, Changes, ClaimSpec, Create, Limits, SessionOps
from precompact_shared.store.types import (
    Answer,
    CandidateTag,
    CheckpointTag,
    JobKind,
    JobTag,
    NewEntry,
    Seen,
    SessionView,
    Slot,
)
from tests.property.facts import Facts, read_ops, to_facts

START_MS = 1_700_000_000_000
LEASE_MS = 30_000
RESEND_MS = 30_000
ATTEMPTS = 4

_ANSWER = (
    "o",
    "reason",
    "appended",
    "at",
    "common",
    "rewound",
    "replayed",
    "popped",
    "newest",
    "jid",
    "deadline_ms",
)
_VIEW = tuple(
    f.name for f in fields(values.View) if f.name not in {"candidates", "job", "open", "dead", "orphans"}
)
_JOB = tuple(f.name for f in fields(values.Job) if f.name not in {"lease_until_ms", "ended_ms"})
_CANDIDATE = tuple(f.name for f in fields(values.Candidate))


class Differs(AssertionError):
    """The store and the twin disagree, or an invariant does not hold."""


def made_entry(text: str, role: str = "u", tokens: int = 10, **facts: Any) -> NewEntry:
    """An entry whose body and digest come from `text` alone."""
    digest = hashlib.sha256(text.encode()).hexdigest()
    return NewEntry(digest=digest, tokens=tokens, body=b"r" + text.encode(), role=role, **facts)


def body_of(digests: Iterable[str]) -> bytes:
    """The body of a candidate in these tests: what it was made from, entry by entry."""
    return b"r" + ",".join(digest[:12] for digest in digests).encode()


@dataclass
class Both:
    """One session on both sides. `now_ms` is the clock; `steps` tells what happened, for the failure message."""

    store: SyncStore
    keys: SessionKeys
    now_ms: int = START_MS
    state: twin.Known = None
    facts: Facts = field(default_factory=Facts)
    steps: list[str] = field(default_factory=list)
    strict: bool = True

    # ---------------------------------------------------------------- history
    def create(self, format: str = "openai-responses", *, recreate: bool = False, **spec: Any) -> Answer:  # noqa: A002
        """Makes the session, or revives it."""
        return self._play(
            self._ops.create(Create(format, **spec), recreate=recreate),
            lambda: twin.create(self.state, values.Spec(format, **spec), self.now_ms, recreate=recreate),
        )

    def append(
        self,
        entries: Sequence[NewEntry] = (),
        *,
        seen: Seen | None = None,
        pos: int | None = None,
        create: Create | None = None,
        key: str | None = None,
        changes: Changes | None = None,
        limits: Limits | None = None,
    ) -> Answer:
        """Adds entries."""
        spec = values.Spec(create.format, create.model, create.window, create.max_output) if create else None
        return self._play(
            self._ops.append(
                entries, seen=seen, pos=pos, create=create, key=key, changes=changes, limits=limits
            ),
            lambda: twin.append(
                self.state,
                _entries(entries),
                self.now_ms,
                seen=_seen(seen),
                pos=pos,
                create=spec,
                key=key,
                changes=_changes(changes),
                limits=_limits(limits),
            ),
        )

    def sync(
        self,
        entries: Sequence[NewEntry],
        *,
        seen: Seen,
        req: str,
        heal: bool = False,
        changes: Changes | None = None,
        limits: Limits | None = None,
    ) -> Answer:
        """Sends a whole list."""
        return self._play(
            self._ops.sync(entries, seen=seen, req=req, heal=heal, changes=changes, limits=limits),
            lambda: twin.sync(
                self.state,
                _entries(entries),
                self.now_ms,
                seen=_seen(seen) or values.Seen(0, 0),
                req=req,
                heal=heal,
                changes=_changes(changes),
                limits=_limits(limits),
            ),
        )

    def rewind(self, to: int, *, seen: Seen, req: str) -> Answer:
        """Removes the end."""
        at = values.Seen(seen.version, seen.length)
        return self._play(
            self._ops.rewind(to, seen=seen, req=req),
            lambda: twin.rewind(self.state, to, self.now_ms, seen=at, req=req),
        )

    def replace(self, seq: int, entry: NewEntry, *, seen: Seen, req: str) -> Answer:
        """Puts another entry in its place."""
        at = values.Seen(seen.version, seen.length)
        return self._play(
            self._ops.replace(seq, entry, seen=seen, req=req),
            lambda: twin.replaced(self.state, seq, _entries([entry])[0], self.now_ms, seen=at, req=req),
        )

    def redact(self, seqs: Sequence[int], *, seen: Seen, req: str) -> Answer:
        """Removes bodies for good."""
        at = values.Seen(seen.version, seen.length)
        return self._play(
            self._ops.redact([(seq, b"r[removed]", 3) for seq in sorted(seqs)], seen=seen, req=req),
            lambda: twin.redact(
                self.state, [(seq, len(b"r[removed]"), 3) for seq in seqs], self.now_ms, seen=at, req=req
            ),
        )

    def delete(self) -> Answer:
        """Deletes the session."""
        return self._play(self._ops.delete(), lambda: twin.delete(self.state))

    def handled(self, version: int, length: int) -> Answer:
        """Says that an event was decided on."""
        return self._play(
            self._ops.handled(version, length), lambda: twin.handled(self.state, version, length)
        )

    # ---------------------------------------------------------------- ledger
    def claim(
        self, jid: str, kind: str = "speculative", *, version: int | None = None, **wish: Any
    ) -> Answer:
        """Asks for a job."""
        at = wish.get("overflow_at")
        pure = {**wish, "overflow_at": _seen(at)}
        return self._play(
            self._ops.claim(version, ClaimSpec(jid=jid, kind=JobKind(kind), **wish)),
            lambda: twin.claim(self.state, version, values.Claim(jid=jid, kind=kind, **pure), self.now_ms),
        )

    def queued(self, jid: str) -> Answer:
        """Says that the message is on its way."""
        return self._play(self._ops.queued(jid), lambda: twin.queued(self.state, jid, self.now_ms))

    def start(self, jid: str, *, max_attempts: int = ATTEMPTS) -> Answer:
        """Takes the job."""
        return self._play(
            self._ops.start(jid, lease_ms=LEASE_MS, max_attempts=max_attempts),
            lambda: twin.start(self.state, jid, self.now_ms, lease_ms=LEASE_MS, max_attempts=max_attempts),
        )

    def beat(self, jid: str, fence: int, announce: Announcement | None = None) -> Answer:
        """Renews the lease, may announce the cut."""
        pure = (
            None
            if announce is None
            else values.Announcement(announce.upto, announce.prefix, announce.through)
        )
        return self._play(
            self._ops.beat(jid, fence, lease_ms=LEASE_MS, announce=announce),
            lambda: twin.beat(self.state, jid, fence, self.now_ms, lease_ms=LEASE_MS, announce=pure),
        )

    def put(
        self, jid: str, fence: int, tag: CandidateTag, source: Sequence[str], *, floor: bool = False
    ) -> Answer:
        """Stores a candidate made from `source`."""
        return self._play(
            self._ops.put(jid, fence, tag, body_of(source), floor=floor),
            lambda: twin.put(self.state, jid, fence, _candidate(tag), self.now_ms, floor=floor),
        )

    def finish(self, jid: str, fence: int, action: str, *, reason: str = "x", delay_ms: int = 0) -> Answer:
        """Ends an attempt."""
        facts: dict[str, Any] = {"reason": reason, "delay_ms": delay_ms, "max_attempts": ATTEMPTS}
        return self._play(
            self._ops.finish(jid, fence, action, **facts),
            lambda: twin.finish(self.state, jid, fence, action, self.now_ms, **facts),
        )

    def cancel(self, jid: str, reason: str = "x") -> Answer:
        """Ends a job."""
        return self._play(
            self._ops.cancel(jid, reason), lambda: twin.cancel(self.state, jid, reason, self.now_ms)
        )

    def due(self, jid: str) -> Answer:
        """Sweeps a job."""
        facts = {"resend_ms": RESEND_MS, "max_attempts": ATTEMPTS}
        return self._play(
            self._ops.due(jid, **facts), lambda: twin.due(self.state, jid, self.now_ms, **facts)
        )

    # ---------------------------------------------------------------- adoption
    def adopt(self, cid: str, *, version: int, length: int, forced: bool = False) -> Answer:
        """Adopts a candidate, freezing the text it was stored with."""
        tag = self.facts.tags.get(cid)
        tokens = tag.tokens_after if tag else 1
        record = CheckpointTag(cid=cid, n=0, upto=0, adopted_version=0, insert_tokens=tokens)
        body = self.facts.texts.get(cid, b"r")
        return self._play(
            self._ops.adopt(cid, version=version, length=length, record=record, body=body, forced=forced),
            lambda: twin.adopt(
                self.state,
                cid,
                self.now_ms,
                version=version,
                length=length,
                insert_tokens=tokens,
                forced=forced,
            ),
        )

    def revert(self, n: int, *, req: str) -> Answer:
        """Goes back one checkpoint."""
        return self._play(
            self._ops.revert(n, req=req), lambda: twin.revert(self.state, n, self.now_ms, req=req)
        )

    def close(self, cid: str, reason: str = "declined") -> Answer:
        """Discards a candidate."""
        return self._play(
            self._ops.close(cid, reason), lambda: twin.close(self.state, cid, reason, self.now_ms)
        )

    # ---------------------------------------------------------------- forks
    def fork_open(self, source: str, format: str = "openai-responses") -> Answer:  # noqa: A002
        """Begins a copy."""
        return self._play(
            self._ops.fork_open(Create(format), source),
            lambda: twin.fork_open(self.state, values.Spec(format), source, self.now_ms),
        )

    def fork_copy(self, at: int, entries: Sequence[NewEntry]) -> Answer:
        """Copies entries."""
        return self._play(
            self._ops.fork_copy(at, entries),
            lambda: twin.fork_copy(self.state, at, _entries(entries), self.now_ms),
        )

    def fork_publish(
        self, length: int, points: Sequence[tuple[CheckpointTag, CandidateTag, bytes, bytes]] = ()
    ) -> Answer:
        """Makes the copy visible."""
        pure = [(_checkpoint(tag), _candidate(candidate)) for tag, candidate, _, _ in points]
        return self._play(
            self._ops.fork_publish(length, points), lambda: twin.fork_publish(self.state, length, pure)
        )

    # ---------------------------------------------------------------- comparing
    @property
    def _ops(self) -> SessionOps:
        return SessionOps(self.keys, self.now_ms)

    def _play(self, op: Op[Answer], pure: Any) -> Answer:
        answer, *raw = self.store.run_all([op, *read_ops(self._ops)])
        self.facts = to_facts(raw)
        self.state, outcome = pure()
        self.steps.append(
            f"{op.script}{_readable(op)} -> {answer.o}{f' ({answer.reason})' if answer.reason else ''}"
        )
        if self.strict:
            same_answer(answer, outcome)
            same_state(self.facts, self.state)
        return answer  # type: ignore[no-any-return]

    @property
    def view(self) -> SessionView:
        """The real session's view. Fails when there is no session to see."""
        if self.facts.view is None:
            raise Differs("no session")
        return self.facts.view

    @property
    def seen(self) -> Seen:
        """What a caller who has just looked has seen."""
        return Seen(self.view.version, self.view.length)


def _readable(op: Op[Answer]) -> str:
    shown = (arg.decode("utf-8", "replace") if isinstance(arg, bytes) else str(arg) for arg in op.args[3:15])
    return "(" + ", ".join(arg[:10] if len(arg) == 64 else arg[:150] for arg in shown) + ")"


def same_answer(answer: Answer, outcome: values.Outcome) -> None:
    """Outcome word, reason, numbers and, where both tell it, the job or record."""
    for name in _ANSWER:
        _equal(f"answer.{name}", getattr(answer, name), getattr(outcome, name))
    if (outcome.version, outcome.length) != (0, 0):
        _equal("answer.version", answer.version, outcome.version)
        _equal("answer.length", answer.length, outcome.length)
    if outcome.job:
        _same_job("answer.job", answer.job, outcome.job)
    if outcome.record:
        _equal(
            "answer.record",
            answer.record and (answer.record.cid, answer.record.n),
            (outcome.record.cid, outcome.record.n),
        )
    if outcome.o == "started":
        _equal("answer.base", answer.base and answer.base.cid, outcome.base and outcome.base.cid)
    if answer.view and outcome.view:
        _same_view("answer.view", answer.view, outcome.view)


def same_state(facts: Facts, state: twin.Known) -> None:
    """The whole session: view, entries, chain of checkpoints, candidates, ledger."""
    if not isinstance(state, twin.Session) or not state.visible:
        _equal("exists", facts.view, None)
        return
    if facts.view is None:
        raise Differs("the twin has a session, the store has none")
    _same_view("view", facts.view, twin.view(state))
    _equal("digests", [meta.digest for meta in facts.metas], [entry.digest for entry in state.entries])
    _equal("pinned", [meta.pinned for meta in facts.metas], [entry.pinned for entry in state.entries])
    _equal("redacted", [meta.redacted for meta in facts.metas], [entry.redacted for entry in state.entries])
    _equal("chain", [_point(tag) for tag in facts.chain], [_pure_point(point) for point in state.checkpoints])
    for cid, tag in facts.tags.items():
        known = state.candidate(cid)
        if known is None:
            raise Differs(f"the store knows a candidate {cid} that the twin does not")
        _equal(f"candidate {cid}", (tag.state, tag.reason), (known.state, known.reason))
    for job in facts.jobs:
        pure = state.job(job.jid)
        _equal(
            f"job {job.jid}",
            (job.state, job.reason, job.fence),
            pure and (pure.state, pure.reason, pure.fence),
        )
    _equal("unhandled", facts.unhandled, state.unhandled)


def _point(tag: CheckpointTag) -> tuple[Any, ...]:
    end = tag.through if tag.edit_limit is None else min(tag.through, tag.edit_limit)
    return (tag.cid, tag.n, tag.upto, end, tag.kind, tag.adopted_version)


def _pure_point(point: values.Checkpoint) -> tuple[Any, ...]:
    return (point.cid, point.n, point.upto, point.edits_end, point.kind, point.adopted_version)


def _same_view(where: str, real: SessionView, pure: values.View) -> None:
    for name in _VIEW:
        _equal(f"{where}.{name}", getattr(real, name), getattr(pure, name))
    for name in ("open", "dead", "orphans"):
        _equal(f"{where}.{name}", sorted(tuple(x) for x in getattr(real, name)), sorted(getattr(pure, name)))
    _equal(f"{where}.candidates", [c.cid for c in real.candidates], [c.cid for c in pure.candidates])
    for tag, candidate in zip(real.candidates, pure.candidates, strict=True):
        for name in _CANDIDATE:
            _equal(f"{where}.{tag.cid}.{name}", getattr(tag, name), getattr(candidate, name))
    _same_job(f"{where}.job", real.job, pure.job)


def _same_job(where: str, real: JobTag | None, pure: values.Job | None) -> None:
    if real is None or pure is None:
        _equal(where, real and real.jid, pure and pure.jid)
        return
    for name in _JOB:
        _equal(f"{where}.{name}", getattr(real, name), getattr(pure, name))
    if pure.state is values.State.RUNNING:
        _equal(f"{where}.lease_until_ms", real.lease_until_ms, pure.lease_until_ms)


def _equal(what: str, real: object, pure: object) -> None:
    if real != pure:
        raise Differs(f"{what}: the store says {real!r}, the twin says {pure!r}")


def _seen(seen: Seen | None) -> values.Seen | None:
    return None if seen is None else values.Seen(seen.version, seen.length)


def _changes(changes: Changes | None) -> values.Changes | None:
    if changes is None:
        return None
    usage = changes.usage
    pure = None if usage is None else values.Usage(usage.total, usage.version, usage.length, usage.model)
    return values.Changes(pure, changes.model, changes.window, changes.max_output, changes.overflow)


def _limits(limits: Limits | None) -> values.Limits | None:
    return None if limits is None else values.Limits(limits.entries, limits.bytes)


def _entries(entries: Iterable[NewEntry]) -> tuple[values.Entry, ...]:
    return tuple(
        values.Entry(e.digest, e.tokens, len(e.body), e.role, e.pinned, e.calls, e.results) for e in entries
    )


def _candidate(tag: CandidateTag) -> values.Candidate:
    return values.Candidate(**{name: getattr(tag, name) for name in _CANDIDATE})


def _checkpoint(tag: CheckpointTag) -> values.Checkpoint:
    return values.Checkpoint(**{f.name: getattr(tag, f.name) for f in fields(values.Checkpoint)})


def candidate_tag(cid: str, upto: int, prefix: str, **facts: Any) -> CandidateTag:
    """A tag as a worker would write it; what the store fills in itself is left at nonsense on purpose."""
    known: dict[str, Any] = {
        "version": 999,
        "slot": Slot.SPECULATIVE,
        "preset": "precompact",
        "preset_version": "1",
        "tokens_before": 100,
        "tokens_after": 20,
        "length_at_snapshot": upto,
        "tokens_at_snapshot": 100,
        "provider": "scripted",
    }
    return CandidateTag(cid=cid, upto=upto, prefix=prefix, **{**known, **facts})


def told(both: Both) -> str:
    """The history so far, for a failure."""
    return "\n".join(f"  {n:3} {step}" for n, step in enumerate(both.steps))


__all__ = ["ATTEMPTS", "Both", "Differs", "asdict", "candidate_tag", "made_entry", "told"]
