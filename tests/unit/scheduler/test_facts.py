"""Events and views say the same about a session."""

from __future__ import annotations

import json
from typing import Any

import pytest

from precompact_scheduler.facts import LimitsCache, statement_of_event, statement_of_view
from precompact_shared.events import Event, Garbage, decode_event
from precompact_shared.policy import Policy
from precompact_shared.store.types import CandidateTag, JobKind, JobState, JobTag, SessionView, Slot

SIZE: dict[str, Any] = {
    "t": "size",
    "tenant": "acme",
    "session": "s1",
    "version": 2,
    "length": 40,
    "at_ms": 1_700_000_000_000,
    "tokens": 90_000,
    "window": 200_000,
    "max_output": 8_000,
    "model": "claude-x",
    "observed_limit": 150_000,
    "growth": 12.5,
    "job": {"jid": "j1", "kind": "due", "state": "queued", "version": 2},
    "cands": [
        ["c1", "speculative", 10, 900, 30, 70_000, 40_000],
        ["c2", "manual", 12, 950, 31, 71_000, 41_000],
        ["c3", "floor", 30, 990, 32, 72_000, 42_000],
    ],
}


def decoded(**changes: Any) -> Event:
    """The event as it comes from a stream."""
    return decode_event({b"e": json.dumps({**SIZE, **changes}).encode()})


def candidate(cid: str, slot: Slot, row: list[Any]) -> CandidateTag:
    """A candidate of the event, as a view has it."""
    return CandidateTag(
        cid=cid,
        slot=slot,
        upto=row[2],
        tokens_after=row[3],
        length_at_snapshot=row[4],
        tokens_at_snapshot=row[5],
        tokens_before=row[6],
        version=2,
        prefix="0" * 40,
        preset="precompact",
        preset_version="1",
        provider="extractive",
    )


def test_an_event_and_a_view_make_the_same_statement() -> None:
    """So the sweeper decides what the loop would have decided."""
    rows = SIZE["cands"]
    view = SessionView(
        tenant="acme",
        session="s1",
        incarnation=0,
        format="anthropic",
        version=2,
        rewritten_at=0,
        length=40,
        head="0" * 40,
        tokens=90_000,
        model="claude-x",
        window=200_000,
        max_output=8_000,
        observed_limit=150_000,
        growth_tokens_per_s=12.5,
        now_ms=1_700_000_000_000,
        job=JobTag(jid="j1", version=2, kind=JobKind.DUE, state=JobState.QUEUED),
        candidates=[candidate(row[0], Slot(row[1]), row) for row in rows],
    )
    assert statement_of_view(view) == statement_of_event(decoded())


def test_the_candidate_that_covers_most_counts_and_floors_do_not() -> None:
    """A floor only bridges a wait."""
    found = statement_of_event(decoded()).candidate
    assert found is not None
    assert found.cid == "c2"
    assert statement_of_event(decoded(cands=[SIZE["cands"][2]])).candidate is None


def test_an_event_of_an_older_store_without_the_last_number_is_still_read() -> None:
    """Readers and writers are not restarted at the same moment."""
    found = statement_of_event(decoded(cands=[["c1", "speculative", 10, 900, 30, 70_000]])).candidate
    assert found is not None
    assert found.tokens_before is None


@pytest.mark.parametrize("raw", [b"", b"{}", b"[]", b"null", b"\xff\xfe", b'{"t": 1}', b'{"t": "size"}'])
def test_what_is_no_event_is_garbage_and_no_crash(raw: bytes) -> None:
    """In any shape a stream entry may have."""
    for fields in ({b"e": raw}, [b"e", raw], {b"x": raw}, [b"x", raw], [], {}):
        with pytest.raises(Garbage):
            decode_event(fields)


def test_unknown_fields_of_a_newer_store_are_ignored() -> None:
    """They are for newer readers."""
    assert decoded(brand_new=1).tokens == 90_000


def test_limits_are_reckoned_once_per_policy_model_and_window() -> None:
    """And anew when the policy changes."""
    cache, policy = LimitsCache(), Policy()
    statement = statement_of_event(decoded(observed_limit=None))
    first = cache.get(policy, statement)
    assert first is not None
    assert cache.get(policy, statement) is first
    other = cache.get(Policy(limit_share=0.5), statement)
    assert other is not None
    assert other.limit < first.limit


def test_a_policy_names_the_window_of_a_model_nobody_knows() -> None:
    """Without it the limits are unknown, and that is told."""
    statement = statement_of_event(
        decoded(model="house-model-7", window=None, max_output=None, observed_limit=None)
    )
    assert LimitsCache().get(Policy(), statement) is None
    policy = Policy.model_validate({"windows": {"house-": {"window": 50_000, "max_output": 2_000}}})
    limits = LimitsCache().get(policy, statement)
    assert limits is not None
    assert limits.hard == 47_000
