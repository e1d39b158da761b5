"""The book of one attempt: every model call with what it used and what it cost, also of those that led to nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import msgspec

from precompact_shared.engine.usage import Usage
from precompact_shared.prices import Price
from precompact_shared.store.types import JobTag

CANCELLED = "cancelled"


class CallRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One model call, also a failed one. Written once per id, whoever repeats the write."""

    id: str
    provider: str
    model: str | None
    mode: str
    input_tokens: int
    """Of the prompt, neither read from a cache nor written to one."""
    cache_read_tokens: int
    cache_write_tokens: int
    output_tokens: int
    cost_usd: float | None
    """List price or the policy's; None where nobody knows it."""
    duration_ms: int
    outcome: str
    """`ok`, or why its answer was not used."""
    request_id: str | None
    """The provider's."""


@dataclass(slots=True)
class Call:
    """A call under way. Whoever makes it writes down what becomes known, as soon as it does."""

    id: str
    provider: str
    model: str | None
    mode: str
    begun_s: float
    usage: Usage = field(default_factory=Usage)
    outcome: str = CANCELLED
    request_id: str | None = None
    took_s: float = 0.0


def _free(_model: str) -> Price | None:
    return None


@dataclass(slots=True)
class Book:
    """The calls of one attempt, in order. `now_s` is a monotonic clock, `price_of` tells what a model costs."""

    job: JobTag
    now_s: Callable[[], float]
    price_of: Callable[[str], Price | None] = _free
    calls: list[Call] = field(default_factory=list)

    @contextmanager
    def open(self, provider: str, model: str | None = None, *, mode: str = "code") -> Iterator[Call]:
        """A new call. It is on record whatever happens; one that says nothing else was cancelled."""
        # Unique: fences never repeat in a job, and this counts within one.
        call_id = f"{self.job.jid}:{self.job.fence}:{len(self.calls) + 1}"
        call = Call(call_id, provider, model, mode, self.now_s())
        self.calls.append(call)
        try:
            yield call
        finally:
            call.took_s = self.now_s() - call.begun_s

    def name_cancelled(self, since: int, outcome: str) -> None:
        """Says of the calls from the given place on that were cut short why they were."""
        for call in self.calls[since:]:
            call.outcome = outcome if call.outcome == CANCELLED else call.outcome

    def records(self) -> list[dict[str, object]]:
        """As the ledger keeps them."""
        return [msgspec.to_builtins(self._record(call)) for call in self.calls]

    def _record(self, call: Call) -> CallRecord:
        return CallRecord(
            id=call.id,
            provider=call.provider,
            model=call.model,
            mode=call.mode,
            input_tokens=call.usage.input_tokens,
            cache_read_tokens=call.usage.cache_read_tokens,
            cache_write_tokens=call.usage.cache_write_tokens,
            output_tokens=call.usage.output_tokens,
            cost_usd=self._cost(call),
            duration_ms=int(call.took_s * 1000),
            outcome=call.outcome,
            request_id=call.request_id,
        )

    def _cost(self, call: Call) -> float | None:
        if call.model is None:
            return 0.0
        price = self.price_of(call.model)
        return None if price is None else round(price.cost_usd(call.usage), 9)
