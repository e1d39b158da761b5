"""What tests steer the stand-in by: its log, its scenario, its clock."""

from __future__ import annotations

from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from precompact_standin.scenario import Scenario
from precompact_standin.state import State


class Advance(msgspec.Struct, forbid_unknown_fields=True):
    """Body of `POST /standin/clock`."""

    advance_s: float


def control_routes(state: State) -> list[Route]:
    """The routes below `/standin`."""

    async def requests(_request: Request) -> Response:
        return _json({"requests": state.log.entries})

    async def scenario(request: Request) -> Response:
        try:
            wanted = msgspec.json.decode(await request.body(), type=Scenario)
        except msgspec.ValidationError as error:
            return _json({"error": str(error)}, 400)
        state.play(wanted)
        return _json({"playing": True})

    async def clock(request: Request) -> Response:
        try:
            wanted = msgspec.json.decode(await request.body(), type=Advance)
        except msgspec.ValidationError as error:
            return _json({"error": str(error)}, 400)
        state.clock.advance(wanted.advance_s)
        return _json({"now_s": state.now_s()})

    async def reset(_request: Request) -> Response:
        state.play(state.scenario)
        return _json({"playing": True})

    return [
        Route("/standin/requests", requests, methods=["GET"]),
        Route("/standin/scenario", scenario, methods=["POST"]),
        Route("/standin/clock", clock, methods=["POST"]),
        Route("/standin/reset", reset, methods=["POST"]),
    ]


def _json(value: Any, status: int = 200) -> Response:
    return Response(msgspec.json.encode(value), status, media_type="application/json")
