"""What a tenant wants: thresholds, preset, providers, time limits. Frozen, versioned, plain JSON outside."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Generic, Self, TypeVar

from pydantic import Field, ValidationError, model_validator

from precompact_shared.engine.catalogue import Catalogue, Tool, ToolKind, shipped_catalogue
from precompact_shared.engine.in_band import InBand
from precompact_shared.engine.limits import LimitOverrides, limits
from precompact_shared.engine.preset import (
    DEFAULT_PRESET,
    Limits,
    Preset,
    SummaryRule,
    load_preset,
    preset_names,
)
from precompact_shared.errors import Configuration, PrecompactError
from precompact_shared.logging import get_logger
from precompact_shared.models import ModelWindow, resolve_window
from precompact_shared.prices import Price, known_price
from precompact_shared.provider_spec import Api, Fault, Frozen, ProviderName, ProviderSpec, Redaction
from precompact_shared.settings import Settings

__all__ = [
    "Fault",
    "Policy",
    "PolicyCache",
    "ProviderName",
    "ProviderSpec",
    "Validation",
    "WindowSpec",
    "chain_of",
    "parse_policy",
]

MAX_PROVIDERS = 8


class WindowSpec(Frozen):
    """The window of a model, in tokens."""

    window: int = Field(ge=1_024, le=100_000_000)
    max_output: int = Field(ge=1)

    @model_validator(mode="after")
    def _leave_room(self) -> Self:
        if self.max_output >= self.window:
            raise ValueError("max_output has to be smaller than window")
        return self


class Validation(StrEnum):
    """Which contexts are held against the provider's rules before they are adopted."""

    OFF = "off"
    SAMPLE = "sample"
    """One candidate in `VALIDATED_ONE_IN`, always the same ones."""
    ALWAYS = "always"


VALIDATED_ONE_IN = 20


class PriceSpec(Frozen):
    """What a model costs, in US dollars per million tokens. A price that is not given is that of plain input."""

    input: float = Field(ge=0)
    output: float = Field(ge=0)
    cache_read: float | None = Field(None, ge=0)
    cache_write: float | None = Field(None, ge=0)

    def price(self) -> Price:
        """The same as plain numbers."""
        read = self.input if self.cache_read is None else self.cache_read
        write = self.input if self.cache_write is None else self.cache_write
        return Price(self.input, read, write, self.output)


class ToolSpec(Frozen):
    """What a tool is for, as the tools catalogue says it."""

    kind: ToolKind
    path_arg: str | tuple[str, ...] = Field(
        (), description="Argument that names a file; several: the first there."
    )
    command_arg: str | tuple[str, ...] = Field(
        (), description="Argument that holds a shell command or a patch."
    )
    refetchable: bool = Field(default=False, description="Calling it again gives the same result.")
    protect: bool = Field(default=False, description="Its results are never cleared.")
    keep_recent: int = Field(0, ge=0, description="So many of its newest results are never cleared.")

    @property
    def tool(self) -> Tool:
        """The row of the catalogue."""
        return Tool(
            kind=self.kind,
            path_args=(self.path_arg,) if isinstance(self.path_arg, str) else self.path_arg,
            command_args=(self.command_arg,) if isinstance(self.command_arg, str) else self.command_arg,
            refetchable=self.refetchable,
            protect=self.protect,
            keep_recent=self.keep_recent,
        )


class Policy(Frozen):
    """A tenant's policy. Every field has the value that suits somebody who has set nothing."""

    version: int = Field(1, ge=1, description="Counts up with every change.")
    preset: str = Field(DEFAULT_PRESET, description="Name of a shipped preset.")
    providers: tuple[ProviderSpec, ...] = Field(
        (), max_length=MAX_PROVIDERS, description="Chain, first tried first; empty = the deployment's chain."
    )
    fallback: bool = Field(default=True, description="Whether every chain ends with `extractive`.")
    limit_share: float | None = Field(None, gt=0.05, le=1, description="Soft limit, share of `hard`.")
    start_low: float | None = Field(None, gt=0, le=1, description="Earliest start, share of the limit.")
    start_high: float | None = Field(None, gt=0, le=1, description="Latest start, share of the limit.")
    min_tokens: int | None = Field(None, ge=0, description="No background work below this size.")
    keep_tokens: int | None = Field(None, ge=256, description="Newest tokens that stay word for word.")
    background: bool = Field(default=True, description="False: no job before the limit.")
    paused: bool = Field(default=False, description="True: nothing new below `hard`.")
    p95_job_s: float = Field(30, gt=0, le=3600, description="Seconds 95 of 100 jobs need at most.")
    cache_ttl_s: float = Field(
        300,
        gt=0,
        le=86_400,
        description="Seconds a prompt cache outlives a pause (5 minutes, or 1 hour if bought).",
    )
    summary_max_tokens: int | None = Field(None, ge=256, description="None = as the preset says.")
    rebuild_every: int | None = Field(
        None, ge=0, le=1_000, description="Every so many generations one is made of the originals; 0 = none."
    )
    rebuild_max_tokens: int | None = Field(
        None, ge=0, description="Tokens of originals that are read again for it at most; 0 = any number."
    )
    job_deadline_s: float | None = Field(
        None, gt=0, le=3600, description="Seconds one attempt may take; None = the deployment's."
    )
    attempts: int | None = Field(
        None, ge=1, le=20, description="Attempts before a job is dead; None likewise."
    )
    windows: dict[str, WindowSpec] = Field(
        default_factory=dict, max_length=200, description="Prefix of a model's name -> its window."
    )
    prices: dict[str, PriceSpec] = Field(
        default_factory=dict, max_length=200, description="Prefix of a model's name -> its prices."
    )
    in_band: InBand = Field(
        InBand.NOTHING,
        description="What callers' own requests ask of the provider, as a net; told in `request` of `prepare`.",
    )
    redact: Redaction = Field(
        Redaction.NEVER, description="When secrets are masked before anything is sent to a provider."
    )

    validate_contexts: Validation = Field(
        Validation.SAMPLE,
        description="Which contexts are held against the provider's rules before an adoption: off, sample, always.",
    )

    tools: dict[str, ToolSpec] = Field(
        default_factory=dict,
        max_length=500,
        description="Pattern of a tool's name -> what it is for; goes in front of the shipped catalogue.",
    )

    @model_validator(mode="after")
    def _know_the_preset(self) -> Self:
        if self.preset not in preset_names():
            raise ValueError(f"there is no such preset; use one of: {', '.join(preset_names())}")
        if self.start_low is not None and self.start_high is not None and self.start_low > self.start_high:
            raise ValueError("start_low must not exceed start_high")
        return self

    @property
    def overrides(self) -> LimitOverrides:
        """The thresholds this policy wants otherwise than its preset."""
        return LimitOverrides(
            limit_share=self.limit_share,
            start_low=self.start_low,
            start_high=self.start_high,
            min_tokens=self.min_tokens,
            keep_tokens=self.keep_tokens,
        )

    @property
    def catalogue(self) -> Catalogue:
        """The tools catalogue with the tenant's own rows in front."""
        own = {pattern: spec.tool for pattern, spec in self.tools.items()}
        return shipped_catalogue().extended(own) if own else shipped_catalogue()

    @property
    def rules(self) -> Preset:
        """The preset, parsed."""
        return load_preset(self.preset)

    @property
    def summary_budget(self) -> int:
        """Most tokens a summary may have."""
        return self.summary_max_tokens or self.rules.summary.max_tokens

    @property
    def summary_rule(self) -> SummaryRule:
        """How summaries are made: the preset's rule, with what this policy wants otherwise."""
        rule = self.rules.summary
        every, most = self.rebuild_every, self.rebuild_max_tokens
        return replace(
            rule,
            rebuild_every=rule.rebuild_every if every is None else every,
            rebuild_max_tokens=rule.rebuild_max_tokens if most is None else most,
        )

    def price_of(self, model: str) -> Price | None:
        """What a model costs: this policy's table, else the maintained one; None = unknown."""
        fitting = [prefix for prefix in self.prices if model.startswith(prefix)]
        return self.prices[max(fitting, key=len)].price() if fitting else known_price(model)

    def window_of(self, model: str | None, window: int | None, max_output: int | None) -> ModelWindow | None:
        """The window to reckon with; None = unknown, to be refused as `window_unknown`."""
        table = {name: ModelWindow(spec.window, spec.max_output) for name, spec in self.windows.items()}
        return resolve_window(model, window, max_output, table)

    def limits_of(
        self, model: str | None, window: int | None, max_output: int | None, observed_limit: int | None = None
    ) -> Limits | None:
        """The limits of a session; None when its window is unknown or leaves no room."""
        found = self.window_of(model, window, max_output)
        rules = self.rules
        if found is None:
            return None
        try:
            return limits(
                rules,
                window=found.window,
                max_output=found.max_output,
                overrides=self.overrides,
                observed_limit=observed_limit,
            )
        except Configuration:
            return None


def parse_policy(raw: bytes | str) -> Policy:
    """A policy from JSON. Raises `Configuration` naming the fields that are wrong, without their values."""
    try:
        return Policy.model_validate_json(raw)
    except ValidationError as error:
        told = "; ".join(
            f"{'.'.join(str(part) for part in problem['loc'])}: {problem['msg']}"
            for problem in error.errors(include_input=False, include_url=False)
        )
        raise Configuration(f"Correct the policy: {told}.") from None


def chain_of(policy: Policy, settings: Settings) -> tuple[ProviderSpec, ...]:
    """The providers to try, in order: the policy's, else the deployment's; `extractive` last unless unwanted."""
    chain = policy.providers or tuple(_deployed(name, settings) for name in settings.provider_chain)
    if policy.fallback and all(spec.name is not ProviderName.EXTRACTIVE for spec in chain):
        return (*chain, ProviderSpec(name=ProviderName.EXTRACTIVE))
    return chain


def _deployed(name: str, settings: Settings) -> ProviderSpec:
    try:
        known = ProviderName(name)
    except ValueError:
        raise Configuration(
            f"PRECOMPACT_PROVIDER_CHAIN names an unknown provider; use: {', '.join(ProviderName)}."
        ) from None
    match known:
        case ProviderName.SCRIPTED:
            return ProviderSpec(name=known, delay_s=settings.scripted_delay_s)
        case ProviderName.ANTHROPIC:
            return ProviderSpec(
                name=known, model=settings.anthropic_model, base_url=settings.anthropic_base_url
            )
        case ProviderName.OPENAI:
            return ProviderSpec(
                name=known,
                model=settings.openai_model,
                base_url=settings.openai_base_url,
                api=Api(settings.openai_api),
            )
        case _:
            return ProviderSpec(name=known)


UNREADABLE = (ValidationError, PrecompactError)
"""What reading a stored policy may raise besides what Redis raises."""


def tell_unreadable(tenant: str, error: Exception) -> None:
    """Logs that a tenant's policy is replaced by the default."""
    get_logger().error("policy unreadable, the default holds", tenant=tenant, error_type=type(error).__name__)


P = TypeVar("P")


@dataclass(frozen=True, slots=True)
class _Kept(Generic[P]):
    value: P
    until_s: float


class PolicyCache:
    """Policies by tenant, a few seconds old at most. `load` is asked on a miss; `now_s` is a monotonic clock.

    A stored policy that this version cannot read is logged and taken for the default: the tenant's sessions go on.
    """

    def __init__(
        self,
        load: Callable[[str], Policy],
        now_s: Callable[[], float],
        *,
        ttl_s: float = 3.0,
        most: int = 10_000,
    ) -> None:
        self._load = load
        self._now_s = now_s
        self._ttl_s = ttl_s
        self._most = most
        self._kept: dict[str, _Kept[Policy]] = {}

    def get(self, tenant: str) -> Policy:
        """The tenant's policy. Raises what `load` raises."""
        now_s = self._now_s()
        kept = self._kept.get(tenant)
        if kept is None or kept.until_s < now_s:
            if len(self._kept) >= self._most:
                self._kept.clear()
            kept = self._kept[tenant] = _Kept(self._loaded(tenant), now_s + self._ttl_s)
        return kept.value

    def _loaded(self, tenant: str) -> Policy:
        try:
            return self._load(tenant)
        except UNREADABLE as error:
            tell_unreadable(tenant, error)
            return Policy()
