"""From a summary to a candidate: what would stand in place of the covered entries, and what it may rely on. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from msgspec import structs

from precompact_shared.engine.catalogue import Catalogue
from precompact_shared.engine.edits import apply_context
from precompact_shared.engine.preset import Preset
from precompact_shared.engine.projection import context_edits, pinned_entries, render_insert, repair_edits
from precompact_shared.engine.summary import Carried, Coverage, coverage, extract
from precompact_shared.engine.tokens import count_message, family_factor
from precompact_shared.engine.types import Entry, Format, Message
from precompact_shared.store import codec
from precompact_shared.store.types import CandidateTag, JobKind, JobTag, Slot
from precompact_worker.masking import mask_facts, mask_message
from precompact_worker.planning import Plan
from precompact_worker.providers.base import NativeReply
from precompact_worker.snapshot import Snapshot

LEAST_SUMMARY_TOKENS = 256
NATIVE = "native"
SUMMARY_SHARE_OF_COVERED = 0.5
"""A summary may be at most half of what it replaces, however much the policy allows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """What a summary is made from."""

    snapshot: Snapshot
    plan: Plan
    preset: Preset
    carried: Carried
    """Facts of all that is covered: kept with the candidate for the next generation."""
    told: Carried
    """Facts the summary itself tells; fewer where a manual run keeps entries in front of it."""
    head: Carried | None
    """Facts of the head of a turn that the cut divides; `told` ends in front of it. None for none."""
    tokens_before: int
    max_tokens: int

    @property
    def covered(self) -> tuple[Entry, ...]:
        """Entries that the summary is about."""
        return self.snapshot.between(self.plan.summary_from, self.plan.upto)


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A text that passed the checks, by whom, and with what it cost."""

    text: str
    provider: str
    calls: Sequence[Mapping[str, Any]] = ()
    """All that were made for the job, those of earlier attempts too."""
    seen_tokens: int | None = None
    """Of the covered entries' own tokens, how many the writer saw; None = all."""
    evidence: float = 1.0
    native: NativeReply | None = None
    instructions: str | None = None
    """Digest of what a block was made under, as far as it is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """Ready to be put: its tag, and its body as it is stored."""

    tag: CandidateTag
    body: bytes


def gather(
    snapshot: Snapshot,
    plan: Plan,
    preset: Preset,
    catalogue: Catalogue,
    *,
    max_tokens: int,
    masks: bool = False,
) -> Material:
    """Reads the facts off the covered entries, on top of what the base carries. O(covered entries).

    `masks`: the facts hold no secrets. They are cut to size and taken out of their lines, and nobody could tell later.
    """
    base = snapshot.base
    told_before = mask_facts(base.carried) if masks and base.carried else base.carried
    shown = _masked(snapshot, plan.upto) if masks else snapshot

    def facts(start: int, stop: int, previous: Carried | None) -> Carried:
        return extract(snapshot.format, shown.between(start, stop), previous, catalogue)

    carried = facts(base.read_from, plan.upto, told_before)
    told, head = carried, None
    if plan.turn_start is not None and preset.summary.split_sections:
        begins = max(plan.turn_start, base.read_from)
        head = facts(begins, plan.upto, None)
        told = facts(base.read_from, begins, told_before)
    if plan.keeps_base:
        told = facts(plan.summary_from, plan.upto, None)
    tokens_before = snapshot.tokens_before(plan.upto)
    half = max(LEAST_SUMMARY_TOKENS, int(tokens_before * SUMMARY_SHARE_OF_COVERED / token_factor(snapshot)))
    return Material(
        snapshot=snapshot,
        plan=plan,
        preset=preset,
        carried=carried,
        told=told,
        head=None if plan.keeps_base else head,
        tokens_before=tokens_before,
        max_tokens=min(max_tokens, half),
    )


def _masked(snapshot: Snapshot, upto: int) -> Snapshot:
    """The entries up to there without their secrets, and none behind."""
    read = snapshot.between(snapshot.base.read_from, upto)
    return replace(
        snapshot, entries=tuple(replace(entry, message=mask_message(entry.message)) for entry in read)
    )


def token_factor(snapshot: Snapshot) -> float:
    """How many tokens of the session's model one of o200k is: summaries are counted in these, sessions in those."""
    if snapshot.view.model is None and snapshot.format is Format.ANTHROPIC:
        return family_factor("claude")
    return family_factor(snapshot.view.model)


def draft(material: Material, job: JobTag, written: Written, *, floor: bool) -> Candidate:
    """The candidate that this makes. The store checks its numbers again and writes version and prefix itself."""
    pinned, native = _pinned(material.snapshot, material.plan), written.native
    # Where the provider refused the size, a covered request may have to be sent again.
    insert = _insert(material, written.text, pinned, refused=job.kind is JobKind.OVERFLOW)
    seen = _seen(material, written)
    body = {
        "insert": insert,
        "summary": written.text,
        "carried": material.carried.to_json(),
        "pinned": [entry.seq for entry in pinned],
        "coverage": {"seen_tokens": seen.seen_tokens, "covered_tokens": seen.covered_tokens},
        "evidence": round(written.evidence, 4),
        "since_rebuild": material.snapshot.base.since_rebuild + 1,
        "calls": list(written.calls),
    }
    tag = _tag(material, job, written, floor=floor)
    if native is None:
        tag = structs.replace(tag, tokens_after=_tokens(material, insert), coverage=seen.share)
        return Candidate(tag=tag, body=codec.encode(dump(body)))
    body["native"] = {"family": native.family, "readable": insert}
    opening = [*map(json.loads, native.items), *(entry.message for entry in pinned)]
    tag = structs.replace(
        tag,
        kind=NATIVE,
        family=native.family,
        instructions=written.instructions,
        tokens_after=_tokens(material, opening),
        coverage=seen.share,
    )
    return Candidate(tag=tag, body=codec.encode(dump_native(body, native.items, pinned)))


def _tag(material: Material, job: JobTag, written: Written, *, floor: bool) -> CandidateTag:
    """What is known before the insert is counted."""
    snapshot, plan = material.snapshot, material.plan
    return CandidateTag(
        cid=candidate_id(job, floor=floor),
        kind="summary",
        version=job.version,
        upto=plan.upto,
        prefix=snapshot.prefix(plan.upto),
        base=job.base,
        slot=_slot(job, floor=floor),
        preset=material.preset.name,
        preset_version=material.preset.version,
        tokens_before=material.tokens_before,
        tokens_after=0,
        length_at_snapshot=snapshot.view.length,
        tokens_at_snapshot=snapshot.view.tokens,
        provider=written.provider,
        cost_usd=total_cost(written.calls),
        job=job.jid,
    )


def _tokens(material: Material, messages: Sequence[Message]) -> int:
    snapshot = material.snapshot
    return sum(count_message(snapshot.format, one, snapshot.view.model) for one in messages)


def _seen(material: Material, written: Written) -> Coverage:
    """How much of what is covered the writer saw; what travels word for word counts as seen."""
    snapshot, plan = material.snapshot, material.plan
    entries = snapshot.between(snapshot.made_from, plan.upto)
    seen = coverage(entries, entries)
    if written.seen_tokens is None:
        return seen
    kept = sum(entry.tokens for entry in entries if entry.seq < plan.summary_from)
    return replace(seen, seen_tokens=min(written.seen_tokens + kept, seen.covered_tokens))


def total_cost(calls: Sequence[Mapping[str, Any]]) -> float | None:
    """What all calls cost together, in dollars; None when one has no known price."""
    costs = [call["cost_usd"] for call in calls]
    return None if None in costs else round(sum(costs), 9)


def candidate_id(job: JobTag, *, floor: bool) -> str:
    """The same for the same start of the same job: a put that is repeated names the same candidate."""
    told = f"{job.jid}\n{job.fence}\n{'floor' if floor else 'full'}"
    return "c" + hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:20]


def dump(body: Mapping[str, Any]) -> bytes:
    """JSON of anything a caller may have sent; lone surrogates stay escaped."""
    try:
        return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return json.dumps(body, separators=(",", ":")).encode()


def dump_native(body: Mapping[str, Any], items: Sequence[bytes], pinned: Sequence[Entry]) -> bytes:
    """The same with the provider's bytes in front of the insert, untouched: signatures cover them."""
    rest = dump({name: value for name, value in body.items() if name != "insert"})
    insert = b",".join((*items, *(dump(entry.message) for entry in pinned)))
    return b'{"insert":[' + insert + b"]," + rest[1:]


def _slot(job: JobTag, *, floor: bool) -> Slot:
    if floor:
        return Slot.FLOOR
    return Slot.MANUAL if job.kind is JobKind.MANUAL else Slot.SPECULATIVE


def _pinned(snapshot: Snapshot, plan: Plan) -> tuple[Entry, ...]:
    """All entries in front of the cut that are never covered."""
    new = pinned_entries(snapshot.format, snapshot.between(snapshot.base.read_from, plan.upto))
    return (*snapshot.pinned, *new)


def _insert(material: Material, text: str, pinned: Sequence[Entry], *, refused: bool) -> list[Message]:
    """`refused`: the provider refused the size, so a covered request may have to be sent again."""
    snapshot, plan, preset = material.snapshot, material.plan, material.preset
    if not plan.keeps_base:
        tail = snapshot.between(plan.upto, snapshot.view.length) if refused else None
        rendered = render_insert(
            snapshot.format,
            preset,
            text,
            pinned,
            covered=material.covered,
            earlier=snapshot.opening,
            overflow_tail=tail,
        )
        return list(rendered)
    behind = [entry for entry in pinned if entry.seq >= plan.summary_from]
    return [
        *snapshot.base.insert,
        *_word_for_word(snapshot, plan),
        *render_insert(snapshot.format, preset, text, behind, covered=material.covered),
    ]


def _word_for_word(snapshot: Snapshot, plan: Plan) -> list[Message]:
    """The span between base and summary. Behind a summary it needs what any kept tail needs."""
    span = snapshot.between(snapshot.base.upto, plan.summary_from)
    placed = [Entry(place, entry.message, entry.tokens) for place, entry in enumerate(span)]
    needs = context_edits if snapshot.base.insert else repair_edits
    return apply_context([entry.message for entry in placed], (), 0, needs(snapshot.format, placed))
