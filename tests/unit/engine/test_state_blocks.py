"""State blocks: what is true now comes back within its budgets, the stable first, the same way every time."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from precompact_shared.engine.shorten import is_shortened
from precompact_shared.engine.state_blocks import (
    STABLE,
    Choice,
    KindBudget,
    Oversize,
    Placed,
    StateBlock,
    StateBudgets,
    StateKind,
    changed_since,
    choose_blocks,
    digests_of,
    render_block,
    render_blocks,
)
from precompact_shared.engine.types import Format
from precompact_shared.engine.validate import validate

CLAUDE_CODE = StateBudgets(
    kinds=(
        KindBudget(StateKind.RULES, 0, 0, 0, Oversize.SHORTEN),
        KindBudget(StateKind.MEMORY, 0, 0, 0, Oversize.SHORTEN),
        KindBudget(StateKind.SKILL, 5_000, 25_000, 0, Oversize.SHORTEN),
        KindBudget(StateKind.PLAN, 0, 0, 1, Oversize.SHORTEN),
        KindBudget(StateKind.GIT, 0, 0, 1, Oversize.SHORTEN),
        KindBudget(StateKind.FILE, 5_000, 50_000, 5, Oversize.NAME),
    )
)
"""Facts on seed systems, chapter 5, Injection."""


def words(text: str) -> int:
    """A token a word, so that sizes can be told by looking."""
    return len(text.split())


kinds = st.sampled_from(StateKind)
blocks = st.lists(
    st.builds(
        StateBlock,
        kind=kinds,
        name=st.sampled_from(("a.md", "b", 'c"<x>\n', "ä")),
        text=st.sampled_from(("", " \n", "one", "two words", "</state> out", "many " * 300, "🙂 " * 400)),
        used_at=st.integers(0, 3),
    ),
    max_size=12,
    unique_by=lambda block: (block.kind, block.name),
)
budgets = st.builds(
    StateBudgets,
    kinds=st.lists(
        st.builds(
            KindBudget,
            kinds,
            st.sampled_from((0, 20, 100)),
            st.sampled_from((0, 30, 200)),
            st.integers(0, 3),
            st.sampled_from(Oversize),
        ),
        unique_by=lambda budget: budget.kind,
        max_size=8,
    ).map(tuple),
    total_tokens=st.sampled_from((0, 40, 300)),
)


@given(blocks, budgets, st.randoms())
def test_a_choice_keeps_every_budget_and_does_not_depend_on_the_order(
    given_blocks: list[StateBlock], within: StateBudgets, random: Random
) -> None:
    """Each block, each kind, all together, the number; stable kinds first; nothing is lost without being named."""
    choice = choose_blocks(given_blocks, within, count=words)
    shuffled = list(given_blocks)
    random.shuffle(shuffled)
    assert choose_blocks(shuffled, within, count=words) == choice
    placed = [*choice.stable, *choice.changing]
    assert {one.block.kind for one in choice.stable} <= STABLE
    assert not {one.block.kind for one in choice.changing} & STABLE
    assert within.total_tokens == 0 or choice.tokens <= within.total_tokens
    for budget in within.kinds:
        own = [one for one in placed if one.block.kind is budget.kind]
        assert not budget.total_tokens or sum(one.tokens for one in own) <= budget.total_tokens
        assert not budget.most or len(own) <= budget.most
        for one in own:
            assert not budget.each_tokens or one.text is None or one.tokens <= budget.each_tokens
            assert one.tokens == words(render_block(one))
    named = {(one.block.kind, one.block.name) for one in placed}
    assert named | {(one.kind, one.name) for one in choice.left_out} == {
        (one.kind, one.name) for one in given_blocks
    }
    assert len(placed) + len(choice.left_out) == len(given_blocks)


@given(blocks)
def test_rendering_is_valid_stable_and_closed(given_blocks: list[StateBlock]) -> None:
    """A message every provider takes; no text inside a block can end it."""
    within = StateBudgets(tuple(KindBudget(kind, 0, 0, 0, Oversize.NAME) for kind in StateKind))
    choice = choose_blocks(given_blocks, within, count=words)
    for wire in Format:
        for placed in (choice.stable, choice.changing):
            message = render_blocks(wire, placed)
            assert message == render_blocks(wire, placed)
            assert (message is None) == (not placed)
            assert message is None or validate(wire, [message]) == ()
    for one in (*choice.stable, *choice.changing):
        assert render_block(one).count("</state>") == 1
        assert render_block(one).endswith("</state>")


def test_of_seven_files_five_come_back_and_a_large_one_as_its_path() -> None:
    """Chapter 5, 8: the five most recent return, one above 5,000 tokens as a path."""
    files = [
        StateBlock(StateKind.FILE, f"src/{number}.py", "word " * (6_000 if number == 5 else 50), number)
        for number in range(7)
    ]
    choice = choose_blocks(files, CLAUDE_CODE, count=words)
    assert [one.block.name for one in choice.changing] == [f"src/{number}.py" for number in (2, 3, 4, 5, 6)]
    assert [one.block.name for one in choice.changing if one.text is None] == ["src/5.py"]
    assert [one.name for one in choice.left_out] == ["src/0.py", "src/1.py"]


def test_skills_keep_5_000_tokens_each_and_25_000_together() -> None:
    """Chapter 5, Injection: used skills, newest first."""
    skills = [StateBlock(StateKind.SKILL, f"s{number}", "word " * 9_000, number) for number in range(8)]
    choice = choose_blocks(skills, CLAUDE_CODE, count=words)
    assert [one.block.name for one in choice.stable] == ["s3", "s4", "s5", "s6", "s7"]
    assert all(3_500 < one.tokens <= 5_000 and is_shortened(one.text or "") for one in choice.stable)


def test_a_kind_without_a_budget_does_not_come_back() -> None:
    """Presets say what they know."""
    notice = StateBlock(StateKind.NOTICE, "n", "mind the gap")
    assert choose_blocks([notice], CLAUDE_CODE).left_out == (notice,)
    assert choose_blocks([], CLAUDE_CODE) == Choice()


def test_use_moves_no_byte() -> None:
    """The order of writing is by name: what a cache holds stays where it is."""
    one, two = (StateBlock(StateKind.RULES, name, f"text of {name}") for name in ("a", "b"))
    first = choose_blocks([one, two], CLAUDE_CODE).stable
    later = choose_blocks([one, replace(two, used_at=9)], CLAUDE_CODE).stable
    assert render_blocks(Format.ANTHROPIC, first) == render_blocks(Format.ANTHROPIC, later)


def test_a_smaller_block_takes_the_room_a_larger_one_cannot() -> None:
    """Nothing behind a large one is lost because of it."""
    within = StateBudgets((KindBudget(StateKind.TASK, 0, 40, 0, Oversize.LEAVE_OUT),))
    tasks = [
        StateBlock(StateKind.TASK, "big", "word " * 100, used_at=2),
        StateBlock(StateKind.TASK, "small", "word " * 10, used_at=1),
    ]
    assert [one.block.name for one in choose_blocks(tasks, within, count=words).changing] == ["small"]


def test_a_block_is_written_between_its_tags() -> None:
    """Names may hold anything."""
    block = StateBlock(StateKind.FILE, 'a"<b>\n&.py', "\n</state> x <state>\n")
    assert render_block(Placed(block, block.text, 0)) == (
        '<state kind="file" name="a&quot;&lt;b&gt; &amp;.py">\n‹/state> x ‹state>\n</state>'
    )
    assert render_block(Placed(block, None, 0)).endswith('text="left out, read it again when needed"/>')


@pytest.mark.parametrize(
    ("now", "told"),
    [
        ([("a", "x")], ()),
        ([("a", "y")], ("plan/a",)),
        ([("a", "x"), ("b", "z")], ("plan/b",)),
        ([], ("plan/a",)),
    ],
)
def test_what_changed_since_a_checkpoint_is_named(now: list[tuple[str, str]], told: tuple[str, ...]) -> None:
    """New, other and gone."""
    kept = digests_of([StateBlock(StateKind.PLAN, "a", "x")])
    assert changed_since(kept, [StateBlock(StateKind.PLAN, name, text) for name, text in now]) == told


def test_digests_take_any_text_and_are_in_order() -> None:
    """Lone surrogates too."""
    found = digests_of(
        [StateBlock(StateKind.RULES, "z", "\ud83d"), StateBlock(StateKind.GIT, "main", "clean")]
    )
    assert list(found) == ["git/main", "rules/z"]
    assert all(len(digest) == 64 for digest in found.values())
