"""What makes a Messages request refused. One function per rule; the first that complains decides the answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from precompact_standin.anthropic.request import Request
from precompact_standin.anthropic.rules import compaction, form, marks, order, text, thinking, tools, version
from precompact_standin.refusal import Refusal

Rule = Callable[[Request], Iterable[Refusal]]

FORM: tuple[Rule, ...] = (
    form.number_of_messages,
    form.roles,
    form.request_objects,
    form.request_lists,
    form.edits,
    form.message_fields,
    form.block_kinds,
    form.block_fields,
    form.sources,
    form.result_parts,
    form.tool_definitions,
)
"""After these every message, block and tool has the shape its type says."""
SENSE: tuple[Rule, ...] = (
    version.sampling,
    version.tier,
    version.documents,
    version.citations,
    text.empty_texts,
    text.blank_messages,
    compaction.headers,
    compaction.request,
    compaction.place,
    compaction.signatures,
    compaction.with_threshold,
    compaction.material,
    order.first,
    order.last,
    order.systems,
    tools.unique,
    tools.answered,
    tools.belonging,
    tools.in_front,
    tools.server_side,
    thinking.budget,
    thinking.signed,
    thinking.opens_loop,
    thinking.bound,
    marks.number,
    marks.places,
    marks.lifetimes,
)


def check(request: Request) -> None:
    """Raise the first refusal of a rule that is not switched off."""
    for rule in (*FORM, *SENSE):
        for refusal in rule(request):
            if refusal.rule not in request.scenario.rules_off:
                raise refusal
