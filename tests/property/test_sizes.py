"""Sizes in the store: the last valid report and a calibrated estimate of what came after it, on Redis and twin alike."""

from __future__ import annotations

import pytest

from precompact_shared.engine.estimate import Lessons, State, learn
from precompact_shared.store.calibration import Remembered, start_of
from precompact_shared.store.ops import Changes, Create
from precompact_shared.store.types import Load, NewEntry, Seen, Usage
from tests.property.stage import Stage

CLAUDE, GPT = "claude-sonnet-4-6", "gpt-5.1"
TOLD = 1_000
"""What every reply and every result of these stories weighs."""


def reply(stage: Stage, text: int = TOLD, **load: int) -> NewEntry:
    """An answer of the model."""
    return stage.entry(role="a", tokens=text, load=Load("r", text, thoughts=1, **load))


def given(stage: Stage, text: int = TOLD) -> NewEntry:
    """A result."""
    return stage.entry(role="t", tokens=text, load=Load("g", text))


def asked(stage: Stage, text: int = 10) -> NewEntry:
    """A message of the user."""
    return stage.entry(role="u", tokens=text, load=Load("u", text))


def begun(stage: Stage, model: str | None = CLAUDE, total: int = 10_000) -> None:
    """A session with one reported prompt."""
    create = Create("openai-chat", model)
    stage.append([asked(stage)], seen=Seen(0, 0), create=create)
    stage.append([], seen=stage.seen, changes=Changes(usage=Usage(total, 0, 1)))


def turn(stage: Stage, growth: int, **told: int | bool) -> None:
    """Reply and result, then the next prompt, which is so much larger than the one before."""
    before = remembered(stage).base
    stage.append([reply(stage), given(stage)], seen=stage.seen)
    report = Usage(before + growth, stage.view.version, stage.view.length, **told)  # type: ignore[arg-type]
    stage.append([], seen=stage.seen, changes=Changes(usage=report))


def remembered(stage: Stage) -> Remembered:
    """What the estimate keeps of the session."""
    assert stage.facts.remembered is not None
    return stage.facts.remembered


def test_what_follows_a_report_is_added_and_the_report_alone_is_exact(stage: Stage) -> None:
    """The spread says how exact."""
    begun(stage)
    assert (stage.view.tokens, stage.view.spread) == (10_000, 0)
    stage.append([reply(stage), given(stage)], seen=stage.seen)
    assert stage.view.tokens == 12_000
    assert stage.view.spread is not None
    assert stage.view.spread > 100


def test_before_the_first_report_nobody_knows_how_far_off_the_size_is(stage: Stage) -> None:
    """Unknown is said to be unknown."""
    stage.append([asked(stage, 300)], seen=Seen(0, 0), create=Create("anthropic", CLAUDE))
    assert (stage.view.tokens, stage.view.spread, stage.view.anchored) == (300, None, False)


def test_a_session_learns_what_its_tokens_are(stage: Stage) -> None:
    """Growths of a tenth more than the family's rates say are foretold after a few of them."""
    begun(stage)
    for _ in range(6):
        turn(stage, 2_200)
    assert remembered(stage).steps == 6
    base = remembered(stage).base
    stage.append([reply(stage), given(stage)], seen=stage.seen)
    assert stage.view.tokens - base == pytest.approx(2_200, abs=70)


def test_usage_that_comes_with_its_reply_teaches_from_the_entries_before_it(stage: Stage) -> None:
    """One call brings both; the reply is behind the prompt that was measured."""
    begun(stage)
    stage.append([reply(stage), given(stage)], seen=stage.seen)
    usage = Usage(12_100, 0, stage.view.length)
    stage.append([reply(stage, 500), given(stage, 400)], seen=stage.seen, changes=Changes(usage=usage))
    known = remembered(stage)
    assert (known.base, known.length, known.steps) == (12_100, 3, 1)
    assert stage.view.tokens == pytest.approx(12_100 + 900 * known.text, abs=1)


def test_a_reply_with_server_side_tools_is_no_base_and_spoils_nothing(stage: Stage) -> None:
    """Its usage sums up several passes; the growth across it is not the entries' alone."""
    begun(stage)
    turn(stage, 2_200)
    learned = remembered(stage)
    turn(stage, 60_000, server=True)
    assert stage.view.tokens == pytest.approx(learned.base + 2_200, abs=200)
    turn(stage, 9_000)
    after = remembered(stage)
    assert (after.base, after.blind) == (learned.base + 9_000, False)
    assert (after.factors, after.steps) == (learned.factors, learned.steps)


def test_usage_from_before_an_adoption_teaches_nothing(stage: Stage) -> None:
    """184,915 tokens reported, 28,617 in the next call: a recording has it. What was learned before stays."""
    begun(stage)
    turn(stage, 2_200)
    turn(stage, 2_200)
    learned = remembered(stage)
    stage.take(stage.make("a", 3))
    stale = Usage(184_915, 0, stage.view.length)
    stage.append([reply(stage)], seen=stage.seen, changes=Changes(usage=stale))
    assert not stage.view.anchored
    assert (remembered(stage).factors, remembered(stage).steps) == (learned.factors, learned.steps)
    fresh = Usage(28_617, stage.view.version, stage.view.length)
    stage.append([], seen=stage.seen, changes=Changes(usage=fresh))
    assert (stage.view.tokens, remembered(stage).factors) == (28_617, learned.factors)


def test_system_text_between_a_reply_and_the_user_does_not_hide_that_a_turn_begins(stage: Stage) -> None:
    """The reasoning of the turn before leaves."""
    create, start = Create("openai-responses", GPT), start_of("openai-responses", GPT)
    stage.append([asked(stage)], seen=Seen(0, 0), create=create, start=start)
    stage.append([], seen=stage.seen, changes=Changes(usage=Usage(10_000, 0, 1, reasoned=4_000)))
    system = stage.entry(role="s", tokens=50, load=Load("s", 50))
    stage.append([reply(stage), system, asked(stage)], seen=stage.seen)
    assert stage.view.tokens < 12_000


def test_the_tail_behind_a_checkpoint_is_scaled_by_what_was_learned(stage: Stage) -> None:
    """With the fixed part of the requests, and called an estimate."""
    begun(stage)
    for _ in range(4):
        turn(stage, 2_400)
    stage.take(stage.make("a", 7))
    text = remembered(stage).text
    assert text > 1.1
    assert stage.view.spread is None
    assert stage.view.tokens == pytest.approx(stage.view.overhead + text * (20 + 2 * TOLD), abs=1)


def test_another_model_begins_anew(stage: Stage) -> None:
    """Neither base nor factors are its own."""
    begun(stage)
    turn(stage, 2_400)
    start = start_of("openai-chat", GPT)
    stage.append([], seen=stage.seen, changes=Changes(model=GPT), start=start)
    known = remembered(stage)
    assert (known.base, known.factors, known.steps, known.counts_reasoning) == (0, (1, 1, 1), 0, True)


def test_a_model_that_gets_its_name_late_keeps_the_base(stage: Stage) -> None:
    """It is the one that reported."""
    begun(stage, model=None)
    stage.append([], seen=stage.seen, changes=Changes(model=CLAUDE), start=start_of("openai-chat", CLAUDE))
    assert (stage.view.anchored, stage.view.tokens) == (True, 10_000)
    assert not remembered(stage).counts_reasoning


def test_reasoning_that_was_reported_leaves_with_the_next_turn(stage: Stage) -> None:
    """GPT's is in the prompt and not in the transcript, until the user speaks again."""
    begun(stage, GPT)
    usage = Usage(12_000, 0, 1, output=1_500, reasoned=1_400)
    stage.append([reply(stage, 100)], seen=stage.seen, changes=Changes(usage=usage))
    assert stage.view.tokens == 12_000 + 100 + 1_400
    stage.append([asked(stage)], seen=stage.seen)
    assert stage.view.tokens == 12_000 + 100 + 10


def test_a_rewind_behind_the_report_takes_back_what_followed(stage: Stage) -> None:
    """As if it had never been."""
    begun(stage)
    stage.append([reply(stage), given(stage)], seen=stage.seen)
    before = (stage.view.tokens, stage.view.spread)
    stage.append([asked(stage), reply(stage), given(stage)], seen=stage.seen)
    stage.rewind(3, seen=stage.seen, req="r1")
    assert (stage.view.tokens, stage.view.spread) == before


def test_a_session_tells_its_tenant_once(stage: Stage) -> None:
    """With the eighth growth that it has learned from."""
    begun(stage)
    lessons = []
    for _ in range(10):
        before = remembered(stage).base
        stage.append([reply(stage), given(stage)], seen=stage.seen)
        report = Usage(before + 2_200, 0, stage.view.length)
        answer = stage.append([], seen=stage.seen, changes=Changes(usage=report))
        assert answer.view is not None
        lessons.append((answer.view.lesson, remembered(stage)))
    told = [(lesson, known) for lesson, known in lessons if lesson is not None]
    assert len(told) == 1
    lesson, known = told[0]
    assert known.steps == 8
    assert lesson.f == pytest.approx(known.factors, rel=1e-9)
    learned = learn(Lessons(), State(factors=known.factors, steps=known.steps, leaves=known.leaves))
    assert learned.factors == pytest.approx(lesson.f, rel=1e-9)
