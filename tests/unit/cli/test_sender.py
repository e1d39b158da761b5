"""The sender's books find what is missing and what is there twice."""

from __future__ import annotations

from typing import Any

import pytest

from precompact_cli.sender import Books, Statement

MESSAGES: list[dict[str, Any]] = [{"role": "user", "content": f"m{n}"} for n in range(6)]
SUMMARY = {"role": "user", "content": "<summary>"}


def books() -> Books:
    """Books with six messages sent."""
    made = Books()
    made.note_sent(MESSAGES)
    return made


def found(made: Books) -> tuple[int, int]:
    """(lost, doubled)."""
    return made.lost, made.doubled


def test_a_context_that_covers_and_keeps_everything_once_is_clean() -> None:
    """Without and with a checkpoint, and with an edit that was stated."""
    made = books()
    made.check_context(Statement(None, (), 0, ()), MESSAGES)
    made.check_context(Statement("c1", (SUMMARY,), 4, ()), [SUMMARY, *MESSAGES[4:]])
    made.check_context(
        Statement("c1", (SUMMARY,), 4, ({"seq": 5, "value": SUMMARY},)), [SUMMARY, MESSAGES[4], SUMMARY]
    )
    assert found(made) == (0, 0)


@pytest.mark.parametrize(
    ("statement", "handed_out", "expected"),
    [
        (Statement(None, (), 0, ()), MESSAGES[:-1], (1, 0)),
        (Statement(None, (), 0, ()), [*MESSAGES, MESSAGES[5]], (0, 1)),
        (Statement(None, (), 2, ()), MESSAGES[2:], (2, 0)),
        (Statement("c1", (SUMMARY, MESSAGES[5]), 4, ()), [SUMMARY, MESSAGES[5], *MESSAGES[4:]], (0, 1)),
        (Statement("c1", (SUMMARY,), 4, ()), [SUMMARY, MESSAGES[5], MESSAGES[5]], (1, 1)),
    ],
)
def test_a_context_that_misses_or_doubles_an_entry_is_found(
    statement: Statement, handed_out: list[Any], expected: tuple[int, int]
) -> None:
    """A gap at the end, a double, a gap without checkpoint, a kept entry in the insert, one in place of another."""
    made = books()
    made.check_context(statement, handed_out)
    assert found(made) == expected


def test_a_checkpoint_whose_boundary_moves_is_found() -> None:
    """The same checkpoint covers the same entries for ever."""
    made = books()
    made.check_context(Statement("c1", (SUMMARY,), 3, ()), [SUMMARY, *MESSAGES[3:]])
    made.check_context(Statement("c1", (SUMMARY,), 5, ()), [SUMMARY, *MESSAGES[5:]])
    assert found(made) == (2, 0)


@pytest.mark.parametrize(("upto", "expected"), [(4, (0, 0)), (2, (2, 0)), (5, (0, 1))])
def test_what_a_checkpoint_covers_has_to_end_where_its_context_begins(
    upto: int, expected: tuple[int, int]
) -> None:
    """A gap lost entries, an overlap doubled them."""
    made = books()
    made.check_context(Statement("c1", (SUMMARY,), 4, ()), [SUMMARY, *MESSAGES[4:]])
    made.check_chain({"c1": upto})
    assert found(made) == expected


def test_the_history_has_to_be_what_was_sent() -> None:
    """One missing, one changed, one doubled, one too many."""
    made = books()
    held = list(enumerate(MESSAGES))
    made.check_history(held)
    assert found(made) == (0, 0)
    made.check_history([*held[1:5], (5, SUMMARY), (4, MESSAGES[4]), (6, SUMMARY)])
    assert found(made) == (2, 2)
