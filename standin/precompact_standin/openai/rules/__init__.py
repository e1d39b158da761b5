"""What makes a Responses or a Chat request refused. One function per rule; the first that complains decides."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from precompact_standin.openai.request import Request
from precompact_standin.openai.rules import form, limits, pairs, place, reasoning
from precompact_standin.refusal import Refusal

Rule = Callable[[Request], Iterable[Refusal]]

RULES: tuple[Rule, ...] = (
    form.request_objects,
    form.item_fields,
    form.parts,
    form.calls,
    place.chain_or_conversation,
    place.trigger_last,
    place.known_once,
    place.sealed,
    place.references,
    place.temperature,
    place.thresholds,
    limits.output,
    limits.tier,
    pairs.answered,
    pairs.belonging,
    reasoning.replayed,
    reasoning.encrypted,
    reasoning.followed,
    reasoning.accompanied,
)


def check(request: Request) -> None:
    """Raise the first refusal of a rule that is not switched off."""
    for rule in RULES:
        for refusal in rule(request):
            if refusal.rule not in request.scenario.rules_off:
                raise refusal
