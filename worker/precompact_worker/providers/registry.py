"""From a policy's words to providers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from precompact_shared.engine.mode import Choice, Mode, Reason
from precompact_shared.engine.preset import Form
from precompact_shared.engine.types import Format
from precompact_shared.models import DEFAULT_MAX_OUTPUT, ModelWindow, find_model
from precompact_shared.policy import Policy
from precompact_shared.prices import bare_name, known_window
from precompact_shared.provider_spec import Api, CallMode, ProviderName, ProviderSpec, Redaction
from precompact_worker.masking import mask
from precompact_worker.providers.anthropic import AnthropicSpeaker
from precompact_worker.providers.base import Provider
from precompact_worker.providers.client_run import NATIVE_WAYS, ClientNative, ClientSpeaker, Counter
from precompact_worker.providers.clients import Clients
from precompact_worker.providers.extractive import Extractive
from precompact_worker.providers.live import LivePrefix
from precompact_worker.providers.native import Native, called
from precompact_worker.providers.openai import OpenAISpeaker
from precompact_worker.providers.prefixed import Prefixed
from precompact_worker.providers.scripted import Scripted
from precompact_worker.providers.verdicts import ProviderMisconfigured
from precompact_worker.providers.writing import Writer


@dataclass(frozen=True, slots=True)
class Desk:
    """What providers are made with: the tenant's policy, the session's format, the process's connections."""

    policy: Policy
    format: Format
    clients: Clients
    model: str | None = None
    """Of the session."""
    window: ModelWindow | None = None
    """Of the session's model, as far as it is known."""
    counter: Counter | None = None
    """Where client-run requests wait."""
    prefix: LivePrefix | None = None
    """What the caller's requests begin with, and what is known of its cache."""
    from_originals: bool = False
    """The summary is made of entries that the live prefix does not hold any more."""
    keeps_base: bool = False
    """The base stays in front of what is summarised: a block, which comes first, is out of the question."""


def make_chain(
    specs: Iterable[ProviderSpec], desk: Desk, *, extractive_only: bool = False
) -> tuple[Provider, ...]:
    """The providers in the order they are asked; only the one without cost where a brake is on."""
    if extractive_only:
        return (Extractive(),)
    return tuple(provider for spec in specs for provider in make_providers(spec, desk))


def make_providers(spec: ProviderSpec, desk: Desk) -> Iterator[Provider]:
    """What a spec names: one provider, or its native compaction and, where that fails, its summary."""
    match spec.name:
        case ProviderName.EXTRACTIVE:
            yield Extractive()
        case ProviderName.SCRIPTED:
            yield Scripted(spec)
        case ProviderName.ANTHROPIC | ProviderName.OPENAI:
            if wants_native(spec, desk):
                yield Native(spec, desk.clients, desk.prefix.content if desk.prefix else {})
            choice = choice_of(spec, desk)
            if choice.mode is Mode.PREFIX and desk.prefix is not None:
                model = called(spec, desk.model)
                yield Prefixed(spec, desk.clients, desk.prefix, model, choice, _mask_of(desk))
            if spec.mode is not CallMode.NATIVE:
                yield _writer(spec, desk, choice)
        case ProviderName.CLIENT:
            if wants_native(spec, desk):
                yield _client_native(spec, desk)
            if spec.mode is not CallMode.NATIVE:
                yield _client(spec, desk)


def wants_native(spec: ProviderSpec, desk: Desk) -> bool:
    """Whether the provider's own compaction is asked for, and possible: right format, nothing to be masked."""
    wanted = spec.mode is CallMode.NATIVE or (
        spec.mode is CallMode.AUTO and desk.policy.rules.injection.form is Form.NATIVE
    )
    fits = desk.format in _NATIVE_FORMATS.get(spec.name, ())
    return wanted and fits and not desk.keeps_base and desk.policy.redact is not Redaction.ALWAYS


def choice_of(spec: ProviderSpec, desk: Desk) -> Choice:
    """The agent's own request or a transcript: as asked for, else the cheaper one by what was seen of the agent's cache."""
    objection = _objection(spec, desk)
    if objection is not None or desk.prefix is None or not desk.model:
        return Choice(Mode.TRANSCRIPT, objection or Reason.PREFIX_UNKNOWN)
    if spec.mode is CallMode.PREFIX:
        return Choice(Mode.PREFIX, Reason.ASKED_FOR)
    return desk.prefix.choice(spec, desk.model, desk.policy, window_of(spec, desk.policy))


def _objection(spec: ProviderSpec, desk: Desk) -> Reason | None:
    """Why the live prefix is out of the question, whatever is known of it."""
    if spec.mode not in {CallMode.PREFIX, CallMode.AUTO}:
        return Reason.ASKED_FOR
    if desk.keeps_base or desk.from_originals or desk.format is not _own_format(spec):
        return Reason.OTHER_CONTENT
    return Reason.MASKED if desk.policy.redact is Redaction.ALWAYS else None


def _own_format(spec: ProviderSpec) -> Format:
    if spec.name is ProviderName.ANTHROPIC:
        return Format.ANTHROPIC
    return Format.OPENAI_CHAT if spec.api is Api.CHAT else Format.OPENAI_RESPONSES


_NATIVE_FORMATS = {
    ProviderName.ANTHROPIC: (Format.ANTHROPIC,),
    ProviderName.OPENAI: (Format.OPENAI_RESPONSES,),
    ProviderName.CLIENT: tuple(NATIVE_WAYS),
}


def _writer(spec: ProviderSpec, desk: Desk, choice: Choice) -> Writer:
    makes: dict[ProviderName, type[AnthropicSpeaker | OpenAISpeaker]] = {
        ProviderName.ANTHROPIC: AnthropicSpeaker,
        ProviderName.OPENAI: OpenAISpeaker,
    }
    return Writer(makes[spec.name](spec, desk.clients), window_of(spec, desk.policy), _mask_of(desk), choice)


def _client(spec: ProviderSpec, desk: Desk) -> Writer:
    """The caller's own model; what it is sent is its own conversation, but for a key it may hold elsewhere."""
    model = spec.model or desk.model or ""
    speaker = ClientSpeaker(desk.format, model, _counter(spec, desk), spec.call_timeout_s)
    window = window_of(spec, desk.policy) if spec.model or spec.window else desk.window
    return Writer(speaker, window, _mask_of(desk))


def _mask_of(desk: Desk) -> Callable[[str], str]:
    return str if desk.policy.redact is Redaction.NEVER else mask


def _client_native(spec: ProviderSpec, desk: Desk) -> ClientNative:
    model = desk.model or spec.model or ""
    prefix = desk.prefix.content if desk.prefix else {}
    way = NATIVE_WAYS[desk.format]
    return ClientNative(way, model, _counter(spec, desk), spec.call_timeout_s, prefix)


def _counter(spec: ProviderSpec, desk: Desk) -> Counter:
    if desk.counter is None:
        raise ProviderMisconfigured("Nobody can be asked here to run a request.", provider=spec.name)
    return desk.counter


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
