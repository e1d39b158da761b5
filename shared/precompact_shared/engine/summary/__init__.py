"""What: a summary made by code alone, carried forward from one generation to the next, and the check of any summary.

`extract` reads facts off the covered entries, `render` writes them into a preset's sections. Nothing is invented and
nothing is ordered: every line is a quotation or a list of what was done, with the address where `recall` finds it.
"""

from __future__ import annotations

from precompact_shared.engine.summary.by_code import render_split, summarise_by_code
from precompact_shared.engine.summary.carried import Carried
from precompact_shared.engine.summary.check import Accepted, Rejected, RejectReason, check_summary
from precompact_shared.engine.summary.coverage import Coverage, coverage
from precompact_shared.engine.summary.divided import (
    budgets_of,
    filling_presets,
    head_preset,
    join_parts,
    whole_preset,
)
from precompact_shared.engine.summary.evidence import Evidence, Score, add_missing, evidence_of, score
from precompact_shared.engine.summary.extract import extract
from precompact_shared.engine.summary.facts_by_code import MODEL_SHARE, add_facts
from precompact_shared.engine.summary.rebuild import Basis, Ground, choose_basis
from precompact_shared.engine.summary.render import Summary, render
from precompact_shared.engine.summary.template import split_template, template
from precompact_shared.engine.summary.transcript import Spoken, joined, segments, spoken

__all__ = [
    "MODEL_SHARE",
    "Accepted",
    "Basis",
    "Carried",
    "Coverage",
    "Evidence",
    "Ground",
    "RejectReason",
    "Rejected",
    "Score",
    "Spoken",
    "Summary",
    "add_facts",
    "add_missing",
    "budgets_of",
    "check_summary",
    "choose_basis",
    "coverage",
    "evidence_of",
    "extract",
    "filling_presets",
    "head_preset",
    "join_parts",
    "joined",
    "render",
    "render_split",
    "score",
    "segments",
    "split_template",
    "spoken",
    "summarise_by_code",
    "template",
    "whole_preset",
]
