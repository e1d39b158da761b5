"""The SDKs' clients: one per server and key in a process, on its loop; retries off, since the ledger repeats."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anthropic
import httpx2
import openai

from precompact_shared.provider_spec import Platform, ProviderName, ProviderSpec
from precompact_shared.settings import Settings, environment
from precompact_worker.providers.verdicts import ProviderMisconfigured

CONNECT_S = 5.0
NO_KEY = "none"
"""What a server of one's own gets when no key is set."""
_USUAL = {
    (ProviderName.ANTHROPIC, Platform.DIRECT): "ANTHROPIC_API_KEY",
    (ProviderName.ANTHROPIC, Platform.AZURE): "ANTHROPIC_FOUNDRY_API_KEY",
    (ProviderName.OPENAI, Platform.DIRECT): "OPENAI_API_KEY",
    (ProviderName.OPENAI, Platform.AZURE): "AZURE_OPENAI_API_KEY",
}
"""Variables the SDKs read; a vendor's key never goes to another platform by itself. Bedrock: as AWS's library finds it."""


class Clients:
    """Builds clients as they are needed and keeps them. Use it on one event loop; `close` at the end.

    A tenant's policy may send a key only to hosts that the deployment allows, and only keys that it allows.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._kept: dict[tuple[object, ...], Any] = {}
        self._unknown: dict[tuple[object, ...], set[str]] = {}

    def anthropic(self, spec: ProviderSpec) -> Any:
        """The client for an `anthropic` spec. Raises `ProviderMisconfigured`."""
        makes = {Platform.DIRECT: _anthropic, Platform.AZURE: _foundry, Platform.BEDROCK: _bedrock_anthropic}
        return self._client(spec, makes[spec.platform])

    def openai(self, spec: ProviderSpec) -> Any:
        """The client for an `openai` spec. Raises `ProviderMisconfigured`."""
        makes = {Platform.DIRECT: _openai, Platform.AZURE: _azure, Platform.BEDROCK: _bedrock_openai}
        return self._client(spec, makes[spec.platform])

    def unknown_ways(self, spec: ProviderSpec) -> set[str]:
        """Ways of compaction that this server has said it does not know; to be added to as one learns."""
        place = (spec.name, spec.platform, spec.base_url, spec.api_version, spec.region)
        return self._unknown.setdefault(place, set())

    async def close(self) -> None:
        """Ends all connections."""
        for client in self._kept.values():
            await client.close()
        self._kept.clear()

    def _client(self, spec: ProviderSpec, make: Any) -> Any:
        self._check_url(spec)
        secret = self._key(spec)
        place = (spec.name, spec.platform, spec.base_url, spec.api_version, spec.region, secret)
        key = (*place, spec.model if spec.platform is Platform.AZURE else None, spec.call_timeout_s)
        if key not in self._kept:
            timeout = httpx2.Timeout(spec.call_timeout_s, connect=CONNECT_S)
            try:
                self._kept[key] = make(spec, secret, {"max_retries": 0, "timeout": timeout})
            except (ImportError, ValueError, openai.OpenAIError, anthropic.AnthropicError):
                raise ProviderMisconfigured(
                    "The SDK makes no client for this provider; check platform, region and the SDK's extras.",
                    provider=spec.name,
                ) from None
        return self._kept[key]

    def _check_url(self, spec: ProviderSpec) -> None:
        deployed = {self._settings.anthropic_base_url, self._settings.openai_base_url}
        if spec.base_url is None or spec.base_url in deployed:
            return
        if host_of(spec.base_url) not in self._settings.provider_hosts:
            raise ProviderMisconfigured(
                "The provider's `base_url` is on no allowed host; add the host to PRECOMPACT_PROVIDER_HOSTS.",
                provider=spec.name,
            )

    def _key(self, spec: ProviderSpec) -> str:
        if spec.platform is Platform.BEDROCK and spec.key_ref is None:
            return ""
        usual = _USUAL[spec.name, spec.platform] if spec.key_ref is None else ""
        reference = spec.key_ref or f"env:{usual}"
        if spec.key_ref and not any(fits(reference, one) for one in self._settings.provider_key_refs):
            raise ProviderMisconfigured(
                "The provider's `key_ref` is not allowed; add it to PRECOMPACT_PROVIDER_KEY_REFS.",
                provider=spec.name,
            )
        found = read_key(reference)
        if not found and spec.key_ref:
            raise ProviderMisconfigured(
                "There is no key where the provider's `key_ref` points; set it for the worker.",
                provider=spec.name,
            )
        if not found and spec.base_url is None:
            raise ProviderMisconfigured(
                f"There is no key for this provider: set {usual} for the worker, or `key_ref`.",
                provider=spec.name,
            )
        return found or NO_KEY


def host_of(url: str) -> str:
    """`name` or `name:port` of a URL, in small letters; empty for what is no http(s) URL."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return ""
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.username or parts.password:
        return ""
    return parts.hostname if port is None else f"{parts.hostname}:{port}"


def fits(reference: str, allowed: str) -> bool:
    """Whether a key reference is one of those allowed; a file's path is looked at without links and dots."""
    if reference.startswith("file:"):
        reference = f"file:{Path(reference[5:]).resolve()}"
    return fnmatchcase(reference, allowed)


def read_key(reference: str) -> str:
    """The key behind `env:NAME` or `file:PATH`; empty where there is none."""
    kind, _, place = reference.partition(":")
    if kind == "env":
        return environment().get(place, "").strip()
    try:
        return Path(place).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def _anthropic(spec: ProviderSpec, key: str, options: dict[str, Any]) -> Any:
    return anthropic.AsyncAnthropic(api_key=key, base_url=spec.base_url, **options)


def _foundry(spec: ProviderSpec, key: str, options: dict[str, Any]) -> Any:
    return anthropic.AsyncAnthropicFoundry(
        api_key=key, base_url=f"{str(spec.base_url).rstrip('/')}/anthropic", **options
    )


def _bedrock_anthropic(spec: ProviderSpec, key: str, options: dict[str, Any]) -> Any:
    return anthropic.AsyncAnthropicBedrock(
        aws_region=spec.region, base_url=spec.base_url, api_key=key or None, **options
    )


def _openai(spec: ProviderSpec, key: str, options: dict[str, Any]) -> Any:
    return openai.AsyncOpenAI(api_key=key, base_url=spec.base_url, **options)


def _azure(spec: ProviderSpec, key: str, options: dict[str, Any]) -> Any:
    """With a version the classic paths, without one the recommended `…/openai/v1/`."""
    endpoint = str(spec.base_url).rstrip("/")
    if spec.api_version is None:
        return openai.AsyncOpenAI(api_key=key, base_url=f"{endpoint}/openai/v1/", **options)
    return openai.AsyncAzureOpenAI(
        azure_endpoint=endpoint, api_version=spec.api_version, api_key=key, **options
    )


def _bedrock_openai(spec: ProviderSpec, key: str, options: dict[str, Any]) -> Any:
    if spec.region:
        options = {**options, "aws_region": spec.region}
    return openai.AsyncBedrockOpenAI(base_url=spec.base_url, api_key=key or None, **options)
