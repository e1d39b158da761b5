"""Rules 10 to 15: adoption as a compare-and-set, retries, floors, revert."""

from __future__ import annotations

from tests.property.stage import Stage


def test_rule_10_adoption_bumps_the_version_and_writes_the_checkpoint_in_one_call(stage: Stage) -> None:
    """Length and entries stay."""
    stage.has(5)
    answer = stage.take(stage.make("a", 3))
    assert (answer.o, answer.record and answer.record.n) == ("adopted", 1)
    assert (stage.view.version, stage.view.length, stage.view.upto, stage.view.insert_tokens) == (1, 5, 3, 20)


def test_rule_10_an_entry_that_arrived_meanwhile_is_told_and_not_skipped(stage: Stage) -> None:
    """The caller checks the new entries and tries again."""
    stage.has(5)
    cid, seen = stage.make("a", 3), stage.seen
    stage.grow()
    answer = stage.adopt(cid, version=seen.version, length=seen.length)
    assert answer.o == "length_moved"
    assert answer.view is not None
    assert stage.adopt(cid, version=answer.view.version, length=answer.view.length).o == "adopted"


def test_rule_10_a_rewrite_between_reading_and_adopting_refuses(stage: Stage) -> None:
    """Validated outside, then changed: not this candidate any more."""
    stage.has(5)
    cid, seen = stage.make("a", 3), stage.seen
    stage.rewind(2, seen=seen, req="r")
    answer = stage.adopt(cid, version=seen.version, length=seen.length)
    assert (answer.o, answer.reason) == ("refused", "version_changed")


def test_rule_10_a_rewrite_behind_the_cut_asks_the_caller_to_look_again(stage: Stage) -> None:
    """The candidate lives on under the new version; the caller's reading does not."""
    stage.has(5)
    cid, seen = stage.make("a", 3), stage.seen
    stage.rewind(4, seen=seen, req="r")
    assert stage.adopt(cid, version=seen.version, length=seen.length).reason == "version_changed"
    assert stage.open_ones() == [cid]
    assert stage.take(cid).o == "adopted"


def test_rule_10_two_prepares_at_once_adopt_one(stage: Stage) -> None:
    """I2: the second compare-and-set fails, whichever candidate it wants."""
    stage.has(6)
    a, m = stage.make("a", 3), stage.make("m", 4, "manual")
    seen = stage.seen
    assert stage.adopt(a, version=seen.version, length=seen.length).o == "adopted"
    assert stage.adopt(m, version=seen.version, length=seen.length).o == "refused"
    assert stage.view.version == 1


def test_rule_10_an_append_during_adoption_needs_no_repair(stage: Stage) -> None:
    """Appending never moves the version."""
    stage.has(5)
    before = stage.seen
    stage.take(stage.make("a", 3))
    assert stage.append([stage.entry("typed meanwhile")], seen=before).o == "ok"
    assert stage.texts_held()[-1] == "typed meanwhile"


def test_rule_12_adopting_what_is_current_already_answers_the_same(stage: Stage) -> None:
    """A lost answer; the retry comes with the old version and length, even after an append."""
    stage.has(5)
    cid, seen = stage.make("a", 3), stage.seen
    first = stage.adopt(cid, version=seen.version, length=seen.length)
    stage.grow()
    again = stage.adopt(cid, version=seen.version, length=seen.length)
    assert again.o == "already"
    assert again.record == first.record
    assert stage.view.version == 1


def test_rule_12_a_retry_returns_the_stored_bytes(stage: Stage) -> None:
    """Newer state changes no context: the frozen text is that of the first call."""
    stage.has(5)
    cid = stage.make("a", 3)
    stage.take(cid)
    frozen = stage.facts.texts[f"cp:{cid}"]
    stage.facts.texts[cid] = b"rother bytes"
    stage.take(cid)
    assert stage.facts.texts[f"cp:{cid}"] == frozen


def test_rule_12_an_older_checkpoint_is_not_adopted_a_second_time(stage: Stage) -> None:
    """A delayed adoption of what has been built upon."""
    stage.has(6)
    a = stage.make("a", 3)
    stage.take(a)
    stage.take(stage.make("b", 5))
    assert stage.take(a).o == "refused"
    assert len(stage.facts.chain) == 2


def test_rule_12_an_adoption_that_comes_after_a_rewind_popped_it_is_refused(stage: Stage) -> None:
    """Not even when the same entries are there again."""
    stage.has(5)
    cid, held = stage.make("a", 3), stage.held()
    stage.take(cid)
    stage.rewind(2, seen=stage.seen, req="r")
    stage.append(held[2:], seen=stage.seen)
    assert stage.take(cid).o == "refused"


def test_rule_13_a_second_wish_at_the_limit_joins_the_running_job_with_its_deadline(stage: Stage) -> None:
    """Never pay twice; the deadline is the first one's, the urgency the sooner one's."""
    stage.has(5)
    job = stage.begin("a", "speculative", urgency=5000, deadline_ms=60_000)
    stage.now_ms += 10_000
    answer = stage.claim("b", "due", urgency=0, deadline_ms=60_000)
    assert (answer.o, answer.jid) == ("in_flight", "a")
    assert (stage.job_of("a").deadline_ms, stage.job_of("a").urgency) == (job.deadline_ms, 0)
    assert stage.beat("a", job.fence).deadline_ms == job.deadline_ms


def test_rule_13_a_floor_neither_ends_its_job_nor_takes_the_candidates_place(stage: Stage) -> None:
    """It stands beside."""
    stage.has(5)
    job = stage.begin("a", "due")
    stage.say(job, 4)
    assert stage.store_it(job, 4, floor=True).o == "stored"
    assert stage.job_of("a").state == "running"
    assert [tag.slot for tag in stage.view.candidates] == ["floor"]
    stage.cancel("a")
    assert stage.claim("b", "speculative").o == "claimed"


def test_rule_13_the_full_candidate_replaces_its_floor(stage: Stage) -> None:
    """One place less to look."""
    stage.has(5)
    job = stage.begin("a", "due")
    stage.say(job, 4)
    stage.store_it(job, 4, floor=True)
    stage.store_it(job, 4)
    assert stage.open_ones() == ["c-a"]
    assert stage.fate("f-a") == ("closed", "superseded")


def test_rule_13_a_floor_sent_twice_is_one_floor(stage: Stage) -> None:
    """The answer of the first was lost."""
    stage.has(5)
    job = stage.begin("a", "due")
    stage.say(job, 4)
    for _ in range(25):
        assert stage.store_it(job, 4, floor=True).o == "stored"
    assert stage.open_ones() == ["f-a"]


def test_rule_13_an_adopted_floor_closes_its_job_and_the_late_full_text_is_lost(stage: Stage) -> None:
    """The caller could not wait; the text it did not wait for replaces nothing."""
    stage.has(5)
    job = stage.begin("a", "due")
    stage.say(job, 4)
    stage.store_it(job, 4, floor=True)
    assert stage.take("f-a").o == "adopted"
    assert stage.store_it(job, 4).o == "lost"
    assert stage.view.checkpoint == "f-a"


def test_rule_13_a_dead_jobs_floor_is_still_there_at_the_hard_limit(stage: Stage) -> None:
    """Reduced is better than overflow."""
    stage.has(5)
    job = stage.begin("a", "due")
    stage.say(job, 4)
    stage.store_it(job, 4, floor=True)
    stage.finish("a", job.fence, "dead", reason="provider")
    assert stage.take("f-a").o == "adopted"


def test_rule_13_a_refused_floor_does_not_end_the_job(stage: Stage) -> None:
    """The full candidate may still be smaller."""
    stage.has(5)
    job = stage.begin("a", "due")
    stage.say(job, 4)
    assert stage.store_it(job, 4, floor=True, tokens_after=500).reason == "not_smaller"
    assert stage.store_it(job, 4).o == "stored"


def test_rule_15_revert_goes_back_one_checkpoint_and_leaves_the_content_mark(stage: Stage) -> None:
    """An append on its way is still welcome."""
    stage.has(6)
    stage.take(stage.make("a", 3))
    stage.take(stage.make("b", 5))
    before = stage.seen
    assert stage.revert(2, req="v").o == "reverted"
    assert (stage.view.checkpoint, stage.view.version, stage.view.rewritten_at) == ("c-a", 3, 0)
    assert stage.append([stage.entry()], seen=before).o == "ok"


def test_rule_15_only_the_newest_checkpoint_can_be_reverted(stage: Stage) -> None:
    """The answer names it."""
    stage.has(6)
    stage.take(stage.make("a", 3))
    stage.take(stage.make("b", 5))
    answer = stage.revert(1, req="v")
    assert (answer.o, answer.newest) == ("not_newest", 2)


def test_rule_15_a_reverted_candidate_is_barred(stage: Stage) -> None:
    """A delayed adoption must not bring it back."""
    stage.has(5)
    cid = stage.make("a", 3)
    stage.take(cid)
    stage.revert(1, req="v")
    answer = stage.take(cid)
    assert (answer.o, answer.reason) == ("refused", "barred")


def test_rule_15_revert_closes_every_job_and_candidate(stage: Stage) -> None:
    """Also a refresh based on what is reverted."""
    stage.has(6)
    base = stage.make("a", 3)
    job = stage.begin("b", "refresh", base=base)
    stage.say(job, 5)
    stage.take(base)
    stage.revert(1, req="v")
    assert stage.job_of("b").state == "cancelled"
    assert stage.store_it(job, 5).o == "lost"
    assert stage.open_ones() == []


def test_rule_15_the_same_revert_twice_goes_back_once(stage: Stage) -> None:
    """The second checkpoint must not follow the first."""
    stage.has(6)
    stage.take(stage.make("a", 3))
    stage.take(stage.make("b", 5))
    stage.revert(2, req="v")
    again = stage.revert(2, req="v")
    assert (again.o, again.replayed, stage.view.checkpoint) == ("reverted", True, "c-a")
    assert stage.revert(2, req="other").o == "not_newest"


def test_rule_15_a_checkpoints_number_is_never_used_twice(stage: Stage) -> None:
    """Else a delayed revert would hit the wrong one."""
    stage.has(5)
    stage.take(stage.make("a", 3))
    stage.revert(1, req="v")
    stage.take(stage.make("b", 3))
    assert stage.view.checkpoint_n == 2
    assert stage.revert(1, req="late").o == "not_newest"


def test_rule_15_rewinding_below_an_adopted_upto_returns_to_the_newest_that_fits(stage: Stage) -> None:
    """With its own insert and its own size."""
    stage.has(3)
    for n in range(3):
        stage.take(stage.make(f"j{n}", 2 * n + 2))
        stage.grow(2)
    stage.rewind(5, seen=stage.seen, req="r")
    assert (stage.view.checkpoint, stage.view.upto, stage.view.tokens) == ("c-j1", 4, 30)
