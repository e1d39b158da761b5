"""Rules 1 to 4 and 12: what guards content. Each test is one interleaving that the rule closes."""

from __future__ import annotations

import pytest

from precompact_shared.store.op import Op
from precompact_shared.store.ops import Create, Limits
from precompact_shared.store.types import Seen
from tests.property.stage import Stage

CHAT = Create("openai-responses")


def test_rule_01_an_adoption_moves_the_version_and_not_the_content_mark(stage: Stage) -> None:
    """An append prepared before an adoption is still welcome behind it."""
    stage.has(4)
    before = stage.seen
    stage.take(stage.make("j", 3))
    assert (stage.view.version, stage.view.rewritten_at) == (1, 0)
    assert stage.append([stage.entry()], seen=before).o == "ok"


def test_rule_01_every_answer_tells_version_length_and_head(stage: Stage) -> None:
    """The pair a caller sends next is in what it got."""
    stage.has(2)
    answer = stage.grow()
    assert answer.view is not None
    assert (answer.view.version, answer.view.length, answer.view.head) == (0, 3, stage.prefix(3))


@pytest.mark.parametrize("how", ["rewind", "replace", "redact"])
def test_rule_01_each_content_rewrite_moves_the_content_mark(stage: Stage, how: str) -> None:
    """Rewind, replacement and redaction alike."""
    stage.has(3)
    seen = stage.seen
    if how == "rewind":
        stage.rewind(2, seen=seen, req="r")
    elif how == "replace":
        stage.replace(1, stage.entry(), seen=seen, req="r")
    else:
        stage.redact([1], seen=seen, req="r")
    assert (stage.view.version, stage.view.rewritten_at) == (1, 1)


def test_rule_02_an_append_from_before_a_rewind_is_refused(stage: Stage) -> None:
    """Else the entry would land behind a history its sender never saw."""
    stage.has(4)
    old = stage.seen
    stage.rewind(2, seen=old, req="r")
    stage.grow(2)
    assert stage.append([stage.entry("late")], seen=old).o == "rewritten"
    assert "late" not in stage.texts_held()


def test_rule_02_the_same_append_twice_gets_the_same_answer_and_adds_nothing(stage: Stage) -> None:
    """A retry after a lost answer."""
    stage.has(2)
    seen, new = stage.seen, stage.entries(2)
    first = stage.append(new, seen=seen)
    again = stage.append(new, seen=seen)
    assert (first.o, first.at, again.o, again.at) == ("ok", 4, "ok", 4)
    assert (first.appended, again.appended) == (2, 0)
    assert stage.view.length == 4


def test_rule_02_a_delayed_append_behind_somebody_elses_says_where_they_part(stage: Stage) -> None:
    """Two clients append at once: the second learns the common length and loses nothing."""
    stage.has(2)
    seen = stage.seen
    stage.append([stage.entry("from A")], seen=seen)
    answer = stage.append([stage.entry("from B")], seen=seen)
    assert (answer.o, answer.common) == ("diverged", 2)
    assert stage.append([stage.made[stage.entry("from B").digest]], seen=stage.seen).o == "ok"
    assert stage.texts_held()[2:] == ["from A", "from B"]


def test_rule_02_a_partly_known_append_adds_only_the_rest(stage: Stage) -> None:
    """Entries we have and that are equal are skipped."""
    stage.has(2)
    seen, new = stage.seen, stage.entries(3)
    stage.append(new[:1], seen=seen)
    answer = stage.append(new, seen=seen)
    assert (answer.o, answer.appended, answer.at) == ("ok", 2, 5)


def test_rule_02_a_rewind_by_someone_who_has_not_seen_the_end_removes_nothing(stage: Stage) -> None:
    """A's rewind must not take B's new entry along."""
    stage.has(3)
    seen_by_a = stage.seen
    stage.append([stage.entry("from B")], seen=stage.seen)
    assert stage.rewind(1, seen=seen_by_a, req="r").o == "unseen_end"
    assert stage.texts_held()[-1] == "from B"


def test_rule_02_a_replacement_or_redaction_by_someone_who_has_not_seen_the_end_is_refused(
    stage: Stage,
) -> None:
    """They change what others may be reading."""
    stage.has(3)
    old = stage.seen
    stage.grow()
    assert stage.replace(0, stage.entry(), seen=old, req="a").o == "unseen_end"
    assert stage.redact([0], seen=old, req="b").o == "unseen_end"
    assert stage.view.version == 0


def test_rule_02_a_whole_list_that_would_remove_an_unseen_entry_is_refused(stage: Stage) -> None:
    """A stale list, sent as held, must not undo what another client added."""
    stage.has(3)
    seen, held = stage.seen, stage.held()
    stage.append([stage.entry("from B")], seen=seen)
    answer = stage.sync([*held, stage.entry("from A")], seen=seen, req="s")
    assert (answer.o, answer.common) == ("unseen_end", 3)
    assert "from B" in stage.texts_held()


def test_rule_02_a_whole_list_from_before_a_rewind_brings_nothing_back(stage: Stage) -> None:
    """An undone entry would be a ghost."""
    stage.has(4)
    seen, held = stage.seen, stage.held()
    stage.rewind(2, seen=seen, req="r")
    assert stage.sync(held, seen=seen, req="s").o == "rewritten"
    assert stage.view.length == 2


def test_rule_02_a_whole_list_from_before_a_rewind_is_refused_even_when_it_only_adds(stage: Stage) -> None:
    """Guarding whole lists only when they remove was not enough."""
    stage.has(3)
    old, held = stage.seen, stage.held()
    stage.rewind(2, seen=old, req="r")
    answer = stage.sync([*held[:2], held[2], stage.entry("more")], seen=old, req="s")
    assert answer.o == "rewritten"
    assert stage.view.length == 2


def test_rule_02_a_whole_list_rewinds_to_the_common_part_and_appends_the_rest(stage: Stage) -> None:
    """The honest use: the caller edited its last entries."""
    stage.has(4)
    held = stage.held()
    answer = stage.sync([*held[:2], stage.entry("edited")], seen=stage.seen, req="s")
    assert (answer.o, answer.rewound, answer.appended, answer.at) == ("ok", True, 1, 3)
    assert (stage.view.version, stage.view.rewritten_at, stage.view.length) == (1, 1, 3)


def test_rule_02_without_seen_a_call_needs_a_key_and_may_only_add_at_the_end(stage: Stage) -> None:
    """The key is what makes a retry harmless."""
    stage.has(2)
    assert stage.append([stage.entry()]).o == "key_required"
    new = [stage.entry("keyed")]
    first = stage.append(new, key="k")
    stage.grow(2)
    again = stage.append(new, key="k")
    assert (first.at, again.at, again.replayed) == (3, 3, True)
    assert stage.texts_held().count("keyed") == 1


def test_rule_02_the_key_of_the_call_that_made_the_session_is_remembered_too(stage: Stage) -> None:
    """Its retry finds a session and must not add twice."""
    new = [stage.entry("first")]
    stage.append(new, create=CHAT, key="k")
    assert stage.append(new, create=CHAT, key="k").replayed
    assert stage.view.length == 1


def test_rule_02_the_last_256_keys_are_remembered(stage: Stage) -> None:
    """The oldest gives way, no sooner."""
    stage.has(1)
    stage.strict = False
    for n in range(257):
        stage.append([stage.entry(f"e{n}")], key=f"k{n}")
    length = stage.view.length
    assert stage.append([stage.entry("e1")], key="k1").replayed
    assert stage.append([stage.entry("e256")], key="k256").replayed
    assert stage.view.length == length
    assert not stage.append([stage.entry("again")], key="k0").replayed


def test_rule_02_refusals_come_in_their_order_and_store_nothing(stage: Stage) -> None:
    """Ahead, outdated, gap, then difference."""
    stage.has(3)
    stage.rewind(2, seen=stage.seen, req="r")
    head, new = stage.view.head, [stage.entry()]
    assert stage.append(new, seen=Seen(2, 9)).o == "regressed"
    assert stage.append(new, seen=Seen(0, 9)).o == "rewritten"
    assert stage.append(new, seen=Seen(1, 3)).o == "gap"
    assert stage.append(new, seen=Seen(1, 2), pos=3).o == "gap"
    assert stage.append(new, seen=Seen(1, 0)).o == "diverged"
    assert stage.view.head == head


def test_rule_02_a_call_that_would_pass_a_limit_stores_nothing_and_one_that_adds_nothing_passes(
    stage: Stage,
) -> None:
    """`session_full` is for growth: a full session can still be read, adopted and rewound."""
    stage.has(3)
    tight = Limits(entries=3)
    assert stage.append(stage.entries(1), seen=stage.seen, limits=tight).o == "session_full"
    assert stage.append([], seen=stage.seen, limits=Limits(entries=2)).o == "ok"
    held = stage.held()
    assert stage.sync([*held[:2], stage.entry()], seen=stage.seen, req="s", limits=tight).o == "ok"


def test_rule_03_equality_is_by_digest_and_bodies_stay_as_first_sent(stage: Stage) -> None:
    """The same canonical entry in another spelling is the same entry."""
    stage.has(2)
    seen, entry = Seen(0, 1), stage.held()[1]
    respelled = type(entry)(digest=entry.digest, tokens=99, body=b"r other spelling")
    assert stage.append([respelled], seen=seen).appended == 0
    assert stage.facts.bodies[1] == entry.body


def test_rule_03_the_head_is_the_chain_of_the_entries_digests(stage: Stage) -> None:
    """Anybody can compute it: sha1 over the last link and the next digest, from forty zeros."""
    stage.has(3)
    stage.replace(1, stage.entry(), seen=stage.seen, req="r")
    stage.grow()
    assert stage.view.head == stage.prefix(4)  # the invariants recompute every link after each step


def test_rule_04_a_rewind_below_the_checkpoint_returns_to_the_next_older_one(stage: Stage) -> None:
    """The same call pops whatever covers more than is left."""
    stage.has(4)
    stage.take(stage.make("a", 3))
    stage.grow(4)
    stage.take(stage.make("b", 7))
    answer = stage.rewind(5, seen=stage.seen, req="r")
    assert answer.popped == 1
    assert (stage.view.checkpoint, stage.view.upto) == ("c-a", 3)
    stage.rewind(1, seen=stage.seen, req="r2")
    assert (stage.view.checkpoint, stage.view.upto, stage.view.insert_tokens) == (None, 0, 0)


def test_rule_04_a_rewind_to_exactly_where_the_checkpoint_ends_keeps_it(stage: Stage) -> None:
    """`upto > p` pops, `upto = p` does not."""
    stage.has(4)
    stage.take(stage.make("a", 3))
    assert stage.rewind(3, seen=stage.seen, req="r").popped == 0
    assert stage.view.upto == 3


def test_rule_04_a_replacement_inside_what_is_covered_pops_the_checkpoint(stage: Stage) -> None:
    """Its text was made from the old entry."""
    stage.has(4)
    stage.take(stage.make("a", 3))
    stage.replace(2, stage.entry(), seen=stage.seen, req="r")
    assert (stage.view.checkpoint, stage.view.length) == (None, 4)


def test_rule_04_the_rewrites_event_is_left_for_the_scheduler(stage: Stage) -> None:
    """After a pop the context may exceed the limit; somebody must decide again."""
    stage.has(4)
    stage.take(stage.make("a", 3))
    stage.handled(stage.view.version, stage.view.length)
    assert not stage.facts.unhandled
    stage.rewind(2, seen=stage.seen, req="r")
    assert stage.facts.unhandled


def test_rule_04_redaction_erases_every_text_that_covered_the_entry(stage: Stage) -> None:
    """Checkpoints, candidates and their frozen contexts; texts that end before it stay."""
    stage.has(6)
    stage.take(stage.make("a", 2))
    stage.take(stage.make("b", 5))
    stage.make("c", 6)
    stage.redact([3], seen=stage.seen, req="r")
    assert stage.view.checkpoint == "c-a"
    assert set(stage.facts.texts) == {"c-a", "cp:c-a"}
    assert stage.facts.metas[3].redacted


def test_rule_04_redaction_archives_nothing_and_empties_older_copies(stage: Stage) -> None:
    """Also a copy that an earlier rewind archived at another place."""
    stage.has(2)
    secret = stage.entry("the secret")
    stage.grow()
    stage.append([secret], seen=stage.seen)
    stage.rewind(2, seen=stage.seen, req="r1")
    stage.append([secret], seen=stage.seen)
    stage.redact([2], seen=stage.seen, req="r2")
    archive = Op(None, (), ("LRANGE", stage.keys.key("a"), 0, -1), lambda raw: raw)
    assert b"the secret" not in b"".join(stage.store.run(archive))
    assert b"the secret" not in b"".join(stage.facts.bodies.values())


def test_rule_04_a_redaction_drops_a_clearing_checkpoint_that_edited_the_entry(stage: Stage) -> None:
    """It covers nothing, but its text has seen the entry."""
    stage.has(6)
    stage.take(stage.make("a", 0, through=5))
    assert stage.view.checkpoint == "c-a"
    stage.redact([4], seen=stage.seen, req="r")
    assert stage.view.checkpoint is None
    assert stage.facts.texts == {}


def test_rule_12_the_same_rewind_sent_twice_gets_the_same_answer(stage: Stage) -> None:
    """Its `seen` is outdated by itself; the remembered request comes first."""
    stage.has(4)
    seen = stage.seen
    first = stage.rewind(2, seen=seen, req="r")
    again = stage.rewind(2, seen=seen, req="r")
    assert (again.o, again.version, again.length, again.popped) == (
        "ok",
        first.version,
        first.length,
        first.popped,
    )
    assert (again.replayed, stage.view.version) == (True, 1)


def test_rule_12_the_same_rewind_sent_twice_gets_the_same_answer_after_an_append(stage: Stage) -> None:
    """The retry must not remove what came since."""
    stage.has(4)
    seen = stage.seen
    stage.rewind(2, seen=seen, req="r")
    stage.append([stage.entry("since")], seen=stage.seen)
    again = stage.rewind(2, seen=seen, req="r")
    assert (again.o, again.version, again.length) == ("ok", 1, 2)
    assert stage.texts_held()[-1] == "since"


def test_rule_12_the_same_rewind_gets_the_same_answer_after_an_adoption(stage: Stage) -> None:
    """Adoption is no content rewrite and takes no memory away."""
    stage.has(4)
    seen = stage.seen
    stage.rewind(3, seen=seen, req="r")
    stage.take(stage.make("a", 2))
    assert stage.rewind(3, seen=seen, req="r").replayed


def test_rule_12_a_rewind_that_changes_nothing_does_not_take_the_last_ones_answer_away(stage: Stage) -> None:
    """Only a rewrite is remembered: A's retry still counts after B's empty rewind."""
    stage.has(4)
    seen_by_a = stage.seen
    stage.rewind(2, seen=seen_by_a, req="of A")
    stage.rewind(2, seen=stage.seen, req="of B")
    stage.replace(0, stage.held()[0], seen=stage.seen, req="of C")
    assert stage.rewind(2, seen=seen_by_a, req="of A").replayed


def test_rule_12_a_whole_list_that_rewound_gets_its_answer_again(stage: Stage) -> None:
    """Its `seen` too is older than its own rewrite."""
    stage.has(4)
    seen, edited = stage.seen, [*stage.held()[:2], stage.entry("edited")]
    first = stage.sync(edited, seen=seen, req="s")
    again = stage.sync(edited, seen=seen, req="s")
    assert (again.o, again.at, again.version, again.rewound) == ("ok", first.at, first.version, True)
    assert stage.view.length == 3


def test_rule_12_the_same_replacement_and_redaction_get_the_same_answer(stage: Stage) -> None:
    """Sent again they change nothing."""
    stage.has(3)
    seen, entry = stage.seen, stage.entry("other")
    stage.replace(1, entry, seen=seen, req="p")
    assert stage.replace(1, entry, seen=seen, req="p").replayed
    seen = stage.seen
    stage.redact([1], seen=seen, req="x")
    assert stage.redact([1], seen=seen, req="x").replayed
    assert stage.view.version == 2


def test_rule_12_an_older_rewrites_retry_is_refused_and_not_carried_out_again(stage: Stage) -> None:
    """Only the last is remembered; the one before meets rule 2."""
    stage.has(5)
    seen = stage.seen
    stage.rewind(4, seen=seen, req="first")
    stage.rewind(3, seen=stage.seen, req="second")
    assert stage.rewind(4, seen=seen, req="first").o == "rewritten"
    assert stage.view.length == 3
