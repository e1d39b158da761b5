from __future__ import annotations

import pytest

from precompact import CandidateRefusedError, HistoryDivergedError, ProblemError, Session, Status
from tests.unit.client.conftest import Open
from tests.unit.client.fake_service import FakeService
from tests.unit.client.test_prepare import said, talk


def test_rewind_removes_the_end_on_both_sides(session: Session, service: FakeService) -> None:
    """And the next entries take its place."""
    talk(session, 0, 5)
    session.rewind(3)
    session.prepare({"role": "assistant", "content": "another answer"})
    assert service.sessions["s1"].entries == session.messages
    assert len(session.messages) == 4


def test_rewinding_what_was_never_sent_needs_no_call(session: Session, service: FakeService) -> None:
    """Only the own list knows of it."""
    session.prepare(said(0))
    session.append([said(1), said(2)])
    session.rewind(2)
    assert len(service.requests) == 1
    assert session.messages == [said(0), said(1)]


def test_rewind_settles_what_was_sent_without_an_answer(session: Session, service: FakeService) -> None:
    """The service holds an entry we count as unsent: without this it would refuse (unseen end)."""
    talk(session, 0, 3)
    service.fail = lambda number: "lose" if number >= 3 else "answer"
    session.prepare(said(3))
    service.fail = lambda _: "answer"
    session.rewind(1)
    assert service.sessions["s1"].entries == session.messages == [said(0)]


def test_rewind_behind_another_writer_is_refused(open_session: Open) -> None:
    """Nobody removes what he has not seen."""
    ours, theirs = open_session(), open_session()
    ours.prepare(said(0))
    theirs.reload()
    theirs.prepare(said(1))
    with pytest.raises(HistoryDivergedError, match="reload"):
        ours.rewind(0)
    assert ours.messages == [said(0)]


def test_rewind_below_a_compaction_gives_the_entries_back(open_session: Open, service: FakeService) -> None:
    """What was covered and still lives is in the next context."""
    service.compact_every = 6
    session = open_session()
    talk(session, 0, 6)
    session.rewind(2)
    assert session.prepare(said(2)).messages == [said(0), said(1), said(2)]


@pytest.mark.parametrize("to", [-1, 9])
def test_rewind_to_a_place_that_is_none_is_a_value_error(session: Session, to: int) -> None:
    """Before anything is sent."""
    session.append(said(0))
    with pytest.raises(ValueError, match="between 0 and 1"):
        session.rewind(to)


def test_a_fork_goes_its_own_way(session: Session, service: FakeService) -> None:
    """Same beginning, other end; unsent entries are part of it."""
    talk(session, 0, 3)
    session.append(said(3))
    copy = session.fork("s2")
    early = session.fork("s3", to=1)
    copy.prepare({"role": "user", "content": "other"})
    assert service.sessions["s1"].entries == session.messages
    assert (
        service.sessions["s2"].entries
        == copy.messages
        == [*session.messages, {"role": "user", "content": "other"}]
    )
    assert early.messages == [said(0)]


def test_a_manual_compaction_is_asked_for_and_adopted(session: Session, service: FakeService) -> None:
    """`compact` waits if told so, `adopt` gives the context; what is unsent goes first."""
    talk(session, 0, 4)
    session.append(said(4))
    compacted = session.compact("the tests", wait=5)
    assert compacted.job is not None
    assert compacted.job.kind == "manual"
    assert service.bodies("compact") == [{"focus": "the tests"}]
    context = session.adopt()
    assert context.status is Status.ADOPTED
    assert context.messages[1:] == [said(3), said(4)]
    assert session.prepare().messages == context.messages


def test_an_adoption_that_is_refused_says_why(session: Session) -> None:
    """The reason is a fact of the error."""
    session.prepare(said(0))
    session._record.version = 7
    with pytest.raises(CandidateRefusedError) as raised:
        session.adopt("k1")
    assert raised.value.facts == {"reason": "version_changed"}


def test_declining_names_the_candidate_that_was_offered(session: Session, service: FakeService) -> None:
    """Without one there is nothing to decline."""
    with pytest.raises(ValueError, match="offered no candidate"):
        session.decline()
    session.prepare(said(0), adopt="offer")
    session.decline()
    assert service.bodies("decline") == [{"candidate": "k1"}]


def test_a_reverted_checkpoint_gives_the_entries_back(open_session: Open, service: FakeService) -> None:
    """The context is the one from before."""
    service.compact_every = 4
    session = open_session()
    talk(session, 0, 4)
    session.revert(1)
    assert session.prepare(adopt="never").messages == [said(number) for number in range(4)]


def test_history_reads_what_a_compaction_covers(session: Session) -> None:
    """Recall, by place and by text."""
    talk(session, 0, 6)
    assert [entry.seq for entry in session.history(1, 3)] == [1, 2]
    assert [entry.message for entry in session.history(grep="message 2")] == [said(2)]


def test_an_unknown_session_is_a_problem_with_a_code(session: Session) -> None:
    """Codes are stable; the class is there for the frequent ones."""
    with pytest.raises(ProblemError) as raised:
        session.reload()
    assert raised.value.code == "session_not_found"


def test_no_error_shows_the_key_or_the_conversation(open_session: Open) -> None:
    """Errors go to logs."""
    session = open_session(key="sk-very-secret")
    with pytest.raises(ProblemError) as raised:
        session.prepare({"role": "user", "content": "my private text"})
    assert "secret" not in str(raised.value)
    assert "private" not in f"{raised.value!r} {session!r}"
