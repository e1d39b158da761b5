"""What is remembered of a session between reports: a base and a calibration, twenty numbers in all."""

from __future__ import annotations

import msgspec

from precompact_shared.engine.estimate.lessons import Lessons
from precompact_shared.engine.estimate.rates import Parts, Rates

UNSAID = -1
"""A number that the report did not tell."""


class State(msgspec.Struct, frozen=True):
    """What `observe` makes and `predict` reads. Small and serialisable: `pack` and `unpack`."""

    base: int = 0
    """The last size reported; 0: none that is valid."""
    version: int = 0
    """Reports measured on an older version of the context are no base."""
    output: int = UNSAID
    """Tokens of the reply that came with the base, reasoning included."""
    reasoned: int = UNSAID
    """Of these, its reasoning."""
    carried: float = 0.0
    """Reasoning in the base, of the turn that goes on: it leaves when a new turn begins."""
    leaves: float = 0.0
    """Which share of it leaves, as far as the session has shown."""
    leaves_weight: float = 0.0
    root_reasoning: float = 0.0
    """Running mean of the square roots of the replies' reasoning: one long one must not spoil the next ten."""
    reasoning_weight: float = 0.0
    factors: Parts = (1.0, 1.0, 1.0)
    """What a token of the family's estimate is in this session, by direction."""
    doubt: tuple[float, float, float, float, float, float] = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    """Covariance of the factors, upper triangle by rows."""
    steps: int = 0
    """Growths it has learned from."""


ROOT_REASONING, REASONING_WEIGHT = 6.3, 4.0
"""40 tokens a reply: what recorded GPT sessions show at first, worth four replies."""
LEAVES_WEIGHT = 11.0
"""A prior standard deviation of 0.3."""


def begin(rates: Rates, lessons: Lessons | None = None) -> State:
    """A session that has reported nothing; it starts from its tenant's lessons on this model if there are any."""
    known = lessons or Lessons()
    trust = known.trust
    text, thinking, structure = (1 + trust * (factor - 1) for factor in known.factors)
    loose = [deviation * deviation * (1 - 0.5 * trust) for deviation in rates.loose]
    return State(
        leaves=rates.leaves + trust * (known.leaves - rates.leaves),
        leaves_weight=LEAVES_WEIGHT,
        root_reasoning=ROOT_REASONING + trust * (known.root_reasoning - ROOT_REASONING),
        reasoning_weight=REASONING_WEIGHT,
        factors=(text, thinking, structure),
        doubt=(loose[0], 0.0, 0.0, loose[1], 0.0, loose[2]),
    )


def forget(state: State, version: int) -> State:
    """After a rewrite or an adoption: no report from before it is a base; what was learned stays."""
    return msgspec.structs.replace(
        state, base=0, version=version, output=UNSAID, reasoned=UNSAID, carried=0.0
    )


def pack(state: State) -> str:
    """One JSON list, about 150 bytes."""
    rounded = [_round(value) for value in msgspec.structs.astuple(state)]
    return msgspec.json.encode(rounded).decode()


def unpack(packed: str) -> State:
    """What `pack` wrote. Raises msgspec.DecodeError for anything else."""
    values = msgspec.json.decode(packed, type=list[float | list[float]])
    if len(values) != len(State.__struct_fields__):
        raise msgspec.ValidationError("a packed state of another version")
    fields = dict(zip(State.__struct_fields__, values, strict=True))
    return msgspec.convert(fields, State, strict=False)


def _round(value: object) -> object:
    if isinstance(value, tuple):
        return [_round(one) for one in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value
