"""Every rule of the validator's has its smallest violation at the stand-in, or a reason on its page why it is let pass."""

from __future__ import annotations

import re

import pytest

from precompact_shared.engine.types import Format
from precompact_shared.engine.validate import CHECKS, Severity
from tests.contract.test_standin_agrees import STRICTER
from tests.contract.test_standin_anthropic_rules import BROKEN as MESSAGES
from tests.contract.test_standin_openai_rules import BROKEN as RESPONSES
from tests.contract.test_standin_openai_rules import CHAT_BROKEN as CHAT
from tests.support.proofs import ROOT, is_there

PAGE = (ROOT / "docs" / "reference" / "standin.md").read_text(encoding="utf-8")
ROWS = {row[0] for row in (*MESSAGES, *RESPONSES)} | {row[0] for row in CHAT}
ELSEWHERE = {
    "A11": "tests/contract/test_standin_anthropic_rules.py::test_thinking_stays_bound_to_what_stood_before_it",
    "A14": "tests/contract/test_standin_compaction.py::test_what_is_sent_back_is_checked",
    "A21": "tests/contract/test_standin_anthropic_errors.py::test_more_than_32_mb_is_too_large",
}
"""Violations that take more than one request, or more than a row can hold."""
RULES = sorted({check.id for wire in Format for check in CHECKS[wire]})
ERRORS = {check.id for wire in Format for check in CHECKS[wire] if check.severity is Severity.ERROR}


def reasons() -> dict[str, str]:
    """Rules under "Where it differs from the validator", with what is said of them."""
    table = PAGE.partition("## Where it differs from the validator")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", table, re.MULTILINE)
    return {rule.strip(): f"{how} {why}" for rules, how, why in rows for rule in rules.split(",")}


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_is_refused_or_explained(rule: str) -> None:
    """A new rule joins by a row of a table, or by a line on the page."""
    told = reasons().get(rule, "")
    if rule in ROWS:
        assert not told or "stricter" in told
    elif rule in ELSEWHERE:
        assert is_there(ELSEWHERE[rule])
    else:
        assert "looser" in told
        assert rule not in ERRORS or len(told) > 60


def test_what_is_stricter_here_is_explained_too() -> None:
    """What the comparison with the validator leaves out is on the page."""
    assert {rule for rule, told in reasons().items() if "stricter" in told} == set(STRICTER)


def test_the_numbering_has_no_holes() -> None:
    """21 of Messages, 14 of Responses, 6 of Chat Completions."""
    numbers = {rule.rstrip("abc") for rule in RULES}
    wanted = (
        {f"A{n}" for n in range(1, 22)} | {f"O{n}" for n in range(1, 15)} | {f"C{n}" for n in range(1, 7)}
    )
    assert wanted <= numbers
