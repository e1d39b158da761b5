"""A cut inside a turn, for a model that writes: its head is asked for apart, in a call of its own or under its own headings. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from precompact_shared.engine.preset import Preset
from precompact_shared.engine.summary import Carried, budgets_of, head_preset, join_parts, whole_preset
from precompact_shared.engine.tokens import count_text
from precompact_shared.engine.types import Entry
from precompact_worker.prompting import head_note
from precompact_worker.providers.base import Reply, Request

LEAST_PART_TOKENS = 400
"""A record with headings in less room than this says nothing."""


class Halves(NamedTuple):
    """Two requests in place of one: what came before the turn, and the head of the turn."""

    history: Request
    head: Request


def halves_of(request: Request) -> Halves | None:
    """The two requests; None where no turn is divided, nothing new lies in front of it, or the room is too small for two."""
    if request.head is None:
        return None
    before = tuple(entry for entry in request.covered if entry.seq < request.head.start)
    within = request.covered[len(before) :]
    budgets = budgets_of(request.preset, request.max_tokens)
    if not before or not within or min(budgets) < LEAST_PART_TOKENS:
        return None
    history = _part(request, before, request.carried, budgets.history)
    head = _part(request, within, request.head, budgets.head)
    return Halves(history, replace(head, preset=_told(request.preset), previous="", opening=()))


def in_one(request: Request) -> Request:
    """The same for a provider that is asked once: all headings in one form."""
    return request if request.head is None else replace(request, preset=whole_preset(request.preset))


def undivided(request: Request) -> Request:
    """The same without a head of its own."""
    return replace(request, head=None)


def put_together(history: Reply, head: Reply, preset: Preset) -> Reply:
    """One reply of the two; what was seen adds up. It cannot be asked for again as a whole."""
    text = join_parts(history.text, head.text, preset)
    seen = None if None in (known := (history.seen_tokens, head.seen_tokens)) else sum(filter(None, known))
    return Reply(text=text, tokens=count_text(text), seen_tokens=seen)


def _part(request: Request, covered: Sequence[Entry], facts: Carried, max_tokens: int) -> Request:
    return replace(
        request,
        carried=facts,
        known=facts,
        head=None,
        covered=tuple(covered),
        covered_tokens=sum(entry.tokens for entry in covered),
        max_tokens=max_tokens,
    )


def _told(preset: Preset) -> Preset:
    """The head's own headings, and in words what is shown."""
    alone = head_preset(preset)
    told = f"{alone.summary.instructions.strip()}\n\n{head_note()}"
    return replace(alone, summary=replace(alone.summary, instructions=told))
