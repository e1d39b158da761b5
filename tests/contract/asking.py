"""Asking a provider for a summary at the stand-in, and what may be expected of it whatever happens."""

from __future__ import annotations

import contextlib
import pickle
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest

from precompact_shared.clock import monotonic_s
from precompact_shared.engine.preset import load_preset
from precompact_shared.engine.summary import extract
from precompact_shared.engine.tokens import count_message
from precompact_shared.engine.types import Entry, Format
from precompact_shared.errors import PrecompactError
from precompact_shared.policy import Policy
from precompact_shared.provider_spec import CallMode, ProviderName, ProviderSpec
from precompact_shared.settings import Settings
from precompact_shared.store.types import JobKind, JobState, JobTag
from precompact_worker.book import Book
from precompact_worker.providers.base import Reply, Request
from precompact_worker.providers.clients import Clients, host_of
from precompact_worker.providers.registry import Desk, make_providers
from precompact_worker.providers.verdicts import ProviderMisconfigured
from tests.support.backends import ACCESS_KEY, KEY, SECRET, Backend
from tests.support.standin import Served
from tests.support.talk import turns

WORDS = "the secret word is pomegranate"
PRESET = load_preset("precompact")
KEYS = {
    "ANTHROPIC_API_KEY": KEY,
    "ANTHROPIC_FOUNDRY_API_KEY": KEY,
    "OPENAI_API_KEY": KEY,
    "AZURE_OPENAI_API_KEY": KEY,
    "PLANTED_TOKEN": KEY,
    "AWS_ACCESS_KEY_ID": ACCESS_KEY,
    "AWS_SECRET_ACCESS_KEY": SECRET,
    "AWS_EC2_METADATA_DISABLED": "true",
    "NO_PROXY": "127.0.0.1",
}
"""Keys where the providers look for them; no proxy in between, no search for credentials in a network."""


def settings_for(standin: Served) -> Settings:
    """A deployment that lets policies use the stand-in and any variable."""
    return Settings(provider_hosts=(host_of(standin.url),), provider_key_refs=("env:*",))


def request_for(format: Format, count: int = 12, *, words: int = 4) -> Request:  # noqa: A002
    """A summary of some turns."""
    messages = [{"role": "user", "content": WORDS}, *turns(count, words=words)]
    covered = tuple(Entry(seq, one, count_message(format, one, None)) for seq, one in enumerate(messages))
    carried = extract(format, covered, None)
    return Request(
        format=format,
        preset=PRESET,
        carried=carried,
        known=carried,
        covered=covered,
        covered_tokens=sum(entry.tokens for entry in covered),
        max_tokens=1_000,
        focus=None,
        attempt=1,
    )


@dataclass
class PostingCaller:
    """A caller who sends what is laid out as it is, and posts whatever comes back."""

    standin: Served
    backend: Backend
    _reply: bytes | None = None

    async def offer(self, request_id: str, request: bytes) -> None:
        """Sends it."""
        headers = {"authorization": f"Bearer {KEY}", "anthropic-version": "2026-10-21"}
        if self.backend.is_native:
            headers["anthropic-beta"] = "compact-2026-09-04"
        async with httpx.AsyncClient(trust_env=False) as http:
            url = self.standin.url + self.backend.url
            self._reply = (await http.post(url, content=request, headers=headers)).content

    async def delivered(self) -> bytes | None:
        """The reply."""
        return self._reply


@dataclass
class Asked:
    """One summary asked of one provider."""

    backend: Backend
    standin: Served
    clients: Clients
    more: Mapping[str, Any] = field(default_factory=dict)
    forgets: bool = True
    """What the connections have learnt of the server: each test plays another one at the same address."""
    book: Book = field(init=False)

    def __post_init__(self) -> None:
        job = JobTag(jid="j", version=1, kind=JobKind.DUE, state=JobState.RUNNING, fence=3)
        self.book = Book(job, monotonic_s, Policy().price_of)

    async def reply(self, request: Request | None = None) -> Reply:
        """What comes, or what is raised."""
        spec = self.spec
        if self.forgets:
            self.clients.unknown_ways(spec).clear()
        self._connect(spec)
        counter = PostingCaller(self.standin, self.backend)
        desk = Desk(Policy(), self.backend.format, self.clients, model=self.backend.model, counter=counter)
        [provider] = make_providers(spec, desk)
        assert provider.name == spec.name
        return await provider.summarise(request or request_for(self.backend.format), self.book)

    def _connect(self, spec: ProviderSpec) -> None:
        """Makes the client, which takes longer than the shortest time limits here."""
        with contextlib.suppress(ProviderMisconfigured):
            if spec.name is ProviderName.ANTHROPIC:
                self.clients.anthropic(spec)
            elif spec.name is ProviderName.OPENAI:
                self.clients.openai(spec)

    async def failure(self, request: Request | None = None) -> PrecompactError:
        """What is raised: it pickles, and tells nothing that was sent, by what key or by the server."""
        with pytest.raises(PrecompactError) as raised:
            await self.reply(request)
        again = pickle.loads(pickle.dumps(raised.value))  # noqa: S301
        assert type(again) is type(raised.value)
        assert str(again) == str(raised.value)
        told = f"{raised.value!r} {raised.value} {self.book.records()}"
        for secret in ("pomegranate", KEY, SECRET, ACCESS_KEY, "planted"):
            assert secret not in told
        assert raised.value.__cause__ is None
        assert raised.value.__suppress_context__ or raised.value.__context__ is None
        return raised.value

    @property
    def outcomes(self) -> list[object]:
        """Of the calls on record."""
        return [record["outcome"] for record in self.book.records()]

    @property
    def spec(self) -> ProviderSpec:
        """As the policy has it."""
        more = dict(self.more)
        if self.backend.key_env == "AWS_BEARER_TOKEN_BEDROCK" and not self.backend.signs:
            more = {"key_ref": "env:PLANTED_TOKEN", **more}
        return self.backend.spec(self.standin.url, **more)


def mode_of(backend: Backend) -> str:
    """As the record of a call has it."""
    return "native" if backend.mode is CallMode.NATIVE else "transcript"


def told_usage(backend: Backend, usage: Mapping[str, Any]) -> tuple[int, int, int]:
    """Whole prompt, read from the cache, written by the model: out of what the stand-in counted."""
    if backend.format is Format.ANTHROPIC:
        rows = usage.get("iterations") or [usage]
        names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
        prompt = sum(row[name] for row in rows for name in names)
        return prompt, sum(row[names[1]] for row in rows), sum(row["output_tokens"] for row in rows)
    prompt, output = ("prompt", "completion") if "prompt_tokens" in usage else ("input", "output")
    cached = usage[f"{prompt}_tokens_details"]["cached_tokens"]
    return usage[f"{prompt}_tokens"], cached, usage[f"{output}_tokens"]
