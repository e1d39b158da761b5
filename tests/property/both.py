"""Every operation on the real store and on the pure twin at once: answers and states must be equal after each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from precompact_shared.engine import versions as twin
from precompact_shared.engine.versions import values
from precompact_shared.store.calibration import start_of
from precompact_shared.store.executor import SyncStore
from precompact_shared.store.keys import SessionKeys
from precompact_shared.store.op import Argument, Op
from precompact_shared.store.ops import Announcement, Changes, ClaimSpec, Create, Limits, SessionOps
from precompact_shared.store.types import (
    Answer,
    CandidateTag,
    CheckpointTag,
    JobKind,
    NewEntry,
    Seen,
    SessionView,
)
from tests.property.compare import Differs, same_answer, same_state
from tests.property.facts import Facts, read_ops, to_facts
from tests.property.making import body_of
from tests.property.pure import (
    pure_candidate,
    pure_changes,
    pure_checkpoint,
    pure_entries,
    pure_limits,
    pure_seen,
    pure_start,
)

START_MS = 1_700_000_000_000
LEASE_MS = 30_000
RESEND_MS = 30_000
ATTEMPTS = 4
REMOVED = NewEntry("", 3, b"r[removed]")
"""What stands in a redacted entry's place."""


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
    attempts: int = ATTEMPTS

    # ---------------------------------------------------------------- history
    def create(self, format: str = "openai-responses", *, recreate: bool = False, **spec: Any) -> Answer:  # noqa: A002
        """Makes the session, or revives it."""
        start = start_of(format, spec.get("model"))
        return self._play(
            self._ops.create(Create(format, **spec), recreate=recreate),
            lambda: twin.create(
                self.state,
                values.Spec(format, **spec),
                self.now_ms,
                recreate=recreate,
                start=pure_start(start),
            ),
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
        start: bytes = b"",
    ) -> Answer:
        """Adds entries."""
        start = start or (start_of(create.format, create.model) if create else b"")
        spec = values.Spec(create.format, create.model, create.window, create.max_output) if create else None
        return self._play(
            self._ops.append(
                entries,
                seen=seen,
                pos=pos,
                create=create,
                key=key,
                changes=changes,
                limits=limits,
                start=start,
            ),
            lambda: twin.append(
                self.state,
                pure_entries(entries),
                self.now_ms,
                seen=pure_seen(seen),
                pos=pos,
                create=spec,
                key=key,
                changes=pure_changes(changes),
                limits=pure_limits(limits),
                start=pure_start(start),
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
        start: bytes = b"",
    ) -> Answer:
        """Sends a whole list."""
        return self._play(
            self._ops.sync(
                entries, seen=seen, req=req, heal=heal, changes=changes, limits=limits, start=start
            ),
            lambda: twin.sync(
                self.state,
                pure_entries(entries),
                self.now_ms,
                seen=pure_seen(seen) or values.Seen(0, 0),
                req=req,
                heal=heal,
                changes=pure_changes(changes),
                limits=pure_limits(limits),
                start=pure_start(start),
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
            lambda: twin.replaced(self.state, seq, pure_entries([entry])[0], self.now_ms, seen=at, req=req),
        )

    def redact(self, seqs: Sequence[int], *, seen: Seen, req: str) -> Answer:
        """Removes bodies for good."""
        at = values.Seen(seen.version, seen.length)
        return self._play(
            self._ops.redact([(seq, REMOVED) for seq in sorted(seqs)], seen=seen, req=req),
            lambda: twin.redact(
                self.state, [(seq, pure_entries([REMOVED])[0]) for seq in seqs], self.now_ms, seen=at, req=req
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
        pure = {**wish, "overflow_at": pure_seen(at)}
        return self._play(
            self._ops.claim(version, ClaimSpec(jid=jid, kind=JobKind(kind), **wish)),
            lambda: twin.claim(self.state, version, values.Claim(jid=jid, kind=kind, **pure), self.now_ms),
        )

    def queued(self, jid: str) -> Answer:
        """Says that the message is on its way."""
        return self._play(self._ops.queued(jid), lambda: twin.queued(self.state, jid, self.now_ms))

    def start(self, jid: str) -> Answer:
        """Takes the job."""
        return self._play(
            self._ops.start(jid, lease_ms=LEASE_MS, max_attempts=self.attempts),
            lambda: twin.start(self.state, jid, self.now_ms, lease_ms=LEASE_MS, max_attempts=self.attempts),
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
            lambda: twin.put(self.state, jid, fence, pure_candidate(tag), self.now_ms, floor=floor),
        )

    def finish(self, jid: str, fence: int, action: str, *, reason: str = "x", delay_ms: int = 0) -> Answer:
        """Ends an attempt."""
        facts: dict[str, Any] = {"reason": reason, "delay_ms": delay_ms, "max_attempts": self.attempts}
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
        facts = {"resend_ms": RESEND_MS, "max_attempts": self.attempts}
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
            lambda: twin.fork_open(
                self.state, values.Spec(format), source, self.now_ms, start=pure_start(start_of(format, None))
            ),
        )

    def fork_copy(self, at: int, entries: Sequence[NewEntry]) -> Answer:
        """Copies entries."""
        return self._play(
            self._ops.fork_copy(at, entries),
            lambda: twin.fork_copy(self.state, at, pure_entries(entries), self.now_ms),
        )

    def fork_publish(
        self, length: int, points: Sequence[tuple[CheckpointTag, CandidateTag, bytes, bytes]] = ()
    ) -> Answer:
        """Makes the copy visible."""
        pure = [(pure_checkpoint(tag), pure_candidate(candidate)) for tag, candidate, _, _ in points]
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
    shown = map(_shown, op.args[3:16])
    return "(" + ", ".join(arg[:10] if len(arg) == 64 else arg[:150] for arg in shown) + ")"


def _shown(arg: Argument) -> str:
    try:
        return arg.decode() if isinstance(arg, bytes) else str(arg)
    except UnicodeDecodeError:
        return "(packed)"


def told(both: Both) -> str:
    """The history so far, for a failure."""
    return "\n".join(f"  {n:3} {step}" for n, step in enumerate(both.steps))
