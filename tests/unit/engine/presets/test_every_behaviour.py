"""Which numbered behaviour of the seven systems is shown by which test: none of cut, injection and prune may lack one.

The numbers are those of the list of behaviours of each system (chapter, number). A test names what it shows in the
first words of its docstring: `Chapter 3, 7` or `Chapter 6, 4 and 8`.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).resolve().parents[3]
WANTED = {
    1: (6, 7, 10, 11, 12, 13),
    2: (7, 8, 9, 10, 11, 19, 20, 21, 34, 35, 36),
    3: (7, 8, 9, 10, 11, 16, 17),
    4: (4, 5, 6, 7, 8, 9, 10, 14, 16, 20),
    5: (4, 5, 8, 9, 10),
    6: (3, 4, 5, 6, 12),
    7: (3, 4, 5),
}
"""Cut, injection and prune: Codex, OpenCode, pi, Gemini CLI, Claude Code, Anthropic's API, OpenAI's API."""
NOT_OURS = {
    (
        1,
        7,
    ): "which items stay is decided by OpenAI's endpoint; its output goes unchanged to the front (chapter 7, 3)",
    (
        7,
        4,
    ): "`previous_response_id` keeps the list on the server; here the caller holds it, so nothing can be dropped",
}
"""Behaviours of a server, not of a preset, and what stands in their place."""
_NAMED = re.compile(r"[Cc]hapter (\d)((?:,? (?:and )?(?:\d+|[A-Z][a-z]+)(?!\d))+)")


def shown() -> dict[tuple[int, int], list[str]]:
    """Tests by the behaviours that they name."""
    found: dict[tuple[int, int], list[str]] = defaultdict(list)
    for path in sorted(TESTS.rglob("test_*.py")):
        for name, told in _docstrings(path):
            for chapter, numbers in _NAMED.findall(told):
                for number in re.findall(r"\d+", numbers):
                    found[int(chapter), int(number)].append(f"{path.name}::{name}")
    return found


def _docstrings(path: Path) -> Iterator[tuple[str, str]]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            yield node.name, ast.get_docstring(node) or ""


def test_every_behaviour_of_cut_injection_and_prune_has_its_test() -> None:
    """By number; what a server decides is listed with what we do instead."""
    found = shown()
    wanted = {(chapter, number) for chapter, numbers in WANTED.items() for number in numbers}
    assert wanted - set(found) - set(NOT_OURS) == set()
    assert set(NOT_OURS) <= wanted
    assert set(NOT_OURS) & set(found) == set()


def test_no_test_names_a_behaviour_that_does_not_exist() -> None:
    """The lists end at these numbers."""
    ends = {1: 24, 2: 36, 3: 32, 4: 20, 5: 14, 6: 12, 7: 9, 8: 9}
    assert [place for place in shown() if not 1 <= place[1] <= ends[place[0]]] == []
