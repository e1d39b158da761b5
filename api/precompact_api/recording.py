"""Taking down what a caller sends, before anything is decided: one call of the store on the ordinary path."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import suppress

import msgspec
from redis.exceptions import RedisError

from precompact_api.auth import Caller
from precompact_api.bodies import AppendBody, PrepareBody, SeenBody, UsageBody, View
from precompact_api.ingest import Batch, Reader, ingest
from precompact_api.problems import Code, Problem, refusal
from precompact_api.recognition import match_context, opens_with_ours
from precompact_api.service import Known, Service
from precompact_shared.engine.estimate.states import UNSAID
from precompact_shared.engine.types import Format
from precompact_shared.store import Changes, Create
from precompact_shared.store.tenants import teach
from precompact_shared.store.types import Answer, NewEntry, Seen, SessionView, Usage

EMPTY = Seen(0, 0)


class Incoming(msgspec.Struct, frozen=True):
    """One call that brings entries."""

    caller: Caller
    session: str
    body: PrepareBody
    size_bytes: int
    req: str
    """Hash of the request: the same one again gets the same answer."""
    key: str | None = None


class Recorded(msgspec.Struct, frozen=True):
    """What came of it. `at`: how many entries of the session the caller is known to hold, None when it did not say."""

    view: SessionView
    at: int | None
    appended: int


def request_hash(raw: bytes) -> str:
    """Names a request by its bytes."""
    return hashlib.sha256(raw).hexdigest()[:32]


def as_prepare(body: AppendBody) -> PrepareBody:
    """An append is a prepare that adopts nothing."""
    return PrepareBody(
        messages=body.messages, seen=body.seen, pinned=body.pinned, usage=body.usage, model=body.model
    )


async def record(service: Service, call: Incoming) -> Recorded:
    """Takes down entries, usage and model. Raises Problem: then nothing was stored."""
    body = call.body
    raws: Sequence[msgspec.Raw] = body.messages or ()
    if len(raws) > service.settings.list_limit:
        raise Problem(Code.TOO_MANY, limit=service.settings.list_limit)
    if body.seen is None and not raws:
        recorded = await _look(service, call)
        if recorded is not None:
            return recorded
    known = await _known(service, call)
    reader = Reader(known.format, call.caller.tenant.digest_key, body.model or known.model)
    batch = await ingest(reader, raws, pinned=frozenset(body.pinned), size_bytes=call.size_bytes)
    if body.view is not None and body.messages is not None:
        answer, at = await _whole_list(service, call, reader, batch)
    else:
        answer, at = await _news(service, call, reader, batch)
    if answer.o != "ok" or answer.view is None:
        raise refusal(answer)
    _remember(service, answer.view)
    await pass_on(service, answer.view)
    return Recorded(answer.view, at, answer.appended)


async def _look(service: Service, call: Incoming) -> Recorded | None:
    """A call without entries and without `seen`: it only looks, unless it creates the session."""
    answer = await service.run(service.ops(call.caller.name, call.session).view())
    if answer.view is None:
        if answer.o == "not_found" and call.body.format is not None:
            return None
        raise refusal(answer)
    if call.body.format not in {None, answer.view.format}:
        raise Problem(Code.FORMAT_FIXED, history_version=answer.view.version, length=answer.view.length)
    _remember(service, answer.view)
    changes = changes_of(call.body)
    if changes == Changes():
        return Recorded(answer.view, None, 0)
    seen = Seen(answer.view.version, answer.view.length)
    answer = await service.run(
        service.ops(call.caller.name, call.session).append(
            (), seen=seen, changes=changes, start=start_of(call, Format(answer.view.format))
        )
    )
    if answer.view is None:
        raise refusal(answer)
    await pass_on(service, answer.view)
    return Recorded(answer.view, None, 0)


async def _known(service: Service, call: Incoming) -> Known:
    """Format and model: as said with the call, else as remembered, else as the store has them."""
    body, name = call.body, (call.caller.name, call.session)
    known = service.known.get(name)
    if body.format is not None and (known is not None or _window_is_known(call)):
        return Known(body.format, known.model if known else None)
    if known is not None and body.view is None:
        return known
    answer = await service.run(service.ops(*name).view())
    if answer.view is not None:
        known = _remember(service, answer.view)
        return known if body.format is None else Known(body.format, known.model)
    if answer.o == "not_found" and body.format is not None:
        raise Problem(Code.WINDOW_UNKNOWN)  # the session would be made without a window
    raise refusal(answer)


def _window_is_known(call: Incoming) -> bool:
    body = call.body
    return call.caller.tenant.sizing(body.model, body.window, body.max_output) is not None


def _remember(service: Service, view: SessionView) -> Known:
    name = (view.tenant, view.session)
    return service.known.put(name, Known(Format(view.format), view.model))


async def _news(service: Service, call: Incoming, reader: Reader, batch: Batch) -> tuple[Answer, int | None]:
    """Messages that follow what the caller last saw."""
    if batch.ours:
        raise Problem(Code.PROJECTION_GIVEN, where=f"$.messages[{batch.ours[0]}]")
    seen = _seen(call.body.seen)
    key = None if seen is not None else call.key
    answer = await _append(service, call, reader, batch.entries, seen=seen, key=key)
    if answer.o == "key_required" and answer.length == 0 and answer.version == 0:
        # A missing `seen` on a session that is still empty is {0, 0}.
        answer = await _append(service, call, reader, batch.entries, seen=EMPTY)
    if answer.replayed and seen is None:
        return answer, None
    return answer, answer.at


async def _append(
    service: Service,
    call: Incoming,
    reader: Reader,
    entries: Sequence[NewEntry],
    *,
    seen: Seen | None,
    key: str | None = None,
    pos: int | None = None,
) -> Answer:
    return await service.run(
        service.ops(call.caller.name, call.session).append(
            entries,
            seen=seen,
            pos=pos,
            key=key,
            create=create_of(call.body),
            changes=changes_of(call.body),
            limits=service.limits,
            start=start_of(call, reader.format),
        )
    )


async def _whole_list(
    service: Service, call: Incoming, reader: Reader, batch: Batch
) -> tuple[Answer, int | None]:
    """The whole list of a caller that keeps one: its own history, or our context with news."""
    ops = service.ops(call.caller.name, call.session)
    view = (await service.run(ops.view())).view
    if view is None:
        return await _first_list(service, call, reader, batch)
    if call.body.format not in {None, view.format}:
        raise Problem(Code.FORMAT_FIXED, history_version=view.version, length=view.length)
    as_context = call.body.view is View.CONTEXT or await opens_with_ours(service, view, reader, batch.entries)
    if as_context:
        matched = await match_context(service, view, reader, batch.entries, batch.ours)
        seen = _seen(call.body.seen) or Seen(view.version, view.length)
        seen = Seen(seen.version, min(seen.length, matched.pos))
        answer = await _append(service, call, reader, matched.entries, seen=seen, pos=matched.pos)
        return answer, answer.at
    if batch.ours:
        raise Problem(Code.PROJECTION_GIVEN, where=f"$.messages[{batch.ours[0]}]")
    answer = await _sync(service, call, reader, batch, heal=call.body.heal)
    if answer.o == "not_ahead":  # nothing was lost: an ordinary list
        answer = await _sync(service, call, reader, batch, heal=False)
    return answer, len(batch.entries)


async def _sync(service: Service, call: Incoming, reader: Reader, batch: Batch, *, heal: bool) -> Answer:
    return await service.run(
        service.ops(call.caller.name, call.session).sync(
            batch.entries,
            seen=_seen(call.body.seen) or EMPTY,
            req=call.req,
            heal=heal,
            changes=changes_of(call.body),
            limits=service.limits,
            start=start_of(call, reader.format),
        )
    )


async def _first_list(
    service: Service, call: Incoming, reader: Reader, batch: Batch
) -> tuple[Answer, int | None]:
    """A whole list for a session that is not there: made anew, above the caller's version when it heals a loss."""
    if batch.ours:
        raise Problem(Code.PROJECTION_GIVEN, where=f"$.messages[{batch.ours[0]}]")
    seen = _seen(call.body.seen) or EMPTY
    spec = create_of(call.body)
    if call.body.heal and seen.version > 0 and spec is not None:
        start = start_of(call, reader.format)
        made = await service.run(service.ops(call.caller.name, call.session).create(spec, start=start))
        if made.view is None:
            return made, None
        return await _sync(service, call, reader, batch, heal=True), len(batch.entries)
    answer = await _append(service, call, reader, batch.entries, seen=Seen(seen.version, 0), pos=0)
    return answer, answer.at


def start_of(call: Incoming, wire: Format) -> bytes:
    """Where a session that this call makes, or the model that it names, starts: from what the tenant's others learned."""
    body = call.body
    if body.model is None and body.format is None:
        return b""
    return call.caller.tenant.start(wire, body.model)


async def pass_on(service: Service, view: SessionView) -> None:
    """Tells the tenant what the session has learned, which is so once; that is advice, and no call fails for it."""
    if view.lesson is None or view.model is None:
        return
    with suppress(RedisError):
        await service.run(teach(view.tenant, view.model, view.lesson, view.now_ms))


def _seen(seen: SeenBody | None) -> Seen | None:
    return None if seen is None else Seen(seen.version, seen.length)


def create_of(body: PrepareBody) -> Create | None:
    """What an absent session is made with; None when the call does not say enough."""
    if body.format is None:
        return None
    return Create(body.format.value, body.model, body.window, body.max_output)


def changes_of(body: PrepareBody) -> Changes:
    """What the call says about the session besides entries."""
    return Changes(
        usage=_usage(body.usage, body.seen),
        model=body.model,
        window=body.window,
        max_output=body.max_output,
        overflow=body.overflow,
    )


def _usage(usage: UsageBody | None, seen: SeenBody | None) -> Usage | None:
    """Usage counts for the length the model call was made from; unsaid, that is what the caller had seen then.

    It names no model: it is of the last reply, and the model a call names is that of the next request.
    """
    if usage is None:
        return None
    length = usage.length if usage.length is not None else seen.length if seen is not None else None
    if length is None:
        return None
    return Usage(
        usage.input_tokens,
        usage.version,
        length,
        read=usage.cache_read_tokens,
        written=usage.cache_write_tokens,
        output=usage.output_tokens or UNSAID,
        reasoned=UNSAID if usage.reasoning_tokens is None else usage.reasoning_tokens,
        server=usage.server_tools,
    )
