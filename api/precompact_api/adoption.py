"""Adoption: read and judge outside, then one compare-and-set in the store (design rules 7, 8, 10 to 13)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import msgspec

from precompact_api.auth import Caller
from precompact_api.clearing import CLEARING, add_edits, joined, read_held, with_cleared
from precompact_api.frozen import freeze, read_candidate, read_frozen
from precompact_api.problems import refusal
from precompact_api.service import Service
from precompact_api.shortening import shorten_tail
from precompact_api.validation import is_sendable
from precompact_shared.engine.gates import Action, Circumstances, Discard, Mode, judge, mode_of
from precompact_shared.engine.identity import canonical, digest
from precompact_shared.engine.native import family_of, instructions_digest
from precompact_shared.engine.preset import Limits, load_preset
from precompact_shared.engine.projection import has_open_thinking_loop, tail_edits
from precompact_shared.engine.types import Edit, Entry, Format
from precompact_shared.store import codec, reading
from precompact_shared.store.types import Answer, CandidateTag, CheckpointTag, JobKind, SessionView, Slot

NATIVE = "native"
ADOPTED = "adopted"
TRIES = 3
"""How often an adoption is tried again when only the length moved."""
CHUNK = 500


@dataclass(frozen=True, slots=True)
class Terms:
    """Under which an adoption is judged, apart from the session and the candidate."""

    caller: Caller
    limits: Limits
    window: int
    marks: Mapping[str, str] = field(default_factory=dict)
    is_prefix_unknown: bool = False
    """True: this very call names a prefix that is not on record; False: what is on record holds."""
    requested: bool = False
    overflow: bool = False
    wait_spent: bool = True
    follows: bool = False
    """True: an adoption goes on when the length moved; False: the caller's list would lack the new entries."""

    def mode(self, view: SessionView) -> Mode:
        """How near the limit the session is."""
        return mode_of(view.tokens, self.limits, requested=self.requested, overflow=self.overflow)

    def cache_cold(self, view: SessionView) -> bool:
        """Whether the prompt cache must have expired while nothing was appended (design rule 11)."""
        return view.gap_ms > 1000 * self.caller.tenant.policy.cache_ttl_s


@dataclass(frozen=True, slots=True)
class Attempt:
    """How an adoption went. `reason`: why it paid, or why there was none. `view` is the newest that was seen; `moved`: somebody else appended meanwhile."""

    adopted: bool
    reason: str
    view: SessionView
    record: CheckpointTag | None = None
    moved: bool = False


@dataclass(frozen=True, slots=True)
class _Tail:
    """The entries a candidate keeps."""

    entries: Sequence[Entry]
    edits: tuple[Edit, ...]
    open_thinking: bool


def open_candidates(view: SessionView, *, floors: bool) -> list[CandidateTag]:
    """Open candidates, the one that covers most first; manual before speculative."""
    fitting = [tag for tag in view.candidates if tag.state == "open" and (tag.slot is Slot.FLOOR) == floors]
    return sorted(fitting, key=lambda tag: (tag.slot is Slot.MANUAL, tag.upto, tag.created_ms), reverse=True)


async def adopt_best(service: Service, view: SessionView, terms: Terms, *, floors: bool = False) -> Attempt:
    """Adopts the first candidate that passes; else says why the last one did not."""
    attempt = Attempt(adopted=False, reason="no_candidate", view=view)
    for tag in open_candidates(view, floors=floors):
        attempt = await adopt(service, attempt.view, tag, terms)
        if attempt.adopted or attempt.moved:
            return attempt
    return attempt


async def adopt(service: Service, view: SessionView, tag: CandidateTag, terms: Terms) -> Attempt:
    """Judges one candidate and adopts it. When only the length moved, judges the new entries and tries again."""
    attempt = Attempt(adopted=False, reason="length_moved", view=view)
    for _ in range(TRIES):
        attempt = await _adopt_once(service, attempt.view, tag, terms)
        if not attempt.moved or not terms.follows:
            return attempt
    return attempt


async def _adopt_once(service: Service, view: SessionView, tag: CandidateTag, terms: Terms) -> Attempt:
    tail = await _read_tail(service, view, tag)
    verdict = judge(
        tag,
        view,
        preset=terms.caller.tenant.policy.rules,
        limits=terms.limits,
        window=terms.window,
        mode=terms.mode(view),
        circumstances=_circumstances(
            view, tag, tail, terms, same_instructions=await _same_instructions(service, view, tag, terms)
        ),
    )
    if verdict.action is Action.ADOPT:
        attempt = await _compare_and_set(service, view, tag, tail, terms)
        return replace(attempt, reason=verdict.reason.value) if attempt.reason == ADOPTED else attempt
    if verdict.action is Action.DISCARD:
        await service.run(service.ops(view.tenant, view.session).close(tag.cid, verdict.reason.value))
    return Attempt(adopted=False, reason=verdict.reason.value, view=view)


async def _same_instructions(
    service: Service, view: SessionView, tag: CandidateTag, terms: Terms
) -> bool | None:
    """Whether a block's system prompt and tools are still the session's (rule 7); None while they are not on record.

    Where the caller never told any, now or when the block was made, nobody can tell: the same.
    """
    if tag.kind != NATIVE or tag.instructions is None:
        return True
    if terms.is_prefix_unknown:
        return None
    raw = await service.read(reading.prefix(service.session(view.tenant, view.session)))
    return raw is None or instructions_digest(json.loads(raw)) == tag.instructions


def _circumstances(
    view: SessionView, tag: CandidateTag, tail: _Tail, terms: Terms, *, same_instructions: bool | None
) -> Circumstances:
    waited_for = [
        seq for seq, call in (*view.open, *view.dead) if terms.marks.get(call.partition(":")[2]) == "pending"
    ]
    return Circumstances(
        same_family=tag.kind != NATIVE or tag.family == family_of(view.model),
        same_instructions=same_instructions,
        open_call=any(seq < tag.upto for seq in waited_for),
        open_thinking=tail.open_thinking,
        cache_cold=terms.cache_cold(view),
        wait_spent=terms.wait_spent,
        manual_running=view.job is not None and view.job.is_live and view.job.kind is JobKind.MANUAL,
    )


async def _read_tail(service: Service, view: SessionView, tag: CandidateTag) -> _Tail:
    wire = Format(view.format)
    if wire is not Format.ANTHROPIC or tag.kind in {CLEARING, NATIVE}:
        return _Tail((), (), open_thinking=False)  # nothing of the tail is changed or looked at
    keys = service.session(view.tenant, view.session)
    entries: list[Entry] = []
    for start in range(tag.upto, view.length, CHUNK):
        seqs = range(start, min(start + CHUNK, view.length))
        bodies = await service.read(reading.bodies(keys, seqs))
        entries += [
            Entry(seq, msgspec.json.decode(body), 0)
            for seq, body in zip(seqs, bodies, strict=True)
            if body is not None
        ]
    return _Tail(entries, tail_edits(wire, entries), has_open_thinking_loop(wire, entries))


async def _compare_and_set(
    service: Service, view: SessionView, tag: CandidateTag, tail: _Tail, terms: Terms
) -> Attempt:
    keys = service.session(view.tenant, view.session)
    stored = await service.read(reading.candidate_body(keys, tag.cid))
    if stored is None:
        return Attempt(adopted=False, reason="superseded", view=view)
    held = await read_held(service, view)
    candidate = read_candidate(stored)
    if tag.kind == CLEARING:
        held = await add_edits(service, view, held, candidate)
        insert, edits, digests = held.frozen.insert, held.edits, held.digests
        native = held.frozen.native
    else:
        held = held.behind(tag.upto)
        if tag.kind != NATIVE:
            held = await shorten_tail(service, view, tag.upto, held, load_preset(tag.preset).cut)
        insert, edits = tuple(candidate.insert), joined(tail.edits, held.edits)
        native = candidate.native
        digests = {**_digests(view, tail, terms), **held.digests}
    policy, marks = terms.caller.tenant.policy, terms.marks
    if not await is_sendable(service, view, tag, insert=insert, edits=edits, marks=marks, policy=policy):
        await service.run(service.ops(view.tenant, view.session).close(tag.cid, Discard.INVALID.value))
        return Attempt(adopted=False, reason=Discard.INVALID.value, view=view)
    body = freeze(insert, tag.upto, edits, digests, held.saved, native=native)
    answer = await service.run(
        service.ops(view.tenant, view.session).adopt(
            tag.cid,
            version=view.version,
            length=view.length,
            record=with_cleared(record_of(tag, view), tag, view, held),
            body=codec.encode(body),
            forced=terms.wait_spent and terms.mode(view) not in (Mode.BELOW_LIMIT, Mode.REQUESTED),
        )
    )
    attempt = read_answer(answer)
    if answer.o == ADOPTED and attempt.record is not None:
        key = (view.tenant, view.session, view.incarnation, tag.cid)
        service.frozen.put(key, read_frozen(body), len(body))
    return attempt


def _digests(view: SessionView, tail: _Tail, terms: Terms) -> dict[int, str]:
    edited = {edit.seq for edit in tail.edits}
    wire, key = Format(view.format), terms.caller.tenant.digest_key
    return {
        entry.seq: digest(canonical(wire, entry.message), key)
        for entry in tail.entries
        if entry.seq in edited
    }


def record_of(tag: CandidateTag, view: SessionView) -> CheckpointTag:
    """What the chain will say of the candidate; number, times and reach are set by the store."""
    return CheckpointTag(
        cid=tag.cid,
        n=0,
        upto=tag.upto,
        through=tag.through,
        kind=tag.kind,
        adopted_version=view.version + 1,
        tokens_before=tag.tokens_before,
        tokens_after=tag.tokens_after,
        insert_tokens=tag.tokens_after,
        job=tag.job,
        preset=tag.preset,
        provider=tag.provider,
        coverage=tag.coverage,
        cost_usd=tag.cost_usd,
    )


def read_answer(answer: Answer) -> Attempt:
    """The attempt an answer of the store tells of. Raises Problem when the session is gone."""
    if answer.view is None:
        raise refusal(answer)
    if answer.o in {ADOPTED, "already"}:
        return Attempt(adopted=True, reason=answer.o, view=answer.view, record=answer.record)
    if answer.o == "length_moved":
        return Attempt(adopted=False, reason=answer.o, view=answer.view, moved=True)
    return Attempt(adopted=False, reason=answer.reason or answer.o, view=answer.view)
