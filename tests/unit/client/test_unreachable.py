from __future__ import annotations

import pytest

from precompact import NotAuthorizedError, ServiceUnreachableError, Session, SessionDeletedError, Status
from precompact.steps import NoReply, Pause, Reply, Request, Retry, send
from tests.unit.client.conftest import Open
from tests.unit.client.fake_service import FakeService
from tests.unit.client.test_prepare import said, talk


def test_the_agent_goes_on_with_its_own_list(open_session: Open, service: FakeService) -> None:
    """With the last known compaction, so that the list still fits; then everything is delivered."""
    service.compact_every = 4
    session = open_session()
    talk(session, 0, 4)
    service.fail = lambda _: "refuse"
    away = session.prepare(said(4))
    assert away.status is Status.UNREACHABLE
    assert away.messages[0]["content"].startswith("<conversation-summary>")
    assert away.messages[1:] == [said(2), said(3), said(4)]
    session.prepare(said(5))
    service.fail = lambda _: "answer"
    back = session.prepare(said(6))
    assert back.status is not Status.UNREACHABLE
    assert service.sessions["s1"].entries == session.messages == [said(number) for number in range(7)]


def test_a_service_known_to_be_away_is_tried_once(session: Session, service: FakeService) -> None:
    """Three attempts at first, then one a call: an outage must not cost the agent a time-out times three."""
    service.fail = lambda _: "503"
    session.prepare(said(0))
    assert len(service.requests) == 3
    session.prepare(said(1))
    assert len(service.requests) == 4


def test_every_answer_may_be_lost_without_loss(session: Session, service: FakeService) -> None:
    """The service does everything and says nothing; no entry is doubled."""
    service.fail = lambda _: "lose"
    talk(session, 0, 3)
    service.fail = lambda _: "answer"
    assert len(session.prepare(said(3)).messages) == 4
    assert service.sessions["s1"].entries == [said(number) for number in range(4)]


def test_prepare_raises_when_it_was_told_to(open_session: Open, service: FakeService) -> None:
    """And the messages still go with the next call."""
    session = open_session(unreachable="raise")
    service.fail = lambda _: "refuse"
    with pytest.raises(ServiceUnreachableError, match="ConnectError"):
        session.prepare(said(0))
    service.fail = lambda _: "answer"
    assert session.prepare().messages == [said(0)]


def test_a_refusal_is_raised_in_any_case(open_session: Open, service: FakeService) -> None:
    """A wrong key or a deleted session is nothing that passes."""
    with pytest.raises(NotAuthorizedError):
        open_session(key="wrong").prepare(said(0))
    session = open_session()
    session.prepare(said(0))
    session.delete()
    with pytest.raises(SessionDeletedError):
        session.prepare(said(1))


def test_a_rewind_without_answer_changes_nothing_here(session: Session, service: FakeService) -> None:
    """It can be called again; what was not delivered in between is settled first."""
    talk(session, 0, 3)
    service.fail = lambda _: "refuse"
    session.prepare(said(3))
    with pytest.raises(ServiceUnreachableError):
        session.rewind(1)
    assert len(session.messages) == 4
    service.fail = lambda _: "answer"
    session.rewind(1)
    assert session.messages == service.sessions["s1"].entries == [said(0)]


def test_a_rewind_whose_answer_was_lost_is_no_conflict_later(session: Session, service: FakeService) -> None:
    """The service did it, we were told that nothing changed: the entries go back, and both agree."""
    talk(session, 0, 4)
    service.fail = lambda _: "lose"
    with pytest.raises(ServiceUnreachableError):
        session.rewind(1)
    service.fail = lambda _: "answer"
    context = session.prepare(said(4))
    assert context.messages == service.sessions["s1"].entries == [said(number) for number in range(5)]


def test_a_rewind_whose_answer_was_lost_can_be_called_again(session: Session, service: FakeService) -> None:
    """The same request gets the same answer."""
    talk(session, 0, 4)
    service.fail = lambda _: "lose"
    with pytest.raises(ServiceUnreachableError):
        session.rewind(1)
    service.fail = lambda _: "answer"
    session.rewind(1)
    assert session.prepare(said(1)).messages == service.sessions["s1"].entries == [said(0), said(1)]


def test_a_deletion_whose_answer_was_lost_is_done(session: Session, service: FakeService) -> None:
    """Gone is gone, by whichever attempt."""
    session.prepare(said(0))
    service.fail = lambda number: "lose" if number == 1 else "answer"
    session.delete()
    assert service.deleted == {"s1"}


def test_pauses_grow_are_bounded_and_do_what_the_service_asks() -> None:
    """Doubling with jitter; a Retry-After counts, up to the longest pause."""
    retry = Retry(attempts=9, first_pause_s=0.2, longest_pause_s=2.0)
    assert 0.1 <= retry.pause(0, None).seconds <= 0.2
    assert 0.4 <= retry.pause(2, None).seconds <= 0.8
    assert retry.pause(8, None).seconds == 2.0
    assert retry.pause(0, 1.0).seconds == 1.0
    assert retry.pause(0, 4e6).seconds == 2.0


def test_a_call_is_sent_as_often_as_it_may_be() -> None:
    """Step by step, without any I/O."""
    steps = send(Request("POST", "/x"), Retry(attempts=2, first_pause_s=0.0))
    assert next(steps) == Request("POST", "/x")
    assert isinstance(steps.send(NoReply("ReadTimeout")), Pause)
    assert steps.send(None) == Request("POST", "/x")
    with pytest.raises(StopIteration) as done:
        steps.send(Reply(200, {}, b"{}"))
    assert done.value.value == Reply(200, {}, b"{}")
