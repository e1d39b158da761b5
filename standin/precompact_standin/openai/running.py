"""Running the model over a prompt: room, cache, limits, and what it says. Shared by all endpoints that generate."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from precompact_standin.caching import CachePlan, Piece
from precompact_standin.models import Model
from precompact_standin.openai.errors import limited, overflowed
from precompact_standin.openai.headers import limit_headers
from precompact_standin.openai.prompt import marked, place_of
from precompact_standin.saying import Asked, Said
from precompact_standin.state import Call, State


@dataclass(frozen=True, slots=True)
class Pass:
    """One run: what it cost and what it said, and the headers that tell of limits."""

    plan: CachePlan
    said: Said
    headers: dict[str, str]


def room_left(parts: Iterable[Piece], model: Model, param: str) -> int:
    """Tokens left in the window. Raises the 400 of an overflow."""
    total = sum(part.tokens for part in parts)
    if total > model.window:
        raise overflowed(total, model.window, param)
    return model.window - total


def run(state: State, call: Call, model: Model, parts: list[Piece], asked: Asked) -> Pass:
    """Look up the cache, ask the buckets, say something. Raises a 429."""
    plan = state.cache.look_up(marked(parts, call.body, model), place_of(call.workspace, call.body, model))
    who = f"{call.workspace}/{model.name}"
    verdict = state.limiter.admit(who, input_tokens=plan.total - plan.read, max_output=asked.max_tokens)
    headers = limit_headers(verdict.readings)
    if verdict.short_of is not None:
        raise limited(verdict, headers)
    said = state.speaker.say(asked, model, fault=call.fault, reply=call.reply)
    state.limiter.charge_output(who, said.tokens)
    return Pass(plan, said, headers)


def output_limit(body: dict[str, Any], model: Model, *names: str) -> int:
    """The first of these limits that is set, else the model's own."""
    wanted = next((body[name] for name in names if body.get(name) is not None), model.max_output)
    return min(int(wanted), model.max_output)
