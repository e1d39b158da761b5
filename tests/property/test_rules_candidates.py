"""Rules 5 to 9: what a candidate may rely on, what a rewrite leaves of it, and which are refused."""

from __future__ import annotations

from precompact_shared.store.ops import Announcement, Changes
from precompact_shared.store.types import AgentCache, Seen, Usage
from tests.property.making import candidate_tag
from tests.property.stage import Stage


def test_rule_05_a_claim_for_an_older_version_is_refused(stage: Stage) -> None:
    """The event was of a history that is gone."""
    stage.has(4)
    stage.rewind(3, seen=stage.seen, req="r")
    assert stage.claim("j", "speculative", version=0).o == "version_changed"
    assert stage.view.job is None


def test_rule_05_a_job_whose_history_was_rewritten_before_its_start_never_starts(stage: Stage) -> None:
    """Its message is still on its way; it finds itself cancelled."""
    stage.has(4)
    stage.claim("j", "speculative")
    stage.queued("j")
    stage.rewind(3, seen=stage.seen, req="r")
    answer = stage.start("j")
    assert (answer.o, answer.reason) == ("skip", "cancelled")


def test_rule_05_a_heartbeat_learns_that_the_history_was_rewritten(stage: Stage) -> None:
    """So that the call is stopped and not paid to the end."""
    stage.has(4)
    job = stage.begin("j")
    stage.rewind(3, seen=stage.seen, req="r")
    answer = stage.beat("j", job.fence)
    assert (answer.o, answer.reason) == ("lost", "version_changed")


def test_rule_05_a_put_after_a_rewrite_below_its_cut_is_lost(stage: Stage) -> None:
    """The late text must not be stored under the new version."""
    stage.has(4)
    job = stage.begin("j")
    stage.say(job, 4)
    stage.rewind(3, seen=stage.seen, req="r")
    stage.grow()
    answer = stage.store_it(job, 4)
    assert (answer.o, answer.reason) == ("lost", "version_changed")
    assert stage.open_ones() == []


def test_rule_05_a_cut_planned_before_a_rewrite_cannot_be_announced_behind_it(stage: Stage) -> None:
    """A slow worker reads entries of the new history under the old job."""
    stage.has(4)
    job = stage.begin("j")
    old = stage.prefix(4)
    stage.rewind(3, seen=stage.seen, req="r")
    stage.grow()
    assert stage.beat("j", job.fence, Announcement(4, old)).o == "lost"
    assert stage.beat("j", job.fence, Announcement(4, stage.prefix(4))).o == "lost"


def test_rule_05_an_announcement_whose_digest_does_not_hold_is_refused(stage: Stage) -> None:
    """Nor one that goes beyond the end, nor one whose edits end before its cut."""
    stage.has(4)
    job = stage.begin("j")
    assert stage.beat("j", job.fence, Announcement(3, stage.prefix(2))).o == "lost"
    assert stage.beat("j", job.fence, Announcement(9, stage.prefix(4))).o == "lost"
    assert stage.beat("j", job.fence, Announcement(9, stage.prefix(2), through=2)).o == "lost"
    assert stage.job_of("j").upto is None


def test_rule_05_the_tag_is_of_the_jobs_start_and_never_what_the_worker_says(stage: Stage) -> None:
    """Version, slot, base and job are set by the store."""
    stage.has(4)
    job = stage.begin("j")
    stage.say(job, 3)
    stage.store_it(job, 3, version=77, slot="floor", base="c-other")
    tag = stage.view.candidates[0]
    assert (tag.version, tag.slot, tag.base, tag.job, tag.state) == (0, "speculative", None, "j", "open")


def test_rule_05_a_candidate_cut_elsewhere_than_announced_is_refused(stage: Stage) -> None:
    """Its text stands for other entries than the tag would say (I3)."""
    stage.has(4)
    job = stage.begin("j")
    stage.say(job, 3)
    answer = stage.put("j", job.fence, candidate_tag("c", 2, stage.prefix(2)), stage.source(2))
    assert (answer.o, answer.reason) == ("refused", "version_changed")


def test_rule_05_nothing_is_stored_without_an_announcement(stage: Stage) -> None:
    """A re-stamp could not be judged."""
    stage.has(4)
    job = stage.begin("j")
    answer = stage.store_it(job, 3)
    assert (answer.o, answer.reason) == ("lost", "not_announced")


def test_rule_05_a_refresh_needs_a_base_of_the_sessions_version(stage: Stage) -> None:
    """A closed or unknown candidate is no base."""
    stage.has(4)
    cid = stage.make("a", 3)
    stage.rewind(2, seen=stage.seen, req="r")
    assert stage.claim("j", "refresh", base=cid).o == "base_gone"
    assert stage.claim("j", "refresh", base="c-unknown").o == "base_gone"


def test_rule_05_a_manual_wish_without_a_base_does_not_end_the_job_it_would_replace(stage: Stage) -> None:
    """A refusal changes nothing."""
    stage.has(4)
    stage.begin("j")
    assert stage.claim("m", "manual", base="c-unknown").o == "base_gone"
    assert stage.view.job is not None
    assert stage.view.job.jid == "j"


def test_rule_06_sdk_popping_its_last_items_does_not_cost_the_candidate(stage: Stage) -> None:
    """An SDK retries a turn: it pops two items and adds them again."""
    stage.has(6)
    cid = stage.make("j", 4)
    held = stage.held()
    stage.rewind(4, seen=stage.seen, req="r")
    stage.append(held[4:], seen=stage.seen)
    assert stage.view.candidates[0].version == stage.view.version == 1
    assert stage.take(cid).o == "adopted"


def test_rule_06_sdk_popping_its_last_items_does_not_cost_the_running_job(stage: Stage) -> None:
    """The job announced a cut in front of what was popped."""
    stage.has(6)
    job = stage.begin("j")
    stage.say(job, 4)
    stage.rewind(4, seen=stage.seen, req="r")
    assert stage.beat("j", job.fence).o == "ok"
    assert stage.store_it(job, 4).o == "stored"
    assert stage.view.candidates[0].version == 1


def test_rule_06_a_rewrite_below_the_cut_closes_candidate_and_job(stage: Stage) -> None:
    """One entry further and the text is of a history that is gone."""
    stage.has(6)
    cid = stage.make("a", 4)
    job = stage.begin("b", "due")
    stage.say(job, 5)
    stage.rewind(3, seen=stage.seen, req="r")
    assert stage.fate(cid) == ("closed", "version_changed")
    assert (stage.job_of("b").state, stage.job_of("b").reason) == ("cancelled", "version_changed")


def test_rule_06_a_replacement_behind_the_cut_re_stamps_and_one_inside_closes(stage: Stage) -> None:
    """Position alone decides."""
    stage.has(6)
    cid = stage.make("a", 4)
    stage.replace(4, stage.entry(), seen=stage.seen, req="r1")
    assert stage.open_ones() == [cid]
    stage.replace(3, stage.entry(), seen=stage.seen, req="r2")
    assert stage.fate(cid) == ("closed", "version_changed")


def test_rule_06_equal_entries_again_do_not_revive_a_closed_candidate(stage: Stage) -> None:
    """Closed is closed, whatever the digests say now."""
    stage.has(5)
    cid, held = stage.make("a", 4), stage.held()
    stage.rewind(2, seen=stage.seen, req="r")
    stage.append(held[2:], seen=stage.seen)
    answer = stage.take(cid)
    assert (answer.o, answer.reason) == ("refused", "version_changed")


def test_rule_06_adoption_re_stamps_what_is_based_on_the_adopted(stage: Stage) -> None:
    """A refresh that runs over an adoption of its base goes on and is adopted next."""
    stage.has(6)
    base = stage.make("a", 3)
    job = stage.begin("b", "refresh", base=base)
    stage.say(job, 5)
    assert stage.take(base).o == "adopted"
    assert stage.store_it(job, 5).o == "stored"
    assert stage.take("c-b").o == "adopted"
    assert (stage.view.version, stage.view.upto, len(stage.facts.chain)) == (2, 5, 2)


def test_rule_06_adoption_closes_what_is_not_based_on_the_adopted(stage: Stage) -> None:
    """A manual candidate made on the originals would be the second text for the same part."""
    stage.has(6)
    a, m = stage.make("a", 3), stage.make("m", 4, "manual")
    stage.begin("d", "due")
    stage.take(a)
    assert stage.fate(m) == ("closed", "version_changed")
    assert stage.job_of("d").state == "cancelled"


def test_rule_06_a_refresh_that_has_not_announced_is_closed_by_the_adoption_of_its_base(stage: Stage) -> None:
    """It would plan its cut on another state than it was claimed for."""
    stage.has(6)
    base = stage.make("a", 3)
    stage.begin("b", "refresh", base=base)
    stage.take(base)
    assert stage.job_of("b").state == "cancelled"


def test_rule_06_a_rewrite_between_the_base_and_the_cut_ends_the_refresh_and_keeps_the_base(
    stage: Stage,
) -> None:
    """Each is judged by its own reach."""
    stage.has(6)
    base = stage.make("a", 3)
    job = stage.begin("b", "refresh", base=base)
    stage.say(job, 6)
    stage.rewind(4, seen=stage.seen, req="r")
    assert stage.open_ones() == [base]
    assert stage.job_of("b").state == "cancelled"


def test_rule_07_a_candidate_that_is_not_smaller_ends_its_job_with_the_reason(stage: Stage) -> None:
    """It is never stored."""
    stage.has(4)
    job = stage.begin("j")
    stage.say(job, 3)
    answer = stage.store_it(job, 3, tokens_before=50, tokens_after=50)
    assert (answer.o, answer.reason) == ("refused", "not_smaller")
    assert (stage.job_of("j").state, stage.job_of("j").reason) == ("done", "not_smaller")


def test_rule_07_a_candidate_that_covers_no_more_than_the_checkpoint_is_not_ahead(stage: Stage) -> None:
    """Neither stored nor adopted."""
    stage.has(6)
    stage.take(stage.make("a", 4))
    job = stage.begin("b")
    stage.say(job, 4)
    answer = stage.store_it(job, 4)
    assert (answer.o, answer.reason) == ("refused", "not_ahead")


def test_rule_07_clearing_keeps_its_bases_upto_and_is_judged_by_its_last_edit(stage: Stage) -> None:
    """`through` takes the place of `upto` in digest and re-stamp tests."""
    stage.has(8)
    stage.take(stage.make("a", 2))
    cid = stage.make("b", 2, through=6)
    stage.rewind(6, seen=stage.seen, req="r1")
    assert stage.open_ones() == [cid]
    assert stage.take(cid).o == "adopted"
    assert (stage.view.upto, stage.view.checkpoint) == (2, cid)


def test_rule_07_a_rewrite_below_the_last_edit_closes_a_clearing_candidate(stage: Stage) -> None:
    """Although it covers nothing beyond the checkpoint."""
    stage.has(8)
    cid = stage.make("b", 0, through=6)
    stage.rewind(5, seen=stage.seen, req="r")
    assert stage.fate(cid) == ("closed", "version_changed")


def test_rule_07_a_rewrite_drops_the_edits_behind_it_and_keeps_the_clearing(stage: Stage) -> None:
    """An edit must not hit an entry that it was not made for."""
    stage.has(8)
    stage.take(stage.make("b", 0, through=6))
    stage.rewind(4, seen=stage.seen, req="r")
    stage.grow(3)
    assert stage.view.checkpoint == "c-b"
    assert stage.facts.chain[0].edit_limit == 4


def test_rule_07_a_clearing_that_edits_no_further_is_not_ahead(stage: Stage) -> None:
    """And one that does is."""
    stage.has(8)
    stage.take(stage.make("a", 0, through=4))
    job = stage.begin("b")
    stage.say(job, 0, through=4)
    assert stage.store_it(job, 0, through=4).reason == "not_ahead"
    assert stage.take(stage.make("c", 0, through=6)).o == "adopted"


def test_rule_08_a_candidate_is_discarded_once_and_keeps_its_reason(stage: Stage) -> None:
    """Whoever asks later learns why."""
    stage.has(4)
    cid = stage.make("a", 3)
    assert stage.close(cid, "declined").o == "closed"
    again = stage.close(cid, "expired")
    assert (again.o, again.reason) == ("not_open", "declined")
    answer = stage.take(cid)
    assert (answer.o, answer.reason) == ("refused", "declined")


def test_rule_08_what_was_declined_is_not_in_the_way_of_the_next(stage: Stage) -> None:
    """The slot is free."""
    stage.has(4)
    stage.close(stage.make("a", 3))
    assert stage.claim("b", "speculative").o == "claimed"


def test_rule_09_no_second_speculative_job_while_a_candidate_waits(stage: Stage) -> None:
    """Neither an idle one; a refresh on top and a due one may."""
    stage.has(6)
    cid = stage.make("a", 3)
    assert stage.claim("b", "speculative").o == "have_candidate"
    assert stage.claim("c", "idle").o == "have_candidate"
    assert stage.claim("d", "refresh", base=cid).o == "claimed"


def test_rule_09_the_base_stays_until_the_refresh_is_stored(stage: Stage) -> None:
    """Then it closes as superseded."""
    stage.has(6)
    base = stage.make("a", 3)
    job = stage.begin("b", "refresh", base=base)
    stage.say(job, 5)
    assert stage.open_ones() == [base]
    stage.store_it(job, 5)
    assert stage.open_ones() == ["c-b"]
    assert stage.fate(base) == ("closed", "superseded")


def test_rule_09_a_refresh_that_covers_no_more_than_its_base_is_refused(stage: Stage) -> None:
    """It would only cost; the base stays."""
    stage.has(6)
    base = stage.make("a", 3)
    job = stage.begin("b", "refresh", base=base)
    stage.say(job, 3)
    answer = stage.store_it(job, 3)
    assert (answer.o, answer.reason) == ("refused", "not_ahead")
    assert stage.open_ones() == [base]


def test_rule_09_a_failed_refresh_leaves_its_base_ready(stage: Stage) -> None:
    """Nothing was lost by trying."""
    stage.has(6)
    base = stage.make("a", 3)
    job = stage.begin("b", "refresh", base=base)
    stage.finish("b", job.fence, "dead", reason="provider")
    assert stage.take(base).o == "adopted"


def test_rule_09_at_most_one_speculative_and_one_manual_candidate(stage: Stage) -> None:
    """Each kind takes its own place."""
    stage.has(6)
    stage.make("a", 3)
    stage.make("m", 4, "manual")
    stage.make("d", 5, "due")
    stage.make("n", 5, "manual")
    assert stage.open_ones() == ["c-d", "c-n"]


def test_rule_14_usage_from_before_the_adoption_is_no_base_for_sizes(stage: Stage) -> None:
    """It was measured on the context that is gone."""
    stage.has(4)
    stage.append([], seen=stage.seen, changes=Changes(usage=Usage(total=900, version=0, length=4)))
    assert (stage.view.anchored, stage.view.tokens) == (True, 900)
    stage.take(stage.make("a", 3))
    assert not stage.view.anchored
    stage.append([], seen=stage.seen, changes=Changes(usage=Usage(total=900, version=0, length=4)))
    assert not stage.view.anchored


def test_the_agents_own_cache_facts_stand_as_long_as_the_usage_that_told_them(stage: Stage) -> None:
    """Another context has another prefix, of which nothing is known yet."""
    stage.has(4)
    assert stage.view.agent_cache is None
    told = Usage(total=900, version=0, length=4, read=700, written=50)
    stage.append([], seen=stage.seen, changes=Changes(usage=told))
    assert stage.view.agent_cache == AgentCache(stage.now_ms, 900, 700, 50)
    at_ms, stage.now_ms = stage.now_ms, stage.now_ms + 5_000
    stage.append([], seen=stage.seen, changes=Changes(usage=told))
    assert stage.view.agent_cache == AgentCache(at_ms, 900, 700, 50)
    stage.take(stage.make("a", 3))
    assert stage.view.agent_cache is None


def test_rule_14_usage_from_before_a_revert_is_no_base_although_the_content_stayed(stage: Stage) -> None:
    """`rewritten_at` does not move there, so the checkpoint's own version must speak."""
    stage.has(4)
    stage.take(stage.make("a", 3))
    stage.revert(1, req="v")
    stage.append([], seen=stage.seen, changes=Changes(usage=Usage(total=60, version=1, length=4)))
    assert not stage.view.anchored


def test_rule_14_an_anchor_behind_a_rewrite_falls_and_one_in_front_stays(stage: Stage) -> None:
    """What was measured on removed entries says nothing."""
    stage.has(6)
    stage.append([], seen=stage.seen, changes=Changes(usage=Usage(total=500, version=0, length=4)))
    stage.rewind(5, seen=stage.seen, req="r1")
    assert (stage.view.anchored, stage.view.tokens) == (True, 510)
    stage.rewind(3, seen=stage.seen, req="r2")
    assert not stage.view.anchored


def test_rule_14_zero_older_and_foreign_usage_is_no_base(stage: Stage) -> None:
    """An aborted reply, an answer that came late, another model, a length nobody has."""
    stage.has(4)
    stage.append([], seen=stage.seen, changes=Changes(model="m", usage=Usage(500, 0, 4, "m")))
    for usage in (
        Usage(0, 0, 4),
        Usage(300, 0, 3),
        Usage(300, 0, 4, "other"),
        Usage(300, 0, 9),
        Usage(300, 7, 4),
    ):
        stage.append([], seen=stage.seen, changes=Changes(usage=usage))
    assert stage.view.tokens == 500


def test_rule_14_usage_that_comes_with_another_model_and_no_name_is_of_the_old_one(stage: Stage) -> None:
    """The last reply was the old model's."""
    stage.has(4)
    stage.append([], seen=stage.seen, changes=Changes(model="old"))
    stage.append([], seen=stage.seen, changes=Changes(model="new", usage=Usage(500, 0, 4)))
    assert not stage.view.anchored


def test_rule_14_without_an_anchor_the_smallest_overhead_seen_is_added(stage: Stage) -> None:
    """System and tools are part of every request."""
    stage.has(4)
    stage.append([], seen=stage.seen, changes=Changes(usage=Usage(140, 0, 4)))
    stage.take(stage.make("a", 3))
    assert stage.view.tokens == 100 + 20 + 10


def test_rule_17_the_observed_limit_stands_until_a_reply_with_usage(stage: Stage) -> None:
    """A refusal teaches how small the window really is."""
    stage.has(4)
    stage.append([], seen=Seen(0, 4), changes=Changes(overflow=True))
    assert stage.view.observed_limit == 40
    stage.append([], seen=Seen(0, 4), changes=Changes(usage=Usage(50, 0, 4)))
    assert stage.view.observed_limit is None
