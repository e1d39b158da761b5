"""Records of the service in words."""

from __future__ import annotations

from typing import Any

import pytest

from precompact_cli.sentences import in_words, sum_up, tell, tell_candidate, tell_job

NOTHING: dict[str, Any] = {
    "kind": "decided",
    "at_ms": 1_000,
    "version": 2,
    "length": 31,
    "action": "none",
    "reason": "below_start_point",
    "tokens": 500,
    "start": 900,
    "limit": 1_000,
}


def test_nothing_happened_is_said_with_the_numbers_that_decided_it() -> None:
    """Size, start point and limit."""
    assert tell(NOTHING) == (
        "1970-01-01 00:00:01  v2 length 31  nothing was done: the session is below the start point. "
        "(size 500, start point 900, limit 1,000 tokens)"
    )


@pytest.mark.parametrize(
    ("record", "words"),
    [
        ({"kind": "claimed", "job_kind": "due", "jid": "j1"}, "due job j1 was claimed"),
        (
            {"kind": "stored", "slot": "floor", "upto": 5, "tokens_before": 900},
            "entries 0 to 4, 900 to ? tokens",
        ),
        ({"kind": "adopted", "n": 2, "upto": 9}, "checkpoint 2 was adopted: entries 0 to 8"),
        (
            {"kind": "closed", "cid": "c1", "reason": "version_changed"},
            "the history it was made from was rewritten",
        ),
        ({"kind": "refused", "jid": "j1", "reason": "not_smaller"}, "it would not have been smaller"),
        ({"kind": "finished", "jid": "j1", "action": "skip", "reason": "all_fits"}, "job j1 ended (skip)"),
        ({"kind": "reverted", "n": 2}, "checkpoint 2 was taken back"),
        (
            {"kind": "decided", "action": "claim", "job_kind": "due", "reason": "limit_reached"},
            "a due job was asked",
        ),
        ({"kind": "decided", "action": "hurry", "reason": "x"}, "was hurried"),
        ({"kind": "hurried", "jid": "j1", "job_kind": "due"}, "job j1 became due"),
        ({"kind": "never seen", "a": 1}, "never seen: a 1"),
    ],
)
def test_every_kind_of_record_has_a_sentence(record: dict[str, Any], words: str) -> None:
    """Also a kind this version does not know."""
    assert words in tell(record)


def test_the_answer_is_the_newest_decision() -> None:
    """Or, without one, that nobody decided."""
    adopted = {"kind": "adopted", "n": 1, "upto": 3}
    assert sum_up([adopted, NOTHING], {}).startswith("Nothing new is being prepared: the session is below")
    claim = {"kind": "decided", "action": "claim", "job_kind": "due", "reason": "limit_reached"}
    assert "a due job" in sum_up([claim], {"checkpoint_n": 2})
    assert "No scheduler has decided" in sum_up([], {})


def test_jobs_and_candidates_are_lines() -> None:
    """With state and reason."""
    job = {"jid": "j1", "kind": "due", "state": "dead", "attempt": 4, "reason": "provider_error"}
    assert tell_job(job) == "due job j1 is dead, attempt 4: provider error"
    choice = {"mode": "transcript", "reason": "cold", "transcript_usd": 0.25, "prefix_usd": 0.5}
    told = tell_job({**job, "calls": [{"mode": "code"}, {"choice": choice}]})
    assert told.endswith(
        "asked as a transcript: the prefix would be cheaper, but is not in the cache (prefix $0.5000, transcript $0.2500)"
    )
    unknown = {"mode": "prefix", "reason": "asked_for", "transcript_usd": None, "prefix_usd": None}
    assert tell_job({**job, "calls": [{"choice": unknown}]}).endswith("the live prefix: the policy says so")
    candidate = {
        "cid": "c1",
        "state": "closed",
        "upto": 3,
        "tokens_before": 9,
        "tokens_after": 2,
        "reason": "expired",
    }
    assert tell_candidate(candidate) == (
        "candidate c1 is closed, covers entries 0 to 2, 9 to 2 tokens: it waited too long"
    )


def test_unknown_reasons_show_as_they_are() -> None:
    """A code without words is still readable."""
    assert in_words("some_new_code") == "some new code"
    assert in_words(None) == "no reason was recorded"
    assert "send `window`" in in_words("window_unknown: send `window` with …")
