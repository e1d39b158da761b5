"""Who writes summaries: what a policy says of one provider."""

from __future__ import annotations

from enum import StrEnum
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator


class Frozen(BaseModel):
    """Base of the policy's values: immutable, unknown keys refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class ProviderName(StrEnum):
    """Providers there are."""

    EXTRACTIVE = "extractive"
    """Facts gathered by code; no network."""
    SCRIPTED = "scripted"
    """The extractive text after a delay, or a fault; for tests and the demo."""
    ANTHROPIC = "anthropic"
    """Anthropic's SDK: Messages, compaction on demand."""
    OPENAI = "openai"
    """OpenAI's SDK: Responses or Chat Completions, of any server that speaks them."""
    CLIENT = "client"
    """The caller runs the ready-made request with its own key and posts the reply."""


class Api(StrEnum):
    """Protocol of an `openai` provider."""

    RESPONSES = "responses"
    CHAT = "chat"


class Platform(StrEnum):
    """Whose servers: which client of the SDK is used."""

    DIRECT = "direct"
    AZURE = "azure"
    """OpenAI's models on Azure; Anthropic's in Foundry."""
    BEDROCK = "bedrock"


class CallMode(StrEnum):
    """What is sent."""

    AUTO = "auto"
    """The provider's own block where the preset wants one, else a transcript or the live prefix, by computed price."""
    PREFIX = "prefix"
    """The agent's own newest request with one more message: it reads the agent's cache. Else a transcript."""
    TRANSCRIPT = "transcript"
    """The covered part as text, to a model of choice."""
    NATIVE = "native"
    """The provider's own compaction: its block comes back."""


class Redaction(StrEnum):
    """When secrets are masked before anything is sent."""

    NEVER = "never"
    TRANSCRIPT = "transcript"
    """In transcripts; modes that send the conversation as it is stay allowed."""
    ALWAYS = "always"
    """In transcripts, and no other mode is used."""


class Fault(StrEnum):
    """How the scripted provider fails on purpose."""

    ERROR = "error"
    """Fails for a reason that passes."""
    REFUSED = "refused"
    """Fails for good."""
    EMPTY = "empty"
    CUT_OFF = "cut_off"
    TOOL_CALL = "tool_call"
    HANG = "hang"
    """Never answers."""
    NOT_SMALLER = "not_smaller"


class ProviderSpec(Frozen):
    """One provider of a chain."""

    name: ProviderName
    model: str | None = Field(None, max_length=200, description="Model, or deployment, that writes.")
    mode: CallMode = Field(CallMode.AUTO, description="What is sent.")
    api: Api = Field(Api.RESPONSES, description="openai: protocol; `chat` for compatible servers.")
    platform: Platform = Field(Platform.DIRECT, description="Whose servers.")
    base_url: str | None = Field(
        None, max_length=500, description="Another server; its host has to be one of the deployment's."
    )
    key_ref: str | None = Field(
        None,
        max_length=200,
        pattern=r"^(env:[A-Za-z_][A-Za-z0-9_]*|file:[^\x00]+)$",
        description="Where the key lies: `env:NAME` or `file:PATH`; None = the SDK's usual variable.",
    )
    api_version: str | None = Field(None, max_length=40, description="azure: version of its classic paths.")
    region: str | None = Field(None, max_length=40, description="bedrock: region.")
    stream: bool = Field(
        default=True, description="Whether replies are streamed; false for servers and proxies that cannot."
    )
    service_tier: str | None = Field(None, max_length=20, description="Sent as it is.")
    call_timeout_s: float = Field(90, gt=0, le=3600, description="Seconds one call may take.")
    idle_timeout_s: float = Field(30, gt=0, le=3600, description="Seconds a stream may be silent.")
    window: int | None = Field(None, ge=2_048, description="Window of `model`; None = as known.")
    max_output: int | None = Field(None, ge=256, description="Output limit of `model`; None = as known.")
    delay_s: float = Field(0, ge=0, le=3600, description="scripted: seconds until it answers.")
    fault: Fault | None = Field(None, description="scripted: how it fails.")
    fault_times: int = Field(
        0, ge=0, description="scripted: only the first so many attempts fail; 0 = every one."
    )

    @model_validator(mode="after")
    def _name_a_model(self) -> Self:
        if self.name in {ProviderName.ANTHROPIC, ProviderName.OPENAI} and not self.model:
            raise ValueError("a provider that calls a server needs a model")
        if self.platform is Platform.AZURE and not self.base_url:
            raise ValueError("azure needs a base_url")
        return self

    @property
    def place(self) -> str:
        """Whose server, and by which key: limits are of these, and of a model there."""
        told = (self.name, self.platform, self.base_url, self.region, self.key_ref)
        return "|".join(part or "" for part in told)

    @property
    def writer(self) -> str:
        """The model that writes; empty where there is none."""
        return self.model or ""
