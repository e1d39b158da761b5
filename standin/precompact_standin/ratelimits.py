"""Token buckets for requests, input and output tokens, a minute's worth each, per key and model."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

from precompact_standin.scenario import Limits

WINDOW_S = 60.0


class Meter(StrEnum):
    """What is limited."""

    REQUESTS = "requests"
    INPUT = "input-tokens"
    OUTPUT = "output-tokens"


@dataclass(slots=True)
class Bucket:
    """Fills up evenly to its capacity within a minute."""

    capacity: int
    level: float
    at_s: float

    def fill(self, now_s: float) -> None:
        """Add what has flowed in since the last time."""
        gained = (now_s - self.at_s) * self.capacity / WINDOW_S
        self.level, self.at_s = min(self.capacity, self.level + gained), now_s

    def wait_s(self, wanted: float) -> float:
        """Seconds until `wanted` is there; 0 = now. More than the capacity is asked of a full bucket."""
        return max(0.0, min(wanted, self.capacity) - self.level) * WINDOW_S / self.capacity


@dataclass(frozen=True, slots=True)
class Reading:
    """State of one meter, for the headers."""

    meter: Meter
    limit: int
    remaining: int
    reset_in_s: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a request may go on; else what ran out and how many seconds to wait."""

    short_of: Meter | None = None
    retry_after_s: int = 0
    readings: tuple[Reading, ...] = ()


@dataclass
class Limiter:
    """All buckets."""

    now_s: Callable[[], float]
    limits: Limits
    _buckets: dict[tuple[str, Meter], Bucket] = field(default_factory=dict)

    def admit(self, who: str, *, input_tokens: int, max_output: int) -> Verdict:
        """Take a request and its input from the buckets, or say why not; then nothing is taken."""
        wanted = {
            Meter.REQUESTS: 1,
            Meter.INPUT: input_tokens,
            Meter.OUTPUT: max_output if self.limits.charge_max_tokens else 1,
        }
        waits = {meter: self._bucket(who, meter).wait_s(wanted[meter]) for meter in self._metered()}
        short = max(waits, key=lambda meter: waits[meter], default=None)
        if short is not None and waits[short] > 0:
            return Verdict(short, math.ceil(waits[short]), self._readings(who))
        for meter in waits:
            if meter is not Meter.OUTPUT:
                self._bucket(who, meter).level -= wanted[meter]
        return Verdict(readings=self._readings(who))

    def charge_output(self, who: str, tokens: int) -> None:
        """Take what was generated, into debt if need be."""
        if Meter.OUTPUT in self._metered():
            self._bucket(who, Meter.OUTPUT).level -= tokens

    def _metered(self) -> list[Meter]:
        return [meter for meter in Meter if self._capacity(meter)]

    def _capacity(self, meter: Meter) -> int:
        limits = self.limits
        return {
            Meter.REQUESTS: limits.requests,
            Meter.INPUT: limits.input_tokens,
            Meter.OUTPUT: limits.output_tokens,
        }[meter]

    def _bucket(self, who: str, meter: Meter) -> Bucket:
        now, capacity = self.now_s(), self._capacity(meter)
        bucket = self._buckets.setdefault((who, meter), Bucket(capacity, capacity, now))
        bucket.fill(now)
        return bucket

    def _readings(self, who: str) -> tuple[Reading, ...]:
        found = []
        for meter in self._metered():
            bucket = self._bucket(who, meter)
            missing_s = (bucket.capacity - bucket.level) * WINDOW_S / bucket.capacity
            found.append(Reading(meter, bucket.capacity, max(0, int(bucket.level)), missing_s))
        return tuple(found)
