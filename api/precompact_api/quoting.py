"""What a compaction would cost, before it is asked for. Pure."""

from __future__ import annotations

from typing import Any

from precompact_shared.engine.mode import USUAL_OUTPUT_TOKENS, transcript_offer
from precompact_shared.engine.tokens import family_factor
from precompact_shared.policy import Policy
from precompact_shared.provider_spec import ProviderName, ProviderSpec

_FREE = frozenset({ProviderName.EXTRACTIVE, ProviderName.SCRIPTED})


def quote(policy: Policy, asked_first: ProviderSpec, covered_tokens: int) -> dict[str, Any]:
    """`{provider, model, cost_usd}` of a summary of so many o200k tokens by the first provider of the chain.

    `cost_usd` is about what one call costs that shows all of them as a transcript and gets a usual summary back: long
    results are shown in part, a warm live prefix may be cheaper, a second call or another provider dearer. None where
    no price is known, and where the caller runs the request; 0 where no model is asked.
    """
    return {
        "provider": asked_first.name.value,
        "model": asked_first.model,
        "cost_usd": _cost_usd(policy, asked_first, covered_tokens),
    }


def _cost_usd(policy: Policy, spec: ProviderSpec, covered_tokens: int) -> float | None:
    if spec.name in _FREE:
        return 0.0
    told = transcript_offer(
        covered_tokens,
        min(USUAL_OUTPUT_TOKENS, policy.summary_budget),
        factor=family_factor(spec.writer),
        price=policy.price_of(spec.writer),
    ).cost_usd()
    return None if told is None else round(told, 6)
