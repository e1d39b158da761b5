"""The page about the contract names every code and every path there is."""

from __future__ import annotations

from pathlib import Path

import pytest

from precompact_api.problems import KINDS, Code

PAGE = Path(__file__).resolve().parents[3] / "docs" / "reference" / "http-api.md"


@pytest.mark.parametrize("code", list(Code))
def test_the_page_says_what_to_do_about_every_problem(code: Code) -> None:
    """Code, status and detail stand in the table as the service sends them."""
    kind = KINDS[code]
    assert f"| `{code.value}` | {kind.status} | {kind.detail} |" in PAGE.read_text(encoding="utf-8")
