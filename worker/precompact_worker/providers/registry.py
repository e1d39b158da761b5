"""From a policy's words to providers."""

from __future__ import annotations

from collections.abc import Iterable

from precompact_shared.models import DEFAULT_MAX_OUTPUT, ModelWindow, find_model
from precompact_shared.policy import Policy
from precompact_shared.prices import bare_name, known_window
from precompact_shared.provider_spec import ProviderName, ProviderSpec
from precompact_worker.providers.anthropic import AnthropicSpeaker
from precompact_worker.providers.base import Provider
from precompact_worker.providers.clients import Clients
from precompact_worker.providers.extractive import Extractive
from precompact_worker.providers.openai import OpenAISpeaker
from precompact_worker.providers.scripted import Scripted
from precompact_worker.providers.speaking import Speaker
from precompact_worker.providers.writing import Writer


def make_chain(
    specs: Iterable[ProviderSpec], policy: Policy, clients: Clients, *, extractive_only: bool = False
) -> tuple[Provider, ...]:
    """The providers in the order they are asked; only the one without cost where a brake is on."""
    if extractive_only:
        return (Extractive(),)
    return tuple(make_provider(spec, policy, clients) for spec in specs)


def make_provider(spec: ProviderSpec, policy: Policy, clients: Clients) -> Provider:
    """The provider a spec names."""
    match spec.name:
        case ProviderName.SCRIPTED:
            return Scripted(spec)
        case ProviderName.ANTHROPIC:
            return _writer(AnthropicSpeaker(spec, clients), spec, policy)
        case ProviderName.OPENAI:
            return _writer(OpenAISpeaker(spec, clients), spec, policy)
        case _:
            return Extractive()


def _writer(speaker: Speaker, spec: ProviderSpec, policy: Policy) -> Writer:
    return Writer(speaker, window_of(spec, policy))


def window_of(spec: ProviderSpec, policy: Policy) -> ModelWindow | None:
    """Window and output limit of the model that writes: the spec's, the policy's, the maintained table's, our short one's."""
    told = policy.windows.get(spec.writer) or next(
        (
            policy.windows[name]
            for name in sorted(policy.windows, reverse=True)
            if spec.writer.startswith(name)
        ),
        None,
    )
    known = find_model(bare_name(spec.writer))
    window = spec.window or (told.window if told else None) or known_window(spec.writer)
    window = window or (known.window if known else None)
    if window is None:
        return None
    most = spec.max_output or (told.max_output if told else None) or (known.max_output if known else None)
    return ModelWindow(window, min(most or DEFAULT_MAX_OUTPUT, window // 2))
