"""The book of one attempt: every model call with what it used and what it cost, also of those that led to nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from typing import Protocol

import msgspec

from precompact_shared.engine.mode import Choice
from precompact_shared.engine.tokens import count_text, family_factor
from precompact_shared.engine.usage import Usage
from precompact_shared.errors import PrecompactError
from precompact_shared.prices import Price
from precompact_shared.store.types import JobTag

BEGUN = "begun"
"""Noted before the call; still there when its worker was killed."""
CANCELLED = "cancelled"
UNASKED = "none"
"""Mode of a call that nobody could make: no window is known, or the key is not allowed."""
NOT_SENT = "not_sent"
"""The job was lost, or its time was up, before the call was made."""


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
    cache_write_hour_tokens: int
    """Of these, what is kept for an hour."""
    output_tokens: int
    cost_usd: float | None
    """List price or the policy's; None where nobody knows it."""
    duration_ms: int
    outcome: str
    """`ok`, or why its answer was not used."""
    request_id: str | None
    """The provider's."""
    estimated: bool = False
    """Nobody told the usage, or all of it: the call did not end, and the rest is our estimate."""
    choice: Choice | None = None
    """Of a summary in words: why on the live prefix or as a transcript, and what each was reckoned to cost."""


@dataclass(slots=True)
class Call:
    """A call under way. Whoever makes it writes down what becomes known, as soon as it does."""

    id: str
    provider: str
    model: str | None
    mode: str
    begun_s: float
    expected: Usage = field(default_factory=Usage)
    """Used in place of `usage` for a call that did not end and told nothing."""
    usage: Usage = field(default_factory=Usage)
    heard: str = ""
    """What a stream has brought whose end, with its usage, has not come: it counts as output where it breaks off."""
    is_open: bool = False
    """A reply has begun, and its end, with its usage, has not come: the prompt counts where it goes wrong now."""
    outcome: str = BEGUN
    request_id: str | None = None
    took_s: float = 0.0
    choice: Choice | None = None
    place: str | None = None
    """Where rate limits hold; None where there are none."""


UNFINISHED = frozenset({BEGUN, CANCELLED, "timeout", "provider_timeout", "unreachable", "cut_off"})


def _used(call: Call) -> tuple[Usage, bool]:
    """What a call used, and whether some of it is estimated."""
    usage, is_untold = call.usage, call.usage == Usage()
    if is_untold and (call.outcome in UNFINISHED or call.heard or call.is_open):
        usage = call.expected
    heard = int(count_text(call.heard) * family_factor(call.model)) if call.heard else 0
    if heard > usage.output_tokens:
        usage = replace(usage, output_tokens=heard)
    return usage, usage != call.usage


def _free(_model: str) -> Price | None:
    return None


class Holding(Protocol):
    """Who knows which providers asked to be left alone."""

    async def keep_away(self, place: str) -> None:
        """Raises where the provider at this place is to be left alone."""
        ...

    async def note(self, place: str, for_s: float) -> None:
        """The provider at this place asked to be left alone for so long."""
        ...


@dataclass(slots=True)
class Book:
    """The calls of one attempt, in order. `now_s` is a monotonic clock, `price_of` tells what a model costs."""

    job: JobTag
    now_s: Callable[[], float]
    price_of: Callable[[str], Price | None] = _free
    calls: list[Call] = field(default_factory=list)
    note: Callable[[], Awaitable[None]] | None = None
    """Writes the records to the ledger: before each paid call, so that it is known even if this process dies."""
    holds: Holding | None = None
    """Asked before the first call at a place."""

    @contextmanager
    def open(self, provider: str, model: str | None = None, *, mode: str = "code") -> Iterator[Call]:
        """A new call. It is on record whatever happens; one that ends without a word was cancelled."""
        # Unique: fences never repeat in a job, and this counts within one.
        call_id = f"{self.job.jid}:{self.job.fence}:{len(self.calls) + 1}"
        call = Call(call_id, provider, model, mode, self.now_s())
        self.calls.append(call)
        try:
            yield call
        finally:
            call.outcome = CANCELLED if call.outcome == BEGUN else call.outcome
            call.took_s = self.now_s() - call.begun_s

    @asynccontextmanager
    async def pay(
        self,
        provider: str,
        model: str | None,
        *,
        mode: str,
        expected: Usage,
        choice: Choice | None = None,
        place: str | None = None,
    ) -> AsyncIterator[Call]:
        """A new call that costs: in the ledger before it is made. Raises what the ledger does, and then it was not made.

        An error of ours names the outcome. `place`: whose server and key. Where other jobs were told to stay away from
        it, the first call there raises `ProviderHeld` and is no call; what has begun goes on.
        """
        place = place and f"{place}|{model or ''}"
        if self.holds and place and all(one.place != place for one in self.calls):
            await self.holds.keep_away(place)
        with self.open(provider, model, mode=mode) as call:
            call.expected, call.choice, call.place = expected, choice, place
            await self._announce(call)
            try:
                yield call
            except PrecompactError as failure:
                call.outcome = failure.code
                raise

    async def _announce(self, call: Call) -> None:
        if self.note is None:
            return
        try:
            await self.note()
        except BaseException:  # also a cancellation: nothing was sent, so that nothing is to be paid
            call.outcome = NOT_SENT
            raise

    def note_unasked(self, provider: str, outcome: str) -> None:
        """A provider that could not even be asked: nobody would know why another one wrote."""
        with self.open(provider, mode=UNASKED) as call:
            call.outcome = outcome

    async def hold_back(self, for_s: float) -> None:
        """The last call met a rate limit: nobody who can wait calls there for so long."""
        if self.holds and self.calls and self.calls[-1].place:
            await self.holds.note(self.calls[-1].place, for_s)

    def name_cancelled(self, since: int, outcome: str) -> None:
        """Says of the calls from the given place on that were cut short why they were."""
        for call in self.calls[since:]:
            call.outcome = outcome if call.outcome == CANCELLED else call.outcome

    def records(self) -> list[dict[str, object]]:
        """As the ledger keeps them."""
        return [msgspec.to_builtins(self._record(call)) for call in self.calls]

    def _record(self, call: Call) -> CallRecord:
        usage, estimated = _used(call)
        return CallRecord(
            id=call.id,
            provider=call.provider,
            model=call.model,
            mode=call.mode,
            input_tokens=usage.input_tokens,
            cache_read_tokens=usage.cache_read_tokens,
            cache_write_tokens=usage.cache_write_tokens,
            cache_write_hour_tokens=usage.cache_write_hour_tokens,
            output_tokens=usage.output_tokens,
            cost_usd=self._cost(call.model, usage),
            duration_ms=int(call.took_s * 1000),
            outcome=call.outcome,
            request_id=call.request_id,
            estimated=estimated,
            choice=call.choice,
        )

    def _cost(self, model: str | None, usage: Usage) -> float | None:
        if model is None:
            return 0.0
        price = self.price_of(model)
        return None if price is None else round(price.cost_usd(usage), 9)
