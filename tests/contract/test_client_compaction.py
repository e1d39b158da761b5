"""The client against the whole service: contexts that compactions change, by themselves and by hand."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from precompact import CandidateRefusedError, Client, Context, Session, Status
from precompact_cli.sample import SESSION
from precompact_shared.engine.types import Format
from precompact_shared.engine.validate import validate
from tests.support.stack import Stack
from tests.support.waiting import eventually

pytestmark = pytest.mark.process
WINDOW = 80_000


@pytest.fixture(scope="module")
def sample() -> dict[str, Any]:
    """The sample session."""
    loaded: dict[str, Any] = json.loads(SESSION.read_text(encoding="utf-8"))
    return loaded


@pytest.fixture
def client(stack: Stack) -> Iterator[Client]:
    """A client of a tenant of its own."""
    _, key = stack.new_tenant()
    with Client(stack.api_urls[0], key, unreachable="raise") as opened:
        yield opened


def opened(client: Client, sample: dict[str, Any], session_id: str = "sample") -> Session:
    """A session that knows nothing yet."""
    return client.session(
        session_id, format="anthropic", model=sample["model"], window=WINDOW, max_output=8_000
    )


def settled(stack: Stack, session: Session, context: Context) -> Context:
    """The context once all is decided and no job runs: an agent's model call takes longer than the test's jobs."""
    eventually(
        lambda: not any(map(stack.client.zcard, (shard.unhandled for shard in stack.layout.all_shards()))),
        20.0,
        "every event is decided on",
    )

    def asked() -> Context | None:
        answer = session.prepare(adopt="never")
        return answer if answer.compaction.state != "preparing" else None

    eventually(asked, 20.0, "the job ends")
    return context


def play(stack: Stack, session: Session, sample: dict[str, Any], upto: int | None = None) -> list[Context]:
    """Every model call of the sample up to an entry, as an agent makes them; the contexts it was given."""
    replies = {call["prefix"] for call in sample["usage"]}
    contexts = []
    for index, message in enumerate(sample["messages"][:upto]):
        if index in replies:
            contexts.append(settled(stack, session, session.prepare()))
        session.append(message)
    return contexts


def half(client: Client, sample: dict[str, Any]) -> Session:
    """A session long enough to be compacted by hand, short enough not to be by itself."""
    session = opened(client, sample)
    session.append(sample["messages"][:60])
    session.flush()
    return session


def test_the_sample_is_compacted_while_it_grows(stack: Stack, client: Client, sample: dict[str, Any]) -> None:
    """Adopted without blocking, every context valid, the own list whole, and another process sees the same."""
    session = opened(client, sample)
    contexts = play(stack, session, sample)
    statuses = {context.status for context in contexts}
    adopted = [context for context in contexts if context.status is Status.ADOPTED]
    assert statuses == {Status.FITS, Status.ADOPTED}
    assert 2 <= len(adopted) <= 5
    for context in contexts:
        assert validate(Format.ANTHROPIC, context.messages) == ()
        assert context.compaction.blocked_s == 0
    assert session.messages == sample["messages"]
    last = session.prepare(adopt="never")
    other = opened(client, sample)
    other.reload()
    assert other.messages == session.messages
    assert other.prepare(adopt="never").messages == last.messages
    assert len(last.messages) < len(session.messages) / 2
    assert "never touch the payments module" in json.dumps(last.messages)


def test_a_compaction_by_hand_is_made_adopted_and_reverted(client: Client, sample: dict[str, Any]) -> None:
    """The whole list is back afterwards."""
    session = half(client, sample)
    before = session.prepare(adopt="never")
    compacted = session.compact("the rate limiter", wait=20)
    assert compacted.candidate is not None
    adopted = session.adopt(compacted.candidate.id)
    assert adopted.status is Status.ADOPTED
    assert adopted.checkpoint == compacted.candidate.id
    assert len(adopted.messages) < len(before.messages)
    assert session.prepare(adopt="never").messages == adopted.messages
    session.revert(adopted.compaction.generation)
    reverted = session.prepare(adopt="never")
    assert reverted.messages == before.messages
    assert reverted.version == adopted.version + 1


def test_a_declined_candidate_is_never_adopted(client: Client, sample: dict[str, Any]) -> None:
    """Not even when it is asked for by name."""
    session = half(client, sample)
    compacted = session.compact(wait=20)
    assert compacted.candidate is not None
    offered = session.prepare(adopt="offer")
    assert offered.compaction.candidate == compacted.candidate
    session.decline()
    with pytest.raises(CandidateRefusedError) as raised:
        session.adopt(compacted.candidate.id)
    assert raised.value.facts["reason"] == "declined"


def test_a_rewind_behind_an_adoption_goes_back_to_the_entries(client: Client, sample: dict[str, Any]) -> None:
    """What was covered and still lives is in the next context, as it was sent."""
    session = half(client, sample)
    compacted = session.compact(wait=20)
    assert compacted.candidate is not None
    session.adopt()
    session.rewind(compacted.candidate.upto - 1)
    context = session.prepare(adopt="never")
    assert context.checkpoint is None
    assert context.messages[: len(session.messages)] == sample["messages"][: compacted.candidate.upto - 1]
