from __future__ import annotations

import pytest

from precompact import (
    HistoryDivergedError,
    HistoryRewrittenError,
    ProblemError,
    Session,
    Status,
    UnexpectedAnswerError,
    record,
)
from precompact.record import Statement
from tests.unit.client.conftest import Open
from tests.unit.client.fake_service import FakeService, Refusal, Stored


def said(number: int) -> dict[str, str]:
    """One message of a conversation."""
    return {"role": "user" if number % 2 == 0 else "assistant", "content": f"message {number}"}


def talk(session: Session, start: int, end: int) -> None:
    """Prepare with one message after the other."""
    for number in range(start, end):
        session.prepare(said(number))


def test_the_first_call_brings_all_that_creates_a_session(session: Session, service: FakeService) -> None:
    """Format, window and the pair {0, 0}, so that a repeated first call is skipped."""
    context = session.prepare(said(0))
    assert context.messages == [said(0)]
    assert context.status is Status.FITS
    assert service.bodies() == [
        {"format": "anthropic", "window": 100, "seen": {"version": 0, "length": 0}, "messages": [said(0)]}
    ]


def test_each_call_sends_only_what_is_new(session: Session, service: FakeService) -> None:
    """What the service confirmed never travels again."""
    talk(session, 0, 5)
    assert [len(body["messages"]) for body in service.bodies()] == [1] * 5
    assert [body["seen"]["length"] for body in service.bodies()] == [0, 1, 2, 3, 4]


def test_appended_messages_travel_with_the_next_prepare(session: Session, service: FakeService) -> None:
    """`append` alone sends nothing."""
    session.append([said(0), said(1)])
    assert service.requests == []
    session.append(said(2), pinned=True)
    session.prepare([said(3)])
    (body,) = service.bodies()
    assert body["messages"] == [said(number) for number in range(4)]
    assert body["pinned"] == [2]


def test_an_adopted_context_is_spliced_and_its_insert_travels_once(
    open_session: Open, service: FakeService
) -> None:
    """The insert stands for the covered entries from then on, by the id of its checkpoint."""
    service.compact_every = 6
    session = open_session()
    talk(session, 0, 5)
    adopted = session.prepare(said(5))
    assert adopted.status is Status.ADOPTED
    assert adopted.messages[0]["content"].startswith("<conversation-summary>")
    assert adopted.messages[1:] == [said(4), said(5)]
    later = session.prepare(said(6))
    assert later.messages == [*adopted.messages, said(6)]
    assert service.bodies()[-1]["have"] == adopted.checkpoint == later.checkpoint
    assert session.messages == [said(number) for number in range(7)]


def test_edits_are_applied_to_the_kept_tail(session: Session, service: FakeService) -> None:
    """Every answer states them; the own list stays as it was."""
    service.sessions["s1"] = Stored(edits=[{"seq": 1, "value": None}, {"seq": 0, "after": [said(9)]}])
    context = session.prepare([said(0), said(1), said(2)])
    assert context.messages == [said(0), said(9), said(2)]
    assert len(session.messages) == 3


def test_changing_what_was_handed_out_changes_nothing(session: Session, service: FakeService) -> None:
    """Callers place cache marks in the list they get."""
    message = {"role": "user", "content": [{"type": "text", "text": "x"}]}
    context = session.prepare(message)
    context.messages[0]["content"][0]["cache_control"] = {"type": "ephemeral"}
    message["content"] = "other"
    assert session.messages == [{"role": "user", "content": [{"type": "text", "text": "x"}]}]
    assert service.sessions["s1"].entries == session.messages


def test_a_lost_answer_is_asked_for_again_with_the_same_bytes(session: Session, service: FakeService) -> None:
    """The service did it, we do not know: the same call again is harmless."""
    session.prepare(said(0))
    service.fail = lambda number: "lose" if number == 1 else "answer"
    session.prepare(said(1))
    first, again = service.requests[1:]
    assert first[3] == again[3]
    assert service.sessions["s1"].entries == [said(0), said(1)]


def test_a_service_that_lost_entries_gets_them_again(session: Session, service: FakeService) -> None:
    """history_gap: everything from the length the service still has."""
    talk(session, 0, 6)
    del service.sessions["s1"].entries[2:]
    context = session.prepare(said(6))
    assert service.sessions["s1"].entries == session.messages
    assert len(context.messages) == 7


def test_a_service_that_forgot_the_session_gets_all_of_it(open_session: Open, service: FakeService) -> None:
    """Nothing left at all, version included: the whole list heals it, above both versions."""
    service.compact_every = 4
    session = open_session()
    talk(session, 0, 5)
    version = session.version
    service.sessions.clear()
    context = session.prepare(said(5))
    assert service.sessions["s1"].entries == session.messages
    assert context.version > version > 0
    assert service.bodies()[-1]["view"] == "history"


def test_a_service_that_merely_lacks_a_suffix_of_what_is_sent_is_no_conflict(
    session: Session, service: FakeService
) -> None:
    """history_diverged with everything in common is delivery in doubt, not another writer."""
    talk(session, 0, 3)
    service.refusals = [Refusal(409, "history_diverged", common=2, length=2, history_version=0)]
    session.prepare(said(3))
    assert service.bodies()[-1]["seen"]["length"] == 2
    assert service.sessions["s1"].entries == session.messages


def test_another_writer_is_an_error_that_says_what_to_do(open_session: Open, service: FakeService) -> None:
    """Two processes appended to one session; after `reload` both go on."""
    ours, theirs = open_session(), open_session()
    ours.prepare(said(0))
    theirs.reload()
    theirs.prepare(said(1))
    with pytest.raises(HistoryDivergedError, match="reload"):
        ours.prepare({"role": "assistant", "content": "something else"})
    ours.reload()
    assert ours.messages == [said(0), said(1)]
    assert ours.prepare(said(2)).messages == [said(0), said(1), said(2)]


def test_entries_rewritten_by_somebody_else_are_an_error(open_session: Open) -> None:
    """Our pair is older than the last rewrite."""
    ours, theirs = open_session(), open_session()
    talk(ours, 0, 6)
    theirs.reload()
    assert len(theirs.messages) == 6  # more than one page
    theirs.rewind(2)
    with pytest.raises(HistoryRewrittenError, match="reload") as raised:
        ours.prepare(said(6))
    assert raised.value.code == "history_rewritten"
    assert raised.value.facts["length"] == 2


def test_an_insert_that_was_left_out_wrongly_is_asked_for(open_session: Open, service: FakeService) -> None:
    """A context without insert for a checkpoint we never saw is of no use."""
    service.compact_every = 4
    session = open_session()
    talk(session, 0, 4)
    service.withholds_insert = True
    session._record.stated = Statement()
    with pytest.raises(UnexpectedAnswerError, match="insert"):
        session.prepare(adopt="never")
    service.withholds_insert = False
    assert session.prepare(said(4)).messages[1:] == [said(2), said(3), said(4)]


def test_repairs_are_not_tried_for_ever(session: Session, service: FakeService) -> None:
    """A service that keeps asking for more gets its refusal raised."""
    gap = Refusal(409, "history_gap", length=0, history_version=0)
    service.refusals = [gap] * 9
    with pytest.raises(ProblemError, match="history_gap"):
        session.prepare(said(0))
    assert len(service.requests) == 4


def test_a_long_list_travels_in_parts(
    session: Session, service: FakeService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By number and by size; only the last part may adopt, pins stay with their entries."""
    monkeypatch.setattr(record, "BATCH_ENTRIES", 3)
    monkeypatch.setattr(record, "BATCH_BYTES", 500)
    session.append([said(0), said(1), {"role": "user", "content": "x" * 600}, said(3)])
    session.append(said(4), pinned=True)
    context = session.prepare(said(5), wait=1)
    assert context.messages == service.sessions["s1"].entries == session.messages
    assert [len(body["messages"]) for body in service.bodies()] == [2, 1, 3]
    assert [body.get("adopt") for body in service.bodies()] == ["never", "never", None]
    assert [body.get("wait") for body in service.bodies()] == [None, None, 1]
    assert [body.get("pinned") for body in service.bodies()] == [None, None, [1]]


def test_options_are_sent_when_given(session: Session, service: FakeService) -> None:
    """And only then."""
    session.prepare(said(0), wait=0.5, overflow=True, adopt="offer", open_calls={"t1": "dead"})
    (body,) = service.bodies()
    assert body["wait"] == 0.5
    assert body["overflow"] is True
    assert body["adopt"] == "offer"
    assert body["open_calls"] == {"t1": "dead"}


def test_the_answer_is_read_in_full(session: Session) -> None:
    """Sizes and the state of compaction are there for logs and decisions."""
    context = session.prepare(said(0))
    assert (context.tokens, context.window, context.limit, context.hard) == (10, 100, 80, 90)
    assert context.compaction.reason == "below_start"
    assert context.compaction.candidate is not None
    assert context.compaction.candidate.upto == 2
    assert context.elapsed_s > 0
