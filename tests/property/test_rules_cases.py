"""Rules 19 to 23 and what follows a lost second."""

from __future__ import annotations

from collections.abc import Callable

from precompact_shared.store.ops import Create
from precompact_shared.store.types import CandidateTag, CheckpointTag, Seen
from tests.property.both import ATTEMPTS, LEASE_MS
from tests.property.making import candidate_tag
from tests.property.stage import Stage

MADE = Create("openai-responses")
LATE = candidate_tag("c-late", 3, "0" * 40)
Others = Callable[[str], Stage]


def test_rule_19_a_session_begins_at_version_0(stage: Stage) -> None:
    """And `rewritten_at` 0; a missing `seen` on an absent session is {0, 0}."""
    answer = stage.append(stage.entries(1), create=MADE)
    assert (answer.o, stage.view.version, stage.view.rewritten_at, stage.view.length) == ("ok", 0, 0, 1)


def test_rule_19_clients_send_0_0_first_so_that_the_retry_is_skipped(stage: Stage) -> None:
    """The answer to the first call was lost."""
    new = stage.entries(2)
    stage.append(new, seen=Seen(0, 0), create=MADE)
    assert stage.append(new, seen=Seen(0, 0), create=MADE).appended == 0


def test_rule_19_an_absent_session_is_not_made_by_a_caller_who_has_seen_more(stage: Stage) -> None:
    """The store lost it; nothing is stored under a wrong number."""
    assert stage.append(stage.entries(1), seen=Seen(3, 2), create=MADE).o == "regressed"
    assert stage.append(stage.entries(1), seen=Seen(0, 2), create=MADE).o == "gap"
    assert stage.facts.view is None


def test_rule_19_the_format_is_fixed(stage: Stage) -> None:
    """Another one is refused."""
    stage.has(1)
    assert stage.append([], seen=stage.seen, create=Create("anthropic")).o == "format_fixed"
    assert stage.create("anthropic").o == "format_fixed"
    assert stage.create("openai-responses").o == "exists"


def test_rule_19_a_deleted_id_is_gone_for_every_call(stage: Stage) -> None:
    """A late write must not recreate it."""
    stage.has(4)
    job, seen = stage.begin("j"), stage.seen
    stage.delete()
    calls = [
        stage.append(stage.entries(1), seen=seen, create=MADE),
        stage.append(stage.entries(1), create=MADE, key="k"),
        stage.sync(stage.entries(1), seen=seen, req="s"),
        stage.rewind(1, seen=seen, req="r"),
        stage.replace(1, stage.entry(), seen=seen, req="p"),
        stage.redact([1], seen=seen, req="x"),
        stage.claim("k", "due"),
        stage.start("j"),
        stage.beat("j", job.fence),
        stage.put("j", job.fence, LATE, []),
        stage.finish("j", job.fence, "dead"),
        stage.adopt("c", version=0, length=4),
        stage.revert(1, req="v"),
        stage.create(),
        stage.delete(),
        stage.fork_open("source"),
    ]
    assert {answer.o for answer in calls} == {"gone"}
    assert stage.due("j").o == "gone"


def test_rule_19_only_recreate_revives_with_numbers_above_the_tombstones(stage: Stage) -> None:
    """So that every older pair is outdated."""
    stage.has(4)
    stage.rewind(3, seen=stage.seen, req="r")
    stage.take(stage.make("a", 2))
    old = stage.seen
    stage.delete()
    assert stage.create().o == "gone"
    assert stage.create(recreate=True).o == "created"
    assert (stage.view.version, stage.view.rewritten_at, stage.view.length) == (3, 3, 0)
    assert stage.view.incarnation == 1
    assert stage.append(stage.entries(1), seen=old).o == "rewritten"
    assert stage.append(stage.entries(1), seen=Seen(0, 0)).o == "rewritten"


def test_rule_19_a_late_put_does_not_reach_the_revived_session(stage: Stage) -> None:
    """Its job is of another life."""
    stage.has(4)
    job = stage.begin("j")
    stage.say(job, 3)
    stage.delete()
    stage.create(recreate=True)
    stage.grow(4)
    assert stage.put("j", job.fence, LATE, []).o == "lost"


def test_rule_19_deletion_leaves_no_key_but_the_tombstone(stage: Stage) -> None:
    """Bodies, texts, ledger, archive, decisions: all."""
    stage.has(5)
    stage.rewind(4, seen=stage.seen, req="r")
    stage.take(stage.make("a", 2))
    stage.begin("j")
    stage.delete()
    left = list(stage.store.client.scan_iter(match=f"*{stage.keys.name}*", count=10_000))
    assert left == [stage.keys.key("t").encode()]


def test_rule_20_an_append_of_nothing_changes_nothing(stage: Stage) -> None:
    """`prepare` without messages appends nothing and may adopt."""
    stage.has(4)
    stage.handled(0, 4)
    answer = stage.append([], seen=stage.seen)
    assert (answer.o, answer.appended, answer.at) == ("ok", 0, 4)
    assert not stage.facts.unhandled


def test_rule_20_the_answer_says_where_the_caller_stands_beside_the_length(stage: Stage) -> None:
    """`at` below the length: somebody else added; then nothing may be adopted for this caller."""
    stage.has(4)
    seen = stage.seen
    stage.grow()
    answer = stage.append([], seen=seen)
    assert answer.view is not None
    assert (answer.at, answer.view.length) == (4, 5)


def test_rule_21_an_old_list_still_matches_a_redacted_entry(stage: Stage) -> None:
    """The keyed digest of the original stays."""
    stage.has(4)
    held = stage.held()
    stage.redact([1], seen=stage.seen, req="x")
    answer = stage.sync([*held, stage.entry()], seen=stage.seen, req="s")
    assert (answer.o, answer.rewound, answer.appended) == ("ok", False, 1)
    assert stage.append(held[:2], seen=Seen(1, 0)).o == "ok"
    assert b"m2" not in stage.facts.bodies[1]


def test_rule_23_a_fork_is_invisible_until_it_is_whole(stage: Stage, other: Others) -> None:
    """Nobody may append to half a history."""
    stage.has(5)
    copy, held = other("copy"), stage.held()
    copy.fork_open("s")
    copy.fork_copy(0, held[:2])
    assert copy.append([copy.entry()], key="k").o == "not_found"
    assert copy.create().o == "not_found"
    copy.made |= stage.made
    copy.fork_copy(2, held[2:4])
    assert copy.fork_publish(4).o == "published"
    assert (copy.view.version, copy.view.length, copy.view.head) == (0, 4, stage.prefix(4))


def test_rule_23_a_fork_takes_the_checkpoints_up_to_its_point_and_no_jobs_or_candidates(
    stage: Stage, other: Others
) -> None:
    """It goes on by itself from there."""
    stage.has(6)
    stage.take(stage.make("a", 3))
    stage.make("b", 5)
    stage.begin("j", "due")
    copy = other("copy")
    copy.made |= stage.made
    copy.fork_open("s")
    copy.fork_copy(0, stage.held()[:4])
    copy.fork_publish(4, [_point(stage, stage.facts.chain[0])])
    assert (copy.view.checkpoint, copy.view.upto, copy.view.version) == ("c-a", 3, 0)
    assert (copy.view.job, copy.view.candidates) == (None, [])
    copy.grow(2)
    assert copy.take(copy.make("c", 5)).o == "adopted"
    assert copy.view.checkpoint_n == 2


def test_rule_23_a_fork_sent_again_gives_the_same_session(stage: Stage, other: Others) -> None:
    """Idempotent by id, also after somebody has written to it."""
    stage.has(3)
    copy = other("copy")
    copy.made |= stage.made
    copy.fork_open("s")
    copy.fork_copy(0, stage.held())
    copy.fork_publish(3)
    copy.grow()
    assert copy.fork_open("s").o == "exists"
    assert copy.fork_copy(0, stage.held()).o == "published"
    assert copy.fork_publish(3).o == "exists"
    assert copy.view.length == 4


def test_rule_23_a_source_rewritten_during_the_copy_leaves_no_old_entry_in_it(
    stage: Stage, other: Others
) -> None:
    """A second copier meets the first one's older entries: it is told, and begins anew."""
    stage.has(4)
    copy, older = other("copy"), stage.held()
    stage.rewind(1, seen=stage.seen, req="r")
    stage.grow(3)
    copy.made |= stage.made
    copy.fork_open("s")
    copy.fork_copy(0, stage.held()[:2])
    copy.fork_copy(2, older[2:])  # the first copier, still at work on what it had read
    assert copy.fork_copy(2, stage.held()[2:]).o == "diverged"
    copy.fork_open("s")
    copy.fork_copy(0, stage.held())
    copy.fork_publish(4)
    assert copy.texts_held() == stage.texts_held()


def test_rule_23_a_copy_of_another_length_is_not_published(stage: Stage, other: Others) -> None:
    """A hole would be a lost message."""
    stage.has(4)
    copy = other("copy")
    copy.fork_open("s")
    assert copy.fork_copy(2, stage.held()[2:]).o == "gap"
    copy.fork_copy(0, stage.held()[:3])
    assert copy.fork_publish(4).o == "gap"
    assert copy.facts.view is None


def test_loss_a_caller_who_is_ahead_in_length_sends_the_missing_entries_again(stage: Stage) -> None:
    """The store lost its last second."""
    stage.has(3)
    lost = stage.entries(2)
    assert stage.append([stage.entry()], seen=Seen(0, 5)).o == "gap"
    assert stage.append(lost, seen=Seen(0, 3)).o == "ok"


def test_loss_a_caller_who_is_ahead_in_version_heals_above_both(stage: Stage) -> None:
    """The common part decides; whatever others saw before is outdated."""
    stage.has(4)
    held = stage.held()
    assert stage.sync(held[:2], seen=Seen(5, 2), req="s").o == "regressed"
    answer = stage.sync([*held[:2], stage.entry("after")], seen=Seen(5, 3), req="s", heal=True)
    assert answer.o == "ok"
    assert (stage.view.version, stage.view.rewritten_at, stage.view.length) == (6, 6, 3)
    assert stage.sync([*held[:2], stage.entry("after")], seen=Seen(5, 3), req="s", heal=True).replayed


def test_loss_a_heal_that_only_adds_outdates_older_pairs_too(stage: Stage) -> None:
    """What was lost was a rewind: another client still holds, and must not bring back, what it undid."""
    stage.has(2)
    held = stage.held()
    assert stage.sync(held, seen=Seen(1, 2), req="s", heal=True).o == "ok"
    undone = stage.entries(1)
    assert stage.append(undone, seen=Seen(0, 2)).o == "rewritten"


def test_loss_a_heal_keeps_what_covers_the_common_part_only(stage: Stage) -> None:
    """Candidates of the lost time's loser are judged like in any rewrite."""
    stage.has(6)
    held, cid = stage.held(), stage.make("a", 3)
    stage.sync(held[:4], seen=Seen(7, 4), req="s", heal=True)
    assert (stage.open_ones(), stage.view.version) == ([cid], 8)
    assert stage.take(cid).o == "adopted"


def test_loss_nobody_heals_who_is_not_ahead(stage: Stage) -> None:
    """A heal is no way around rule 2."""
    stage.has(4)
    answer = stage.sync(stage.held()[:1], seen=Seen(0, 4), req="s", heal=True)
    assert answer.o == "not_ahead"
    assert stage.view.length == 4


def test_invariant_7_a_session_at_its_limit_is_compacted_although_every_lease_but_the_last_is_lost(
    stage: Stage,
) -> None:
    """One job time after the job that succeeds."""
    stage.has(6)
    stage.claim("j", "due")
    for _ in range(ATTEMPTS - 1):
        stage.start("j")
        stage.now_ms += LEASE_MS + 1
        stage.due("j")
    job = stage.start("j").job
    assert job is not None
    stage.say(job, 6)
    stage.store_it(job, 6)
    assert stage.take("c-j").o == "adopted"


def _point(stage: Stage, tag: CheckpointTag) -> tuple[CheckpointTag, CandidateTag, bytes, bytes]:
    text = stage.facts.texts[f"cp:{tag.cid}"]
    return tag, stage.facts.tags[tag.cid], text, text
