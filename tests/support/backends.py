"""Every provider there is, one row each: how a policy names it, and how it looks on the wire of the stand-in.

A new provider joins the contract by one row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from precompact_shared.engine.types import Format
from precompact_shared.provider_spec import Api, CallMode, Platform, ProviderName, ProviderSpec

KEY = "sk-test-planted-key-0123456789"
ACCESS_KEY, SECRET = "AKIDPLANTED", "planted-secret-wJalrXUtnFEMI"
CLAUDE, GPT = "claude-opus-5-5", "gpt-6-sol"
BEDROCK_CLAUDE = "us.anthropic.claude-opus-5-5-v1:0"


class Dialect(StrEnum):
    """How a server writes replies and errors."""

    ANTHROPIC = "anthropic"
    AWS = "aws"
    RESPONSES = "responses"
    CHAT = "chat"
    COMPACT = "compact"
    """`/responses/compact`: OpenAI's errors, and no reasons in its replies."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Backend:
    """A provider. `url` is the path its calls arrive at; `key_env` the variable its key lies in by default."""

    name: str
    provider: ProviderName
    dialect: Dialect
    model: str
    url: str
    base: str = ""
    """Of the base URL, behind the server's address."""
    fields: Mapping[str, Any] = field(default_factory=dict)
    mode: CallMode = CallMode.TRANSCRIPT
    key_env: str = ""
    signs: bool = False
    """With AWS's signature in place of a key."""
    paths_off: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.name

    @property
    def streams(self) -> bool:
        """Whether its replies come as streams."""
        if self.provider is ProviderName.CLIENT or self.dialect is Dialect.COMPACT:
            return False
        return bool(self.fields.get("stream", True)) and not (self.is_native and self.dialect is Dialect.AWS)

    @property
    def is_native(self) -> bool:
        """Whether its own block comes back."""
        return self.mode is CallMode.NATIVE

    @property
    def format(self) -> Format:
        """Of the sessions it is asked about."""
        if self.dialect in {Dialect.ANTHROPIC, Dialect.AWS}:
            return Format.ANTHROPIC
        return Format.OPENAI_CHAT if self.dialect is Dialect.CHAT else Format.OPENAI_RESPONSES

    def spec(self, server: str, **more: Any) -> ProviderSpec:
        """As a policy has it."""
        told = {"name": self.provider, "model": self.model, "mode": self.mode, "base_url": server + self.base}
        return ProviderSpec(**{**told, **self.fields, **more})


def _text(name: str, **fields: Any) -> tuple[Backend, Backend]:
    """The same provider with and without streams."""
    options = dict(fields.pop("fields", {}))
    whole_url = fields.pop("whole_url", fields["url"])
    streamed = Backend(name=name, fields=options, **fields)
    whole = Backend(name=f"{name}-json", fields={**options, "stream": False}, **{**fields, "url": whole_url})
    return streamed, whole


_CLAUDE: dict[str, Any] = {
    "provider": ProviderName.ANTHROPIC,
    "dialect": Dialect.ANTHROPIC,
    "model": CLAUDE,
    "key_env": "ANTHROPIC_API_KEY",
    "url": "/v1/messages",
}
_FOUNDRY: dict[str, Any] = {
    **_CLAUDE,
    "url": "/anthropic/v1/messages",
    "key_env": "ANTHROPIC_FOUNDRY_API_KEY",
    "fields": {"platform": Platform.AZURE},
}
_AWS: dict[str, Any] = {
    **_CLAUDE,
    "dialect": Dialect.AWS,
    "model": BEDROCK_CLAUDE,
    "key_env": "AWS_BEARER_TOKEN_BEDROCK",
    "url": f"/model/{BEDROCK_CLAUDE}/invoke-with-response-stream",
    "fields": {"platform": Platform.BEDROCK, "region": "eu-central-1"},
}
_INVOKE = f"/model/{BEDROCK_CLAUDE}/invoke"
_GPT: dict[str, Any] = {
    "provider": ProviderName.OPENAI,
    "dialect": Dialect.RESPONSES,
    "model": GPT,
    "base": "/v1",
    "url": "/v1/responses",
    "key_env": "OPENAI_API_KEY",
}
_CHAT: dict[str, Any] = {
    **_GPT,
    "dialect": Dialect.CHAT,
    "url": "/v1/chat/completions",
    "fields": {"api": Api.CHAT},
}
_AZURE: dict[str, Any] = {"base": "", "key_env": "AZURE_OPENAI_API_KEY"}
_CLASSIC = {"platform": Platform.AZURE, "api_version": "2026-01-01"}
_BEDROCK = {"platform": Platform.BEDROCK, "region": "eu-central-1"}

TEXT: tuple[Backend, ...] = (
    *_text("anthropic", **_CLAUDE),
    *_text("anthropic-foundry", **_FOUNDRY),
    *_text("anthropic-bedrock", **_AWS, whole_url=_INVOKE),
    *_text("anthropic-bedrock-signed", **{**_AWS, "signs": True}, whole_url=_INVOKE),
    *_text("responses", **_GPT),
    *_text("chat", **_CHAT),
    *_text("azure-responses", **{**_GPT, **_AZURE, "url": "/openai/responses", "fields": _CLASSIC}),
    *_text(
        "azure-chat",
        **{
            **_CHAT,
            **_AZURE,
            "url": f"/openai/deployments/{GPT}/chat/completions",
            "fields": {**_CLASSIC, "api": Api.CHAT},
        },
    ),
    *_text(
        "azure-v1-responses",
        **{**_GPT, **_AZURE, "url": "/openai/v1/responses", "fields": {"platform": Platform.AZURE}},
    ),
    *_text(
        "azure-v1-chat",
        **{
            **_CHAT,
            **_AZURE,
            "url": "/openai/v1/chat/completions",
            "fields": {"platform": Platform.AZURE, "api": Api.CHAT},
        },
    ),
    *_text("bedrock-responses", **{**_GPT, "key_env": "AWS_BEARER_TOKEN_BEDROCK", "fields": _BEDROCK}),
    *_text("bedrock-responses-signed", **{**_GPT, "signs": True, "fields": _BEDROCK}),
    *_text("bedrock-chat-signed", **{**_CHAT, "signs": True, "fields": {**_BEDROCK, "api": Api.CHAT}}),
)
_NATIVE: dict[str, Any] = {"mode": CallMode.NATIVE}
NATIVE: tuple[Backend, ...] = (
    *_text("native-anthropic", **_CLAUDE, **_NATIVE),
    *_text("native-foundry", **_FOUNDRY, **_NATIVE),
    Backend(name="native-bedrock", **{**_AWS, "url": _INVOKE, "signs": True}, **_NATIVE),
    Backend(
        name="native-compact",
        **{**_GPT, "url": "/v1/responses/compact", "dialect": Dialect.COMPACT},
        **_NATIVE,
    ),
    Backend(
        name="native-azure",
        **{
            **_GPT,
            **_AZURE,
            "url": "/openai/responses/compact",
            "fields": _CLASSIC,
            "dialect": Dialect.COMPACT,
        },
        **_NATIVE,
    ),
    *_text("native-trigger", **_GPT, **_NATIVE, paths_off=("/responses/compact",)),
)
_CALLER: dict[str, Any] = {"provider": ProviderName.CLIENT, "key_env": ""}
CALLER: tuple[Backend, ...] = (
    Backend(name="client-anthropic", **{**_CLAUDE, **_CALLER}),
    Backend(name="client-responses", **{**_GPT, **_CALLER}),
    Backend(name="client-chat", **{**_CHAT, **_CALLER, "fields": {}}),
    Backend(name="client-native-anthropic", **{**_CLAUDE, **_CALLER}, **_NATIVE),
    Backend(name="client-native-trigger", **{**_GPT, **_CALLER}, **_NATIVE),
)
_CODE: dict[str, Any] = {"dialect": Dialect.ANTHROPIC, "model": CLAUDE, "url": ""}
CODE: tuple[Backend, ...] = (
    Backend(name="extractive", provider=ProviderName.EXTRACTIVE, **_CODE),
    Backend(name="scripted", provider=ProviderName.SCRIPTED, **_CODE),
)
