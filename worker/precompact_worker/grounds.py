"""What the next summary would stand on: from a snapshot and the providers at hand to the facts of that decision. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence

from precompact_shared.engine.recovery import is_urgent
from precompact_shared.engine.summary import Ground
from precompact_shared.engine.tokens import family_factor
from precompact_shared.models import ModelWindow
from precompact_shared.policy import Policy
from precompact_shared.provider_spec import ProviderName, ProviderSpec
from precompact_shared.store.types import JobTag, SessionView
from precompact_worker.drafting import token_factor
from precompact_worker.planning import Wishes
from precompact_worker.providers.registry import Desk, wants_native, window_of
from precompact_worker.snapshot import Snapshot

ROOM_SHARE = 0.8
"""Of a writer's window less its output that transcript fills; the rest is for our words and the record so far."""
SILENT = frozenset({ProviderName.EXTRACTIVE, ProviderName.SCRIPTED})
"""Providers that make no calls."""


def ground_of(
    snapshot: Snapshot, job: JobTag, wishes: Wishes, specs: Sequence[ProviderSpec], desk: Desk
) -> Ground | None:
    """The facts; None where nothing stands for the originals yet."""
    if snapshot.base.upto == 0:
        return None
    return Ground(
        since_rebuild=snapshot.base.since_rebuild,
        is_refresh=job.base is not None,
        keeps_base=wishes.start is not None,
        wants_block=not wishes.extractive_only and any(wants_native(spec, desk) for spec in specs),
        urgent=is_urgent(job.kind),
        originals_tokens=snapshot.view.history_tokens,
        room_tokens=None
        if wishes.extractive_only or not specs
        else room_of(specs[0], desk, token_factor(snapshot)),
        call_s=desk.policy.p95_job_s,
        left_s=left_s(snapshot.view, desk.policy),
    )


def left_s(view: SessionView, policy: Policy) -> float:
    """Seconds until the session is at its limit if it goes on growing as it does; infinite where nobody can tell."""
    limits = policy.limits_of(view.model, view.window, view.max_output, view.observed_limit)
    if limits is None or view.growth_tokens_per_s <= 0:
        return math.inf
    return max(0.0, limits.limit - view.tokens) / view.growth_tokens_per_s


def room_of(spec: ProviderSpec, desk: Desk, factor: float) -> int | None:
    """Tokens of the session's model that one call of this provider reads; None where it makes none, or nobody knows."""
    if spec.name in SILENT:
        return None
    window = _window(spec, desk)
    if window is None:
        return None
    own = desk.model if spec.name is ProviderName.CLIENT and not spec.model else spec.writer
    return int((window.window - window.max_output) * ROOM_SHARE / family_factor(own) * factor)


def _window(spec: ProviderSpec, desk: Desk) -> ModelWindow | None:
    if spec.name is ProviderName.CLIENT and not (spec.model or spec.window):
        return desk.window
    return window_of(spec, desk.policy)
