"""Rules 16 to 18 and I6: the ledger."""

from __future__ import annotations

import pytest

from precompact_shared.store.op import Op
from precompact_shared.store.types import Seen
from tests.property.both import ATTEMPTS, LEASE_MS, RESEND_MS
from tests.property.stage import Stage


def test_rule_16_ready_queued_running_done(stage: Stage) -> None:
    """Fence, attempt and lease begin with running."""
    stage.has(4)
    stage.claim("j", "speculative")
    assert (stage.job_of("j").state, stage.job_of("j").fence) == ("ready", 0)
    stage.queued("j")
    assert (stage.job_of("j").state, stage.job_of("j").attempt) == ("queued", 0)
    job = stage.start("j").job
    assert job is not None
    assert (job.state, job.fence, job.attempt, job.lease_until_ms) == (
        "running",
        1,
        1,
        stage.now_ms + LEASE_MS,
    )
    stage.say(job, 3)
    stage.store_it(job, 3)
    assert stage.job_of("j").state == "done"


def test_rule_16_a_resend_is_no_attempt(stage: Stage) -> None:
    """A lost message costs nothing but time."""
    stage.has(4)
    stage.claim("j", "speculative")
    for _ in range(ATTEMPTS + 1):
        stage.queued("j")
        stage.now_ms += RESEND_MS + 1
        assert stage.due("j").o == "send"
    assert stage.start("j").o == "started"
    assert stage.job_of("j").attempt == 1


def test_rule_16_two_messages_for_one_job_start_it_once(stage: Stage) -> None:
    """The second worker leaves while the lease holds."""
    stage.has(4)
    stage.begin("j")
    answer = stage.start("j")
    assert (answer.o, answer.reason) == ("skip", "running")


def test_rule_16_the_attempts_are_spent_and_the_job_is_dead_with_a_reason(stage: Stage) -> None:
    """Four leases run out; nobody starts it a fifth time."""
    stage.has(4)
    stage.claim("j", "speculative")
    for attempt in range(1, ATTEMPTS + 1):
        stage.start("j")
        assert stage.job_of("j").attempt == attempt
        stage.now_ms += LEASE_MS + 1
        assert stage.due("j").o == ("dead" if attempt == ATTEMPTS else "send")
    assert (stage.job_of("j").state, stage.job_of("j").reason) == ("dead", "attempts_spent")
    assert stage.start("j").reason == "dead"


def test_rule_16_a_worker_that_lost_its_lease_stores_nothing(stage: Stage) -> None:
    """Paused for a minute; another one has the job."""
    stage.has(4)
    old = stage.begin("j")
    stage.say(old, 3)
    stage.now_ms += LEASE_MS + 1
    stage.due("j")
    new = stage.start("j").job
    assert new is not None
    stage.say(new, 4)
    assert stage.beat("j", old.fence).reason == "fence"
    assert stage.store_it(old, 4).o == "lost"
    assert stage.finish("j", old.fence, "dead").o == "lost"
    assert stage.store_it(new, 4).o == "stored"


def test_rule_16_a_lease_that_ran_out_unnoticed_is_renewed_by_its_holder(stage: Stage) -> None:
    """Nobody else has begun: the work is still good."""
    stage.has(4)
    job = stage.begin("j")
    stage.now_ms += LEASE_MS + 1
    assert stage.beat("j", job.fence).o == "ok"
    assert stage.start("j").reason == "running"


def test_rule_16_a_lost_lease_takes_the_announcement_along(stage: Stage) -> None:
    """The next attempt plans anew; until then every bump closes the job."""
    stage.has(5)
    job = stage.begin("j")
    stage.say(job, 3)
    stage.now_ms += LEASE_MS + 1
    stage.due("j")
    stage.rewind(4, seen=stage.seen, req="r")
    assert stage.job_of("j").state == "cancelled"


def test_rule_16_a_new_attempt_takes_the_announcement_along_too(stage: Stage) -> None:
    """A lease that ran out is taken over by the next worker directly."""
    stage.has(5)
    stage.say(stage.begin("j"), 3)
    stage.now_ms += LEASE_MS + 1
    stage.start("j")
    stage.rewind(4, seen=stage.seen, req="r")
    assert stage.job_of("j").state == "cancelled"


def test_rule_16_a_retry_comes_back_at_its_time_and_not_before(stage: Stage) -> None:
    """A retryable failure returns to ready with a time."""
    stage.has(4)
    job = stage.begin("j")
    stage.finish("j", job.fence, "retry", reason="rate_limited", delay_ms=5000)
    assert stage.due("j").o == "later"
    assert stage.start("j").reason == "not_due"
    stage.now_ms += 5000
    assert stage.due("j").o == "send"
    assert stage.start("j").o == "started"


def test_rule_16_the_last_attempts_failure_is_death(stage: Stage) -> None:
    """However retryable it was."""
    stage.has(4)
    stage.claim("j", "speculative")
    for _ in range(ATTEMPTS):
        job = stage.start("j").job
        assert job is not None
        stage.finish("j", job.fence, "retry", reason="server_error")
    assert (stage.job_of("j").state, stage.job_of("j").reason) == ("dead", "server_error")


def test_rule_16_a_drain_gives_the_attempt_back_and_not_the_fence(stage: Stage) -> None:
    """A shutdown is nobody's failure; the old worker still must not store."""
    stage.has(4)
    old = stage.begin("j")
    stage.say(old, 3)
    stage.finish("j", old.fence, "release", reason="drain")
    assert stage.store_it(old, 3).o == "lost"
    new = stage.start("j").job
    assert new is not None
    assert (new.fence, new.attempt) == (2, 1)


@pytest.mark.parametrize("bump", ["rewind", "revert", "adopt"])
def test_rule_16_every_bump_closes_a_queued_job(stage: Stage, bump: str) -> None:
    """It has announced nothing that could be judged."""
    stage.has(5)
    stage.take(stage.make("a", 2))
    cid = stage.make("b", 3)
    stage.claim("j", "due")
    stage.queued("j")
    if bump == "rewind":
        stage.rewind(4, seen=stage.seen, req="r")
    elif bump == "revert":
        stage.revert(1, req="v")
    else:
        stage.take(cid)
    assert (stage.job_of("j").state, stage.job_of("j").reason) == ("cancelled", "version_changed")


def test_rule_16_a_base_that_closes_closes_its_refresh(stage: Stage) -> None:
    """Declined while its refresh runs."""
    stage.has(5)
    base = stage.make("a", 3)
    job = stage.begin("b", "refresh", base=base)
    stage.say(job, 5)
    stage.close(base, "declined")
    assert stage.job_of("b").state == "cancelled"
    assert stage.store_it(job, 5).o == "lost"


def test_rule_16_a_job_ends_once(stage: Stage) -> None:
    """Whatever comes after finds it ended."""
    stage.has(4)
    job = stage.begin("j")
    stage.cancel("j", "asked")
    assert stage.cancel("j").o == "skip"
    assert stage.finish("j", job.fence, "dead").o == "lost"
    assert stage.queued("j").o == "skip"
    assert stage.due("j").o == "gone"
    assert (stage.job_of("j").state, stage.job_of("j").reason) == ("cancelled", "asked")


BACKGROUND = ("speculative", "refresh", "idle")
AT_THE_LIMIT = ("due", "overflow")


@pytest.mark.parametrize("kind", BACKGROUND)
@pytest.mark.parametrize("wish", AT_THE_LIMIT)
def test_rule_16_a_retry_that_waits_for_its_time_does_not_hold_up_what_is_due(
    stage: Stage, kind: str, wish: str
) -> None:
    """It begins at once, as a job of the kind that was wanted, with a deadline that starts now; attempts stay counted."""
    stage.has(4)
    base = stage.make("b", 2) if kind == "refresh" else None
    job = stage.begin("j", kind, base=base)
    stage.finish("j", job.fence, "retry", reason="rate_limited", delay_ms=300_000)
    stage.now_ms += 200_000
    answer = stage.claim("k", wish, urgency=0)
    assert (answer.o, answer.jid) == ("in_flight", "j")
    hurried = stage.job_of("j")
    assert (hurried.kind, hurried.state, hurried.attempt, hurried.base) == (wish, "ready", 1, base)
    assert hurried.deadline_ms == stage.now_ms + 120_000
    stage.now_ms += 2_000
    assert stage.due("j").o == "send"
    again = stage.start("j")
    assert again.o == "started"
    assert again.job is not None
    assert (again.job.kind, again.job.attempt) == (wish, 2)


@pytest.mark.parametrize("wish", AT_THE_LIMIT)
def test_rule_13_a_running_job_is_joined_and_its_retry_waits_for_nothing(stage: Stage, wish: str) -> None:
    """With its original deadline; the hurry is used up by the attempt that follows."""
    stage.has(4)
    job = stage.begin("j")
    deadline_ms = job.deadline_ms
    stage.now_ms += 1_000
    assert stage.claim("k", wish, urgency=0).o == "in_flight"
    assert (stage.job_of("j").state, stage.job_of("j").deadline_ms) == ("running", deadline_ms)
    stage.finish("j", job.fence, "retry", reason="rate_limited", delay_ms=300_000)
    again = stage.start("j")
    assert again.o == "started"
    assert again.job is not None
    assert again.job.kind == wish
    stage.finish("j", again.job.fence, "retry", reason="rate_limited", delay_ms=300_000)
    assert stage.start("j").reason == "not_due"


def test_rule_17_what_is_due_already_or_wanted_by_hand_keeps_its_kind_and_its_time(stage: Stage) -> None:
    """Only what nobody waited for is hurried; a background claim hurries nothing."""
    stage.has(4)
    job = stage.begin("d", "due")
    stage.finish("d", job.fence, "retry", reason="rate_limited", delay_ms=5_000)
    assert stage.claim("k", "overflow").o == "in_flight"
    assert stage.claim("l", "speculative").o == "in_flight"
    assert stage.job_of("d").kind == "due"
    assert stage.start("d").reason == "not_due"
    assert stage.claim("m", "manual").o == "claimed"
    hand = stage.start("m").job
    assert hand is not None
    stage.finish("m", hand.fence, "retry", reason="rate_limited", delay_ms=5_000)
    assert stage.claim("n", "due").o == "in_flight"
    assert stage.job_of("m").kind == "manual"


def test_rule_17_one_live_job_a_session(stage: Stage) -> None:
    """Whatever asks, joins."""
    stage.has(4)
    stage.claim("a", "speculative")
    for kind in ("speculative", "idle", "due", "refresh", "overflow", "branch"):
        assert stage.claim("b", kind).o == "in_flight"


def test_rule_17_manual_closes_a_speculative_job_and_never_the_other_way(stage: Stage) -> None:
    """Who asked by hand comes first."""
    stage.has(4)
    job = stage.begin("a")
    stage.say(job, 3)
    assert stage.claim("m", "manual").o == "claimed"
    assert stage.job_of("a").reason == "superseded"
    assert stage.store_it(job, 3).o == "lost"
    assert stage.claim("b", "due").o == "in_flight"


def test_rule_17_a_second_manual_with_the_same_focus_joins_and_another_waits(stage: Stage) -> None:
    """Two different summaries at once are not wanted."""
    stage.has(4)
    stage.claim("m", "manual", focus="tests")
    assert (stage.claim("n", "manual", focus="tests").o, stage.claim("o", "manual", focus="docs").o) == (
        "joined",
        "in_flight",
    )
    assert stage.claim("p", "manual").o == "in_flight"


def test_rule_17_while_a_manual_job_lives_nothing_else_is_adopted_unless_forced(stage: Stage) -> None:
    """Forced = the limit is reached and `wait` is spent."""
    stage.has(5)
    cid = stage.make("a", 3)
    stage.begin("m", "manual")
    answer = stage.take(cid)
    assert (answer.o, answer.reason) == ("deferred", "manual_running")
    assert stage.open_ones() == [cid]
    assert stage.take(cid, forced=True).o == "adopted"


def test_rule_17_a_manual_candidate_is_adopted_while_the_next_manual_job_runs(stage: Stage) -> None:
    """It is what was asked for."""
    stage.has(5)
    cid = stage.make("m", 3, "manual")
    stage.begin("n", "manual")
    assert stage.take(cid).o == "adopted"


def test_rule_17_overflow_runs_once_per_refused_version_and_length(stage: Stage) -> None:
    """A retry of the same refused request must not pay again; a longer one may."""
    stage.has(4)
    at = Seen(0, 4)
    job = stage.begin("o", "overflow", overflow_at=at)
    stage.finish("o", job.fence, "dead", reason="provider")
    assert stage.claim("p", "overflow", overflow_at=at).o == "once"
    stage.grow()
    assert stage.claim("q", "overflow", overflow_at=Seen(0, 5)).o == "claimed"


def test_rule_17_an_overflow_that_only_joined_may_run_later(stage: Stage) -> None:
    """It has not run: another job was in the way."""
    stage.has(4)
    stage.claim("a", "speculative")
    assert stage.claim("o", "overflow", overflow_at=Seen(0, 4)).o == "in_flight"
    stage.cancel("a")
    assert stage.claim("o", "overflow", overflow_at=Seen(0, 4)).o == "claimed"


def test_rule_18_a_claim_is_an_event_and_a_place_in_the_open_jobs(stage: Stage) -> None:
    """So that schedulers send it, and find it when the event is lost."""
    stage.has(4)
    stage.claim("j", "due")
    events = Op(None, (), ("XRANGE", stage.keys.shard.events, "-", "+"), lambda raw: raw)
    newest = stage.store.run(events)[-1][1][b"e"]
    assert b'"t":"job"' in newest
    assert b'"state":"ready"' in newest
    assert stage.facts.in_open_jobs == {f"{stage.keys.name}\nj"}


def test_invariant_6_a_claimed_job_nobody_sent_is_sent_by_the_sweeper(stage: Stage) -> None:
    """The claimer died between claim and send."""
    stage.has(4)
    stage.claim("j", "due")
    assert stage.due("j").o == "send"


def test_invariant_6_a_sweep_makes_the_next_sweeper_wait(stage: Stage) -> None:
    """Several sweepers do not all send: the place in the open jobs moves on."""
    stage.has(4)
    stage.claim("j", "due")
    stage.due("j")
    look_at = stage.store.client.zscore(stage.keys.shard.open_jobs, f"{stage.keys.name}\nj")
    assert look_at == stage.now_ms + RESEND_MS


def test_invariant_6_an_event_stays_unhandled_until_its_own_state_is_decided(stage: Stage) -> None:
    """A decision about an older length does not clear the mark."""
    stage.has(4)
    old = stage.seen
    stage.grow()
    assert stage.handled(old.version, old.length).o == "moved"
    assert stage.facts.unhandled
    assert stage.handled(stage.seen.version, stage.seen.length).o == "ok"
    assert not stage.facts.unhandled
