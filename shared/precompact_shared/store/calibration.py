"""How the estimate lies in a session's hash: what is remembered between reports, packed as lib/estimate.lua reads it."""

from __future__ import annotations

from functools import lru_cache

import msgspec

from precompact_shared.engine.estimate import Lessons, State, begin, rates_of
from precompact_shared.engine.estimate.calibration import Doubt
from precompact_shared.engine.estimate.rates import Parts
from precompact_shared.engine.estimate.states import UNSAID
from precompact_shared.engine.types import Format


class Remembered(msgspec.Struct, frozen=True, array_like=True):
    """Field `est`: calibration, base, and what the agent's usage said of its cache. The order is Lua's."""

    counts_reasoning: bool
    leaves: float
    leaves_weight: float
    root_reasoning: float
    reasoning_weight: float
    text: float
    thinking: float
    structure: float
    doubt_1: float
    doubt_2: float
    doubt_3: float
    doubt_4: float
    doubt_5: float
    doubt_6: float
    steps: int = 0
    base: int = 0
    output: int = UNSAID
    reasoned: int = UNSAID
    carried: float = 0.0
    length: int = 0
    version: int = 0
    at_ms: int = 0
    read_tokens: int = 0
    written_tokens: int = 0
    blind: bool = False

    @property
    def factors(self) -> Parts:
        """What a token of the family's estimate is in this session."""
        return self.text, self.thinking, self.structure

    @property
    def doubt(self) -> Doubt:
        """Covariance of the factors, upper triangle by rows."""
        return self.doubt_1, self.doubt_2, self.doubt_3, self.doubt_4, self.doubt_5, self.doubt_6


unpack = msgspec.msgpack.Decoder(Remembered, strict=False).decode
"""What the field `est` holds."""


def _pack(known: Remembered) -> bytes:
    """As Lua does: whole numbers are short, and Redis keeps a hash of short values in a third of the room."""
    values = msgspec.structs.astuple(known)
    return msgspec.msgpack.encode([_shortest(value) if type(value) is float else value for value in values])


def _shortest(value: float) -> float:
    return int(value) if value.is_integer() else value


@lru_cache(maxsize=4096)
def start_of(format: str, model: str | None, lessons: Lessons | None = None) -> bytes:  # noqa: A002
    """Where a session of this model starts, or goes on with it."""
    rates = rates_of(Format(format), model)
    return packed(rates.counts_reasoning, begin(rates, lessons))


def packed(counts_reasoning: bool, state: State) -> bytes:  # noqa: FBT001 - it is a field, not a switch
    """The calibration alone; reports are of the session that got them."""
    return _pack(
        Remembered(
            counts_reasoning,
            state.leaves,
            state.leaves_weight,
            state.root_reasoning,
            state.reasoning_weight,
            *state.factors,
            *state.doubt,
            steps=state.steps,
        )
    )


def restarted(est: bytes) -> bytes:
    """What a session has learned, without its reports."""
    known = unpack(est)
    learned = {name: getattr(known, name) for name in _LEARNED}
    return _pack(Remembered(**learned))


_LEARNED = Remembered.__struct_fields__[: Remembered.__struct_fields__.index("base")]
