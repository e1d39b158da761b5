"""The history as it was sent: what `recall` and a reloading client read."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from precompact_api.answers import session_answer
from precompact_api.routes.calls import SessionCall, session_call
from precompact_api.service import Service
from precompact_shared.engine.formats import plain_text
from precompact_shared.engine.types import Format
from precompact_shared.store import reading
from precompact_shared.store.types import SessionView

CHUNK = 500
PAGE_BYTES = 16 * 1024 * 1024
PAGE_ENTRIES = 10_000
MOST = 2**53 - 1


@dataclass(frozen=True, slots=True)
class _Wanted:
    """Which entries are asked for."""

    start: int
    stop: int
    grep: str | None
    max_tokens: int


@dataclass(slots=True)
class _Page:
    """What has been found, and what still fits."""

    tokens_left: int
    bytes_left: int = PAGE_BYTES
    entries: list[dict[str, Any]] = field(default_factory=list)
    next: int | None = None

    def takes(self, body: bytes, tokens: int) -> bool:
        """Whether one more fits; the first always does."""
        fits = tokens <= self.tokens_left and len(body) <= self.bytes_left
        return not self.entries or (fits and len(self.entries) < PAGE_ENTRIES)

    def add(self, seq: int, body: bytes, tokens: int) -> None:
        """Takes one more."""
        self.entries.append({"seq": seq, "message": msgspec.Raw(body)})
        self.tokens_left -= tokens
        self.bytes_left -= len(body)


def routes(service: Service) -> APIRouter:
    """The router."""
    router = APIRouter(tags=["history"])

    @router.get("/v1/sessions/{session}/history", summary="Entries as they were sent, page by page")
    async def read_history(  # noqa: PLR0917 - the query is the signature
        session: str,
        request: Request,
        start: Annotated[int, Query(alias="from", ge=0, le=MOST)] = 0,
        to: Annotated[int | None, Query(ge=0, le=MOST)] = None,
        grep: Annotated[str | None, Query(max_length=200)] = None,
        max_tokens: Annotated[int, Query(ge=1, le=MOST)] = MOST,
    ) -> Response:
        call = await session_call(service, request, session)
        view = await call.view()
        stop = min(view.length, view.length if to is None else to)
        page = await _read(call, view, _Wanted(start, stop, grep, max_tokens))
        facts = {
            "entries": page.entries,
            "length": view.length,
            "history_version": view.version,
            "head": view.head,
            "next": page.next,
        }
        return session_answer(view, facts)

    return router


async def _read(call: SessionCall, view: SessionView, wanted: _Wanted) -> _Page:
    page = _Page(wanted.max_tokens)
    for at in range(wanted.start, wanted.stop, CHUNK):
        seqs = range(at, min(at + CHUNK, wanted.stop))
        bodies = await call.service.read(reading.bodies(call.keys, seqs))
        sizes = await _sizes(call, seqs)
        if wanted.grep:
            bodies = await asyncio.to_thread(_matching, Format(view.format), bodies, wanted.grep.casefold())
        for seq, body, tokens in zip(seqs, bodies, sizes, strict=True):
            if body is None:
                continue
            if not page.takes(body, tokens):
                page.next = seq
                return page
            page.add(seq, body, tokens)
    return page


async def _sizes(call: SessionCall, seqs: range) -> list[int]:
    """Tokens of each entry, from the running sums."""
    before = [seqs.start - 1] if seqs.start else []
    metas = await call.service.read(reading.metas(call.keys, [*before, *seqs]))
    sums = [meta.cum if meta else 0 for meta in metas]
    if not before:
        sums.insert(0, 0)
    return [after - earlier for earlier, after in pairwise(sums)]


def _matching(wire: Format, bodies: list[bytes | None], wanted: str) -> list[bytes | None]:
    """Keeps the bodies whose text holds `wanted`; literal, case folded."""
    return [
        body
        if body is not None and wanted in plain_text(wire, msgspec.json.decode(body)).casefold()
        else None
        for body in bodies
    ]
