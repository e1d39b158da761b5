"""The caller's prefix: system prompt, tools and parameters of its requests, sent once and known by its digest."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import msgspec

from precompact_api.bodies import PrefixBody
from precompact_api.problems import Code, Problem
from precompact_api.service import Service
from precompact_shared.store import codec, reading
from precompact_shared.store.types import SessionView

SEND_PREFIX = "send_prefix"


@dataclass(frozen=True, slots=True)
class Told:
    """What an answer says of the prefix: its digest while it is on record, else the advice to send it."""

    digest: str | None = None
    advice: tuple[str, ...] = ()

    @property
    def is_unknown(self) -> bool:
        """Whether the caller's next request goes out with a prefix whose content has not come."""
        return SEND_PREFIX in self.advice


async def known_prefix(service: Service, tenant: str, session: str) -> str | None:
    """The digest on record. Never from memory: other processes write it too."""
    return await service.read(reading.prefix_digest(service.session(tenant, session)))


async def keep_prefix(service: Service, view: SessionView, prefix: PrefixBody, known: str | None) -> Told:
    """Keeps the prefix with the session, or says whether its digest is the one on record, which is `known`."""
    if not _parts(prefix):
        if prefix.digest is None:
            raise Problem(Code.INVALID_REQUEST, where="$.prefix")
        return Told(known) if known == prefix.digest else Told(advice=(SEND_PREFIX,))
    told = digest_of(prefix)
    if known != told:
        content = codec.encode(content_of(prefix))
        await service.run(service.ops(view.tenant, view.session).keep_prefix(told, content))
    return Told(told)


def digest_of(prefix: PrefixBody) -> str:
    """How the prefix is named: 32 hex digits of the SHA-256 of its JSON."""
    return hashlib.sha256(content_of(prefix)).hexdigest()[:32]


def content_of(prefix: PrefixBody) -> bytes:
    """The prefix as it is kept, the caller's own bytes inside."""
    return msgspec.json.encode(_parts(prefix))


def _parts(prefix: PrefixBody) -> dict[str, msgspec.Raw]:
    """What was sent; `null` is nothing."""
    parts = {"system": prefix.system, "tools": prefix.tools, "params": prefix.params}
    return {name: raw for name, raw in parts.items() if bytes(raw) not in {b"", b"null"}}
