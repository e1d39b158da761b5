"""The baseline: a FastAPI app with plain routes, each one auto-batched Redis call. `python -m tests.bench.bare PORT URL`.

`/append` reads the same body into the same struct as the service and writes it down with one XADD; `/read` first reads
each message too, as whoever refuses what is no message and tells sizes has to; `/ping` is a bare round trip to Redis.
Server settings are those of the service.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import uvicorn
from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response

from precompact_api.bodies import AppendBody
from precompact_shared.engine.formats import facts
from precompact_shared.engine.tokens import count_message, warm_up
from precompact_shared.engine.types import Format
from precompact_shared.store import AsyncStore, async_client
from precompact_shared.store.op import Op
from tests.bench.turns import MODEL

STREAM = "bench:bare"
KEPT = 10_000
_read = msgspec.json.Decoder(AppendBody).decode
_PING: Op[Any] = Op(None, (), ("PING",), lambda raw: raw)


def make_app(redis_url: str) -> FastAPI:
    """The app; connects when it starts."""

    @asynccontextmanager
    async def open_store(app: FastAPI) -> AsyncIterator[None]:
        warm_up()
        client = async_client(redis_url)
        app.state.store = AsyncStore(client)
        yield
        await client.aclose()

    app = FastAPI(lifespan=open_store)
    app.add_route("/append", append, methods=["POST"])
    app.add_route("/read", read, methods=["POST"])
    app.add_route("/ping", ping, methods=["POST"])
    return app


async def append(request: Request) -> Response:
    """Validates and writes the raw body."""
    raw = await request.body()
    return await _write(request, raw, len(_read(raw).messages))


async def read(request: Request) -> Response:
    """The same, with each message parsed, checked for its format and counted."""
    raw = await request.body()
    messages = [msgspec.json.decode(message) for message in _read(raw).messages]
    for message in messages:
        facts(Format.ANTHROPIC, message)
    tokens = sum(count_message(Format.ANTHROPIC, message, MODEL) for message in messages)
    return await _write(request, raw, tokens)


async def _write(request: Request, raw: bytes, number: int) -> Response:
    op: Op[Any] = Op(None, (), ("XADD", STREAM, "MAXLEN", "~", KEPT, "*", "e", raw), lambda place: place)
    place: bytes = await request.app.state.store.run(op)
    return _answer({"number": number, "at": place.decode()})


async def ping(request: Request) -> Response:
    """Reads the body and asks Redis for nothing."""
    raw = await request.body()
    await request.app.state.store.run(_PING)
    return _answer({"bytes": len(raw)})


def _answer(value: dict[str, Any]) -> Response:
    return Response(msgspec.json.encode(value), media_type="application/json")


def main() -> None:
    """Serves until told to end."""
    port, redis_url = int(sys.argv[1]), sys.argv[2]
    uvicorn.run(
        make_app(redis_url),
        host="127.0.0.1",
        port=port,
        loop="uvloop",
        http="httptools",
        access_log=False,
        log_level="warning",
    )


if __name__ == "__main__":
    main()
