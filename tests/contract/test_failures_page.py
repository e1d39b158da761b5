"""The page of provider failures has no row without a proof, and nothing that is proved is missing on it."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest

from precompact_standin.scenario import FaultKind
from precompact_worker.providers.verdicts import Verdict
from tests.contract.provider_faults import CASES, rows
from tests.support.proofs import ROOT, is_there

PAGE = (ROOT / "docs" / "reference" / "provider-failures.md").read_text(encoding="utf-8")
IDS = {case.id for case in CASES}


@dataclass(frozen=True)
class Row:
    """A line of one of the page's tables."""

    what: str
    proof: str

    @property
    def tests(self) -> list[str]:
        """Tests it names."""
        return re.findall(r"`(tests/[\w/]+\.py::\w+)`", self.proof)

    @property
    def cases(self) -> list[str]:
        """Cases it names."""
        told = re.findall(r"\bcases? ([\w\-, ]+)", self.proof)
        return [case.strip() for part in told for case in part.split(",") if case.strip()]


def table() -> list[Row]:
    """All lines."""
    lines = [line for line in PAGE.splitlines() if line.startswith("| ") and not line.startswith("| ---")]
    cells = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
    return [Row(row[0], row[2]) for row in cells if row[0] != "what happens"]


@pytest.mark.parametrize("row", table(), ids=lambda row: str(row.what)[:60])
def test_every_row_has_a_proof_that_is_there(row: Row) -> None:
    """A test by its name, or a case that is played to some provider."""
    assert row.tests or row.cases
    assert [name for name in row.tests if not is_there(name)] == []
    assert [case for case in row.cases if case not in IDS] == []


def test_every_case_stands_in_a_row_and_is_played() -> None:
    """None is forgotten on the page, none is a dead letter."""
    assert {case for row in table() for case in row.cases} == IDS
    assert {case.id for _, case, _ in rows()} == IDS


def test_everything_the_stand_in_can_do_wrong_is_a_case() -> None:
    """A new fault joins by a case."""
    assert {case.fault.kind for case in CASES} == set(FaultKind)


def test_every_verdict_stands_on_the_page() -> None:
    """All but the good one."""
    for verdict in set(Verdict) - {Verdict.OK}:
        assert f"`{verdict}`" in PAGE
