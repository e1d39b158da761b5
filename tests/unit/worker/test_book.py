"""What a call is recorded as that did not come to its end: what was used is never left out, and nothing is made up."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from precompact_shared.engine.mode import Choice, Mode, Reason
from precompact_shared.engine.usage import Usage
from precompact_shared.prices import Price
from precompact_shared.store.types import JobKind, JobState, JobTag
from precompact_worker.book import Book
from precompact_worker.lease import LeaseLost
from precompact_worker.providers.verdicts import ProviderTimeout

JOB = JobTag(jid="j", version=0, kind=JobKind.DUE, state=JobState.RUNNING, fence=3)
EXPECTED = Usage(input_tokens=1_000_000)


def book(note: Callable[[], Awaitable[None]] | None = None) -> Book:
    """A book in which a million tokens cost a dollar."""
    return Book(JOB, lambda: 0.0, lambda _: Price(1, 1, 1, 1), note=note)


async def pay(made: Book, failure: BaseException | None = None) -> None:
    """A call that ends like this."""
    choice = Choice(Mode.PREFIX, Reason.CHEAPER, 0.2, 0.1)
    async with made.pay("anthropic", "m", mode="prefix", expected=EXPECTED, choice=choice):
        if failure is not None:
            raise failure


@pytest.mark.parametrize("failure", [LeaseLost("version_changed"), asyncio.CancelledError(), OSError()])
async def test_a_call_that_the_ledger_did_not_take_was_not_made_and_costs_nothing(
    failure: BaseException,
) -> None:
    """The job was cancelled, its time was up, or the store did not answer."""

    async def refuse() -> None:
        raise failure

    made = book(refuse)
    with pytest.raises(type(failure)):
        await pay(made)
    [told] = made.records()
    assert (told["outcome"], told["input_tokens"], told["cost_usd"]) == ("not_sent", 0, 0)
    assert told["estimated"] is False


async def test_it_is_in_the_ledger_before_it_is_made() -> None:
    """With what it will cost at least, so that the death of this process hides nothing."""
    seen: list[dict[str, object]] = []

    async def note() -> None:
        seen.extend(made.records())

    made = book(note)
    await pay(made)
    [told] = seen
    assert (told["outcome"], told["input_tokens"], told["estimated"]) == ("begun", 1_000_000, True)


@pytest.mark.parametrize(
    ("failure", "outcome"), [(asyncio.CancelledError(), "cancelled"), (ProviderTimeout(), "provider_timeout")]
)
async def test_a_call_that_was_cut_short_is_estimated(failure: BaseException, outcome: str) -> None:
    """Somebody may have read all of the prompt."""
    made = book()
    with pytest.raises(type(failure)):
        await pay(made, failure)
    [told] = made.records()
    assert (told["outcome"], told["cost_usd"], told["estimated"]) == (outcome, 1.0, True)


@pytest.mark.parametrize("told", [Usage(), Usage(700, 0, 0, 1)])
async def test_what_was_heard_of_a_reply_that_broke_off_counts_as_output(told: Usage) -> None:
    """Anthropic tells the prompt's usage first and the reply's last; OpenAI tells both last."""
    made = book()
    with pytest.raises(ProviderTimeout):
        async with made.pay("anthropic", "gpt-4.1", mode="transcript", expected=EXPECTED) as call:
            call.usage, call.heard = told, "one two three four five"
            raise ProviderTimeout
    [record] = made.records()
    assert record["input_tokens"] == (told.input_tokens or EXPECTED.input_tokens)
    assert (record["output_tokens"], record["estimated"]) == (5, True)


async def test_why_this_mode_is_on_record_with_what_both_were_reckoned_to_cost() -> None:
    """In words of ours and numbers."""
    made = book()
    await pay(made)
    assert made.records()[0]["choice"] == {
        "mode": "prefix",
        "reason": "cheaper",
        "transcript_usd": 0.2,
        "prefix_usd": 0.1,
    }
