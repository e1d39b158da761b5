"""What a scheduler remembers for a while."""

from __future__ import annotations

from msgspec.structs import replace as changed

from precompact_scheduler.facts import Statement
from precompact_scheduler.memory import Memory, Recent
from precompact_shared.engine.trigger import Action, Decision, Kind, Reason
from precompact_shared.store.types import SessionView

STATEMENT = Statement(
    tenant="t",
    session="s",
    version=1,
    length=5,
    at_ms=0,
    tokens=1_000,
    model=None,
    window=None,
    max_output=None,
    observed_limit=None,
    growth_tokens_per_s=0,
    job=None,
    candidate=None,
)
NOTHING = Decision(action=Action.NONE, reason=Reason.BELOW_START, row="else")
CLAIM = Decision(action=Action.CLAIM, reason=Reason.START, row="start", kind=Kind.SPECULATIVE)


def view(version: int, tokens: int) -> SessionView:
    """A session that stands like this."""
    return SessionView(
        tenant="t",
        session="s",
        incarnation=0,
        format="anthropic",
        version=version,
        rewritten_at=0,
        length=5,
        head="0" * 40,
        tokens=tokens,
    )


def test_the_oldest_is_forgotten_when_there_are_too_many() -> None:
    """Memory is bounded."""
    recent: Recent[int, str] = Recent(2)
    for number in (1, 2, 1, 3):
        recent.put(number, str(number))
    assert (recent.get(1), recent.get(2), recent.get(3)) == ("1", None, "3")
    assert 2 not in recent


def test_the_same_decision_for_nothing_is_told_again_only_after_growth() -> None:
    """Five percent, another reason, or another version."""
    memory = Memory()
    assert memory.is_news(STATEMENT, NOTHING)
    assert not memory.is_news(changed(STATEMENT, tokens=1_050), NOTHING)
    assert memory.is_news(changed(STATEMENT, tokens=1_051), NOTHING)
    assert memory.is_news(changed(STATEMENT, tokens=1_051), changed(NOTHING, row="paused"))
    assert memory.is_news(changed(STATEMENT, tokens=1_051, version=2), NOTHING)


def test_every_decision_for_something_is_told() -> None:
    """Claims are what `why` is asked about."""
    memory = Memory()
    assert memory.is_news(STATEMENT, CLAIM)
    assert memory.is_news(STATEMENT, CLAIM)


def test_a_try_that_found_nothing_holds_for_its_version() -> None:
    """A rewrite may have made room for another."""
    memory = Memory()
    memory.note_try(view(1, 900), "no_safe_cut")
    found = memory.last_try(STATEMENT)
    assert found is not None
    assert (found.tokens, found.reason) == (900, "no_safe_cut")
    assert memory.last_try(changed(STATEMENT, version=2)) is None
