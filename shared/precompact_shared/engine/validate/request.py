"""What a rule may have to know that is not in the messages."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from precompact_shared.engine.identity import canonical, digest
from precompact_shared.engine.types import Format, Message

OUTSIDE = -1
"""Index of a breach that lies in the request around the messages, or in what they lack."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestFacts:
    """The request around the messages. None = not known: the rules that need it stay silent."""

    model: str | None = None
    api_version: str | None = None
    """Anthropic's, as in the header: `2026-10-21`."""
    betas: AbstractSet[str] | None = None
    compacting: bool | None = None
    """Whether the request asks for a compaction and not for a reply."""
    thinking: str | None = None
    """`type` of the `thinking` parameter: enabled, adaptive, between_tools, disabled."""
    block_mismatch: str | None = None
    """`thinking.block_binding.prefix_mismatch_behavior`; only `drop_block` changes a verdict."""
    system: str | tuple[Message, ...] | None = None
    """Anthropic's `system` parameter; an empty string says that there is none."""
    tools: tuple[Message, ...] | None = None
    automatic_mark: bool | None = None
    """Whether a top-level `cache_control` takes one of the places for cache marks."""
    normalized: bool | None = None
    """Whether the sender claims to keep the house rules: neighbours merged, blank text dropped, one system message."""

    summary_at: int | None = None
    """Index of the client-made summary."""
    covered: AbstractSet[str] | None = None
    """`fingerprint` of every message the compaction block or summary stands for; leave pinned ones out."""
    received: tuple[Message, ...] | None = None
    """Replies as they came from the provider: Anthropic messages, Responses output items."""
    compaction_model: str | None = None
    """The model that made the compaction block or item."""
    compaction_organization: str | None = None
    organization: str | None = None

    store: bool | None = None
    previous_response_id: str | None = None
    """An empty string says that there is none."""
    conversation: str | None = None
    """An empty string says that there is none."""
    chain_item_ids: AbstractSet[str] | None = None
    """Ids of the items that the chain of `previous_response_id` holds."""
    chain_call_ids: AbstractSet[str] | None = None
    """Ids of calls in that chain; None with a chain = any output may answer one of them."""
    compact_output: tuple[Message, ...] | None = None
    """`output` of the last `/responses/compact`."""
    server_compaction: bool | None = None
    """Whether the request compacts by `context_management`, without a chain."""

    alternating_roles: bool | None = None
    """Whether the server takes only user and assistant by turns, as some compatible ones do."""


UNKNOWN = RequestFacts()


def fingerprint(format: Format, message: Any) -> str:  # noqa: A002 - the word of the design
    """What tells two messages apart in `covered`: the digest of the canonical entry with an empty key."""
    return digest(canonical(format, message), b"")
