"""Makes candidates as a worker would, step by step through the store."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import msgspec

from precompact_shared.store import Announcement, ClaimSpec, codec, reading
from precompact_shared.store.types import CandidateTag, JobKind, JobTag, SessionView, Slot
from tests.support.service import Service

_numbers = itertools.count(1)
LEASE_MS = 30_000


def view_of(service: Service, session: str) -> SessionView:
    """The session as it stands."""
    view = service.store.run(service.ops(session).view()).view
    assert view is not None
    return view


def claim(service: Service, session: str, kind: JobKind = JobKind.SPECULATIVE) -> JobTag:
    """A job of the session; a live one is taken as it is."""
    spec = ClaimSpec(jid=f"job{next(_numbers)}", kind=kind)
    answer = service.store.run(service.ops(session).claim(None, spec))
    assert answer.o in {"claimed", "in_flight"}, answer.o
    job = service.store.run(reading.job(service.keys(session), answer.jid or ""))
    assert job is not None
    return job


def put(
    service: Service,
    session: str,
    *,
    upto: int,
    job: JobTag | None = None,
    floor: bool = False,
    summary: str = "What happened so far.",
    tokens_after: int = 20,
    insert: Sequence[dict[str, Any]] | None = None,
) -> str:
    """Runs a job up to its candidate over `[0, upto)` and stores it; the candidate's id."""
    job = job or claim(service, session)
    ops = service.ops(session)
    started = service.store.run(ops.start(job.jid, lease_ms=LEASE_MS, max_attempts=4))
    assert started.o == "started", (started.o, started.reason)
    assert started.job is not None
    fence = started.job.fence
    view = view_of(service, session)
    [last] = service.store.run(reading.metas(service.keys(session), [upto - 1]))
    assert last is not None
    announced = Announcement(upto=upto, prefix=last.chain)
    assert service.store.run(ops.beat(job.jid, fence, lease_ms=LEASE_MS, announce=announced)).o == "ok"
    cid = f"c{next(_numbers):020x}"
    tag = CandidateTag(
        cid=cid,
        version=view.version,
        upto=upto,
        prefix=last.chain,
        slot=Slot.FLOOR if floor else Slot.MANUAL if job.kind is JobKind.MANUAL else Slot.SPECULATIVE,
        preset="precompact",
        preset_version="1",
        tokens_before=last.cum,
        tokens_after=tokens_after,
        length_at_snapshot=view.length,
        tokens_at_snapshot=view.tokens,
        provider="scripted",
        job=job.jid,
    )
    messages = [summary_message(summary)] if insert is None else list(insert)
    body = msgspec.json.encode({"insert": messages, "summary": summary})
    stored = service.store.run(ops.put(job.jid, fence, tag, codec.encode(body), floor=floor))
    assert stored.o == "stored", (stored.o, stored.reason)
    return cid


def summary_message(summary: str) -> dict[str, Any]:
    """How the preset `precompact` brings a summary back."""
    text = f'<conversation-summary preset="precompact/1">\n{summary}\n</conversation-summary>'
    return {"role": "user", "content": [{"type": "text", "text": text}]}
