"""The cheapest step of a job: when clearing old tool results alone is enough, no summary is made. Pure."""

from __future__ import annotations

from precompact_shared.engine.catalogue import Catalogue
from precompact_shared.engine.clearing import Clearing, plan_clearing
from precompact_shared.engine.edits import edit_to_json
from precompact_shared.engine.preset import Limits, Preset
from precompact_shared.store import codec
from precompact_shared.store.types import CandidateTag, JobKind, JobTag, Slot
from precompact_worker.drafting import Candidate, candidate_id, dump
from precompact_worker.planning import Wishes
from precompact_worker.snapshot import Snapshot

PROVIDER = "clearing"


def may_clear(job: JobTag, wishes: Wishes) -> bool:
    """Whether clearing could be what the job is for: not by hand, and not on top of a candidate."""
    return job.kind is not JobKind.MANUAL and job.base is None and wishes == Wishes()


def enough_clearing(
    snapshot: Snapshot, preset: Preset, limits: Limits, catalogue: Catalogue
) -> Clearing | None:
    """What to clear, if that alone gets the context below where work would begin again; else None.

    Edits go on behind those that stand, or the store would not take them for news (rule 7).
    """
    view = snapshot.view
    tail = snapshot.between(snapshot.base.upto, view.length)
    plan = plan_clearing(
        snapshot.format,
        tail,
        preset.clearing,
        held=snapshot.held.edits,
        catalogue=catalogue,
        model=view.model,
        context_tokens=view.tokens,
    )
    if not isinstance(plan, Clearing) or plan.through <= snapshot.held.through:
        return None
    is_worth = plan.saving_tokens >= preset.saving_min(view.tokens)
    return plan if is_worth and view.tokens - plan.saving_tokens < limits.start_low else None


def draft_clearing(snapshot: Snapshot, plan: Clearing, job: JobTag, preset: Preset) -> Candidate:
    """The candidate: the base's `upto` and insert, the new edits, and how far they reach."""
    base, view = snapshot.base, snapshot.view
    body = {
        "insert": base.insert,
        "edits": [edit_to_json(edit) for edit in plan.edits],
        "saved": plan.saved,
        "carried": None if base.carried is None else base.carried.to_json(),
        "pinned": base.pinned,
        "summary": base.summary,
        "since_rebuild": base.since_rebuild,
    }
    before = snapshot.tokens_before(plan.through)
    tag = CandidateTag(
        cid=candidate_id(job, floor=False),
        version=job.version,
        upto=base.upto,
        through=plan.through,
        prefix=snapshot.prefix(plan.through),
        base=job.base,
        kind="clearing",
        slot=Slot.SPECULATIVE,
        preset=preset.name,
        preset_version=preset.version,
        tokens_before=before,
        tokens_after=before - plan.saving_tokens,
        length_at_snapshot=view.length,
        tokens_at_snapshot=view.tokens,
        provider=PROVIDER,
        job=job.jid,
    )
    return Candidate(tag=tag, body=codec.encode(dump(body)))
