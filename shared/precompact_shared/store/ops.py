"""Every transition of a session, as an `Op`. The rules are those of design section 5; see README.md beside this file.

`SessionOps` holds one method per script in lua/. `now_ms` overrides Redis TIME, in tests and simulation only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from precompact_shared.store.calibration import start_of
from precompact_shared.store.keys import SessionKeys
from precompact_shared.store.op import Argument, Op
from precompact_shared.store.types import Answer, CandidateTag, CheckpointTag, JobKind, NewEntry, Seen, Usage

_json = msgspec.json.encode
_answer = msgspec.json.Decoder(Answer).decode

PER_ENTRY = 7
"""ARGV values per entry: digest, tokens, role, pinned, links, load, body."""


class Create(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a session is made with."""

    format: str
    model: str | None = None
    window: int | None = None
    max_output: int | None = None
    parent: str | None = None


class Changes(msgspec.Struct, frozen=True, omit_defaults=True):
    """Facts about the session that a call may bring along."""

    usage: Usage | None = None
    model: str | None = None
    window: int | None = None
    max_output: int | None = None
    overflow: bool = False


class Limits(msgspec.Struct, frozen=True):
    """How large a session may get."""

    entries: int = 200_000
    bytes: int = 512 * 1024 * 1024


class ClaimSpec(msgspec.Struct, frozen=True, omit_defaults=True):
    """A wish for a job."""

    jid: str
    kind: JobKind
    urgency: int = 0
    """Predicted milliseconds until the limit; smaller is sooner."""
    base: str | None = None
    focus: str | None = None
    deadline_ms: int = 120_000
    """Milliseconds from the claim until waiters give up on it."""
    overflow_at: Seen | None = None
    extra: dict[str, Any] = {}


class Announcement(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where a running job will cut."""

    upto: int
    prefix: str
    through: int = 0
    basis: str = ""
    """What its summary will be made of, and why: a word of the engine's."""


def _packed(entries: Sequence[NewEntry]) -> list[Argument]:
    packed: list[Argument] = []
    for entry in entries:
        load = packed_load(entry.weighed)
        packed += (entry.digest, entry.tokens, entry.role, int(entry.pinned), _links(entry), load, entry.body)
    return packed


packed_load = msgspec.msgpack.Encoder().encode
"""A load as lib/entries.lua reads it."""


def _links(entry: NewEntry) -> bytes | str:
    if not entry.calls and not entry.results:
        return ""
    links: dict[str, Any] = {}
    if entry.calls:
        links["c"] = entry.calls
    if entry.results:
        links["r"] = entry.results
    return _json(links)


def _start(spec: Create | None) -> bytes:
    return b"" if spec is None else start_of(spec.format, spec.model)


def _seen(seen: Seen | None) -> tuple[Argument, Argument]:
    return ("", "") if seen is None else (seen.version, seen.length)


@dataclass(frozen=True, slots=True)
class SessionOps:
    """The operations on one session."""

    keys: SessionKeys
    now_ms: int | None = None

    def _op(self, script: str, *args: Argument) -> Op[Answer]:
        now: Argument = "" if self.now_ms is None else self.now_ms
        names: tuple[Argument, ...] = (now, self.keys.tenant, self.keys.session)
        return Op(script, self.keys.all, names + args, _answer)

    def view(self) -> Op[Answer]:
        """`ok` with the session as it stands, `not_found` or `gone`."""
        return self._op("view")

    def create(self, spec: Create, *, recreate: bool = False, start: bytes = b"") -> Op[Answer]:
        """`created`, `exists`, `format_fixed`, or `gone` unless `recreate` (rule 19).

        `start`: where its calibration begins (calibration.py); by default where its model's family does.
        """
        return self._op("create", _json(spec), int(recreate), start or _start(spec))

    def append(
        self,
        entries: Sequence[NewEntry],
        *,
        seen: Seen | None,
        pos: int | None = None,
        create: Create | None = None,
        key: str | None = None,
        changes: Changes | None = None,
        limits: Limits | None = None,
        start: bytes = b"",
    ) -> Op[Answer]:
        """Adds what is new of `entries`, which stand from `pos` (default: `seen.length`, else the end) (rules 1, 2).

        `ok` {view, appended, at}: `at` = pos + len(entries). Refusals: `not_found`, `gone`, `format_fixed`,
        `key_required`, `regressed`, `rewritten`, `gap`, `diverged` {common}, `session_full`: nothing is stored then.
        `start`: where the calibration of a new session, or of another model, begins.
        """
        if pos is None:
            pos = -1 if seen is None else seen.length
        return self._op(
            "append",
            *_seen(seen),
            pos,
            _json(create) if create else "",
            key or "",
            _json(changes or Changes()),
            _json(limits or Limits()),
            start or _start(create),
            len(entries),
            *_packed(entries),
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
    ) -> Op[Answer]:
        """The whole list of a caller that keeps all it ever had: appends, or rewinds to the common part first.

        `ok` {view, appended, rewound, at}; `unseen_end` when it would remove what the caller has not seen; `heal`
        is allowed only when the caller is ahead of a store that lost its last second (`regressed` otherwise).
        """
        tail = (_json(changes or Changes()), _json(limits or Limits()), start, len(entries))
        return self._op("sync", *_seen(seen), req, int(heal), *tail, *_packed(entries))

    def rewind(self, to: int, *, seen: Seen, req: str) -> Op[Answer]:
        """Removes `[to, length)` into the archive: `ok` {view, version, length, popped} or a refusal."""
        return self._op("rewind", *_seen(seen), req, to)

    def replace(self, seq: int, entry: NewEntry, *, seen: Seen, req: str) -> Op[Answer]:
        """Puts another entry at `seq`; later entries stay."""
        return self._op("replace", *_seen(seen), req, seq, *_packed([entry]))

    def redact(self, bodies: Sequence[tuple[int, NewEntry]], *, seen: Seen, req: str) -> Op[Answer]:
        """Puts what weighs and reads otherwise in place for good; digests stay: an old list still matches (rule 21)."""
        packed: list[Argument] = []
        for seq, entry in bodies:
            packed += (seq, entry.body, entry.tokens, packed_load(entry.weighed))
        return self._op("redact", *_seen(seen), req, len(bodies), *packed)

    def claim(self, version: int | None, spec: ClaimSpec) -> Op[Answer]:
        """A job, if none is in the way (rules 6, 16, 17): `claimed`, `joined`, `in_flight`, `version_changed`, ..."""
        return self._op("claim", "" if version is None else version, _json(spec))

    def queued(self, jid: str) -> Op[Answer]:
        """The message is on its way: ready -> queued. A resend is no attempt."""
        return self._op("queued", jid)

    def start(self, jid: str, *, lease_ms: int, max_attempts: int) -> Op[Answer]:
        """A worker takes the job: `started` {job, view, base} with a new fence, or `skip` {reason}."""
        return self._op("start", jid, lease_ms, max_attempts)

    def beat(
        self,
        jid: str,
        fence: int,
        *,
        lease_ms: int,
        announce: Announcement | None = None,
        calls: Sequence[Any] = (),
    ) -> Op[Answer]:
        """Renews the lease, may announce the cut, notes calls (`begun` ones too): `ok` {deadline_ms} or `lost` {reason}."""
        return self._op("beat", jid, fence, lease_ms, _json(announce) if announce else "", _json(list(calls)))

    def put(
        self,
        jid: str,
        fence: int,
        tag: CandidateTag,
        body: bytes,
        *,
        floor: bool = False,
        calls: Sequence[Any] = (),
    ) -> Op[Answer]:
        """Stores a candidate: `stored`, `refused` {reason} (the job ends) or `lost` {reason}."""
        return self._op("put", jid, fence, int(floor), _json(tag), body, _json(list(calls)))

    def finish(
        self,
        jid: str,
        fence: int,
        action: str,
        *,
        reason: str,
        delay_ms: int = 0,
        max_attempts: int,
        calls: Sequence[Any] = (),
    ) -> Op[Answer]:
        """Ends an attempt: `retry` (back to ready after a delay), `dead`, `skip`, or `release` (drain, no attempt spent)."""
        return self._op("finish", jid, fence, action, delay_ms, reason, max_attempts, _json(list(calls)))

    def offer(self, jid: str, fence: int, request_id: str, request: bytes) -> Op[Answer]:
        """Lays out a request for the job's caller to run: `ok` {kind: new | known} or `lost` {reason}."""
        return self._op("offer", jid, fence, request_id, request)

    def deliver(self, jid: str, request_id: str, reply: bytes) -> Op[Answer]:
        """The caller's reply to that request: `ok`, or `skip` {reason: unknown | not_live | other_request}."""
        return self._op("deliver", jid, request_id, reply)

    def keep_prefix(self, digest: str, content: bytes) -> Op[Answer]:
        """Keeps what stands in front of the messages in the caller's requests: `ok`."""
        return self._op("keep_prefix", digest, content)

    def cancel(self, jid: str, reason: str) -> Op[Answer]:
        """Closes a live job: `cancelled` or `skip`."""
        return self._op("cancel", jid, reason)

    def adopt(
        self, cid: str, *, version: int, length: int, record: CheckpointTag, body: bytes, forced: bool = False
    ) -> Op[Answer]:
        """Compare-and-set on (version, length, candidate) (rule 10): `adopted`, `already`, `length_moved`, `refused`, `deferred`."""
        return self._op("adopt", version, length, cid, _json(record), body, int(forced))

    def revert(self, n: int, *, req: str) -> Op[Answer]:
        """Back one checkpoint; `n` must be the newest (rule 15): `reverted` or `not_newest` {newest}."""
        return self._op("revert", n, req)

    def close(self, cid: str, reason: str) -> Op[Answer]:
        """Discards an open candidate for good: `closed` or `not_open` {reason}."""
        return self._op("close", cid, reason)

    def delete(self) -> Op[Answer]:
        """Removes every key of the session and leaves a tombstone: `deleted`, `not_found`, `gone`."""
        return self._op("delete")

    def handled(self, version: int, length: int, decision: bytes | None = None) -> Op[Answer]:
        """Clears the unhandled mark if (version, length) is still the session's; keeps the decision (last 100)."""
        return self._op("handled", version, length, decision or b"")

    def due(self, jid: str, *, resend_ms: int, max_attempts: int) -> Op[Answer]:
        """What the sweeper must do with an open job: `send` {job}, `later`, `dead`, `gone`.

        `settle` {job}: it has ended, its worker must have stopped; count its calls for the tenant, then say `settled`.
        """
        return self._op("due", jid, resend_ms, max_attempts)

    def settled(self, jid: str) -> Op[int]:
        """An ended job's calls are counted: nobody looks at it again. 1, or 0 where somebody was quicker."""
        member = f"{self.keys.name}\n{jid}"
        return Op(None, (), ("ZREM", self.keys.shard.open_jobs, member), int)

    def fork_open(self, spec: Create, source: str, *, start: bytes = b"") -> Op[Answer]:
        """An invisible session to copy into: `opened`, `exists` (published already), `gone`."""
        return self._op("fork_open", _json(spec), source, start or _start(spec))

    def fork_copy(self, at: int, entries: Sequence[NewEntry], limits: Limits | None = None) -> Op[Answer]:
        """Writes entries `[at, at+n)` of an invisible session: `ok` or `published`/`gap`."""
        return self._op("fork_copy", at, _json(limits or Limits()), len(entries), *_packed(entries))

    def fork_publish(
        self, length: int, checkpoints: Sequence[tuple[CheckpointTag, CandidateTag, bytes, bytes]]
    ) -> Op[Answer]:
        """Makes the copy visible with its chain (tag, candidate, frozen context, candidate body), oldest first."""
        packed: list[Argument] = []
        for tag, candidate, frozen, body in checkpoints:
            packed += (_json(tag), _json(candidate), frozen, body)
        return self._op("fork_publish", length, len(checkpoints), *packed)
