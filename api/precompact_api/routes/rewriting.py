"""Changing what a history holds already: rewind, replace, redact."""

from __future__ import annotations

import msgspec
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from precompact_api.answers import answer, etag
from precompact_api.bodies import RewindBody
from precompact_api.ingest import Reader, facts_at, ingest_one, weighed
from precompact_api.problems import Code, Problem, refusal
from precompact_api.recording import request_hash
from precompact_api.redaction import redacted
from precompact_api.repairs import read_entries
from precompact_api.routes.calls import SessionCall, read_as, session_call
from precompact_api.service import Service
from precompact_shared.engine.types import Format, Message
from precompact_shared.store import codec
from precompact_shared.store.types import Answer, NewEntry, Seen, SessionView


def routes(service: Service) -> APIRouter:
    """The router."""
    router = APIRouter(tags=["sessions"])

    @router.post("/v1/sessions/{session}/rewind", summary="Remove the end, or replace or redact entries")
    async def rewind_session(session: str, request: Request) -> Response:
        call = await session_call(service, request, session)
        body, raw = await read_as(service, request, RewindBody)
        done = await _rewrite(call, body, request_hash(raw))
        if done.o != "ok":
            raise refusal(done)
        # A repeated request gets the first answer, which carries no view of today.
        version, length = done.version, done.length
        facts = {"length": length, "history_version": version, "head": done.head, "popped": done.popped}
        return answer(facts, 200, etag(version, length))

    return router


async def _rewrite(call: SessionCall, body: RewindBody, req: str) -> Answer:
    given = [part is not None for part in (body.to, body.replace, body.redact)]
    if sum(given) != 1:
        raise Problem(Code.INVALID_REQUEST, "Send exactly one of `to`, `replace` and `redact`.", where="$")
    seen = Seen(body.seen.version, body.seen.length)
    if body.to is not None:
        return await call.service.run(call.ops.rewind(body.to, seen=seen, req=req))
    view = await call.view()
    if body.replace is not None:
        reader = Reader(Format(view.format), call.caller.tenant.digest_key, view.model)
        entry = await ingest_one(reader, body.replace.message, "$.replace.message")
        return await call.service.run(call.ops.replace(body.replace.seq, entry, seen=seen, req=req))
    return await _redact(call, view, sorted(set(body.redact or ())), seen, req)


async def _redact(call: SessionCall, view: SessionView, seqs: list[int], seen: Seen, req: str) -> Answer:
    if len(seqs) > call.service.settings.list_limit:
        raise Problem(Code.TOO_MANY, limit=call.service.settings.list_limit)
    wire = Format(view.format)
    entries = {entry.seq: entry.message for entry in await read_entries(call.service, view, seqs)}
    bodies = []
    for seq in seqs:
        placeholder = redacted(wire, entries[seq]) if seq in entries else {}
        bodies.append((seq, _held(wire, view.model, placeholder)))
    if view.checkpoint is not None:
        call.service.frozen.forget((view.tenant, view.session, view.incarnation, view.checkpoint))
    return await call.service.run(call.ops.redact(bodies, seen=seen, req=req))


def _held(wire: Format, model: str | None, placeholder: Message) -> NewEntry:
    """What the store keeps in the place of a redacted entry; who it is stays with the entry."""
    body = codec.encode(msgspec.json.encode(placeholder))
    if not placeholder:  # somebody removed the entry meanwhile, and the store will refuse
        return NewEntry("", 0, body)
    tokens, load = weighed(wire, model, placeholder, facts_at(wire, placeholder, "$"))
    return NewEntry("", tokens, body, load=load)
