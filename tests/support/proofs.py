"""Names of tests as pages quote them, `tests/…/file.py::test_name`: whether they are there."""

from __future__ import annotations

import ast
from functools import lru_cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def is_there(name: str) -> bool:
    """Whether the file has a test of that name."""
    file, _, test = name.partition("::")
    return test in _tests(ROOT / file)


@lru_cache
def _tests(file: Path) -> frozenset[str]:
    if not file.is_file():
        return frozenset()
    tree = ast.parse(file.read_text(encoding="utf-8"))
    found = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return frozenset(node.name for node in found if node.name.startswith("test_"))
