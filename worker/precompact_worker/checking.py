"""What is asked of a reply before it becomes a candidate, and what code adds to it. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace

from precompact_shared.engine.summary import (
    Rejected,
    Score,
    add_facts,
    add_missing,
    budgets_of,
    check_summary,
    evidence_of,
    filling_presets,
    score,
)
from precompact_shared.engine.tokens import count_text
from precompact_shared.errors import Permanent
from precompact_worker.providers.base import Reply, Request, Stop

EVIDENCE_WORTH_A_CALL = 0.75
"""Below this share of the evidence another call is made; above it code appends what is missing."""


class SummaryRejected(Permanent):
    """The summary does not pass the checks; the next provider in the chain is asked."""

    code = "summary_rejected"

    def __init__(self, reason: str) -> None:
        super().__init__(reason=reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Checked:
    """A reply as it would be stored, and what is wrong with it."""

    reply: Reply
    rejected: Rejected | None
    score: Score

    @property
    def deserves_a_nudge(self) -> bool:
        """Whether asking once more is worth a call."""
        return self.rejected is not None or self.score.share < EVIDENCE_WORTH_A_CALL


def check(reply: Reply, request: Request, covered_tokens: int) -> Checked:
    """The reply with the facts that code knows, and what is wrong with it. `covered_tokens` it is to take the place of."""
    text = with_facts(reply.text.strip(), request)
    return _checked(replace(reply, text=text, tokens=count_text(text)), request, covered_tokens)


def completed(checked: Checked, request: Request, covered_tokens: int) -> Checked:
    """With the evidence that is still missing appended, as far as there is room."""
    if checked.rejected is not None or not checked.score.missing:
        return checked
    room = request.max_tokens - checked.reply.tokens
    text = add_missing(checked.reply.text, checked.score.missing, request.preset, room)
    full = _checked(replace(checked.reply, text=text, tokens=count_text(text)), request, covered_tokens)
    return full if full.rejected is None else checked


def with_facts(text: str, request: Request) -> str:
    """The text with what code knows; where it tells a divided turn's head apart, each part with its own."""
    most, focus = request.max_tokens, request.focus
    if request.head is None:
        return add_facts(text, request.known, request.preset, most, focus)
    parts = filling_presets(request.preset)
    room = max(0, most - count_text(text))
    kept_free = budgets_of(request.preset, most).head * room // most
    text = add_facts(text, request.carried, parts.history, most - kept_free, focus)
    return add_facts(text, request.head, parts.head, most, focus)


def check_reply(reply: Reply, request: Request, covered_tokens: int) -> None:
    """Stop reason, then the summary's own checks. Raises `SummaryRejected`."""
    if reply.stop is not Stop.END:
        raise SummaryRejected(reply.stop)
    rejected = _fault(reply, request, covered_tokens)
    if rejected is not None:
        raise SummaryRejected(str(rejected.reason))


def _checked(reply: Reply, request: Request, covered_tokens: int) -> Checked:
    found = score(reply.text, evidence_of(request.known))
    return Checked(reply, _fault(reply, request, covered_tokens), found)


def _fault(reply: Reply, request: Request, covered_tokens: int) -> Rejected | None:
    verdict = check_summary(
        reply.text,
        tokens=reply.tokens,
        covered_tokens=covered_tokens,
        max_tokens=request.max_tokens,
        preset=request.preset,
    )
    return verdict if isinstance(verdict, Rejected) else None
