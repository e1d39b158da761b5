"""From a policy's words to providers."""

from __future__ import annotations

from collections.abc import Iterable

from precompact_shared.policy import ProviderName, ProviderSpec
from precompact_worker.providers.base import Provider
from precompact_worker.providers.extractive import Extractive
from precompact_worker.providers.scripted import Scripted


def make_provider(spec: ProviderSpec) -> Provider:
    """The provider a spec names."""
    match spec.name:
        case ProviderName.EXTRACTIVE:
            return Extractive()
        case ProviderName.SCRIPTED:
            return Scripted(spec)


def make_chain(specs: Iterable[ProviderSpec], *, extractive_only: bool = False) -> tuple[Provider, ...]:
    """The providers in the order they are asked; only the one without cost where a brake is on."""
    if extractive_only:
        return (Extractive(),)
    return tuple(map(make_provider, specs))
