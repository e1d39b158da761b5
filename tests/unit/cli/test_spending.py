"""What summaries cost, by the service's records."""

from __future__ import annotations

from typing import Any

from precompact_cli.spending import spent_on, told_spending

USAGE = {
    "calls": 3,
    "input_tokens": 1_000,
    "cache_read_tokens": 200,
    "cache_write_tokens": 30,
    "output_tokens": 400,
    "cost_usd": 0.25,
    "unpriced_calls": 1,
}


def call(
    provider: str, outcome: str = "ok", model: str | None = "m", mode: str = "transcript"
) -> dict[str, Any]:
    """A record of the ledger, as far as it is read."""
    return {"provider": provider, "model": model, "mode": mode, "outcome": outcome}


def test_the_provider_of_most_good_calls_is_named_and_all_are_counted() -> None:
    """Failed calls are told apart; tokens stand by price class; money is the session's."""
    jobs = [
        {"calls": [call("anthropic", "overloaded"), call("openai")]},
        {"calls": [call("openai"), call("extractive", model=None, mode="code")]},
        {},
    ]
    spent = spent_on(jobs, USAGE, "precompact")
    assert (spent["provider"], spent["model"], spent["mode"]) == ("openai", "m", "transcript")
    assert spent["written_by"] == {"extractive": 1, "openai": 2}
    assert (spent["failed_calls"], spent["failures"]) == (1, {"anthropic: overloaded": 1})
    assert spent["summary_tokens"] == {"input": 1_000, "cache_read": 200, "cache_write": 30, "output": 400}
    assert (spent["cost_usd"], spent["unpriced_calls"], spent["summary_calls"]) == (0.25, 1, 3)
    line = told_spending(spent)
    assert "failed: 1 anthropic: overloaded" in line
    assert "1,230 tokens in (200 from a cache), 400 out, $0.25" in line
    assert "1 calls of unknown price" in line


def test_a_session_without_summaries_cost_nothing() -> None:
    """Nobody is named."""
    spent = spent_on([], {}, None)
    assert (spent["provider"], spent["written_by"], spent["cost_usd"]) == (None, {}, 0)
    assert told_spending(spent) == "summaries: none were written"


def test_summaries_by_code_have_no_price() -> None:
    """No model was called."""
    spent = spent_on([{"calls": [call("scripted", model=None, mode="code")]}], {"calls": 1}, "precompact")
    assert told_spending(spent) == "summaries by scripted: 1 written, no model was called"
