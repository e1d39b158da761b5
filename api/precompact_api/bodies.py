"""What callers send, as structs; what the contract does not know is refused, since a typo must not pass in silence."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from msgspec import Meta, Raw, Struct, field

from precompact_shared.engine.types import Format

Count = Annotated[int, Meta(ge=0, le=2**53 - 1)]
"""A number that JSON carries everywhere without loss."""
Tokens = Annotated[int, Meta(ge=1, le=2**40)]
Counted = Annotated[int, Meta(ge=0, le=2**40)]
"""Tokens that were used; Redis' JSON carries so many without loss, and no model has more."""
SessionId = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._:@-]{0,199}\Z")]
CandidateId = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_-]{1,64}\Z")]
ModelName = Annotated[str, Meta(min_length=1, max_length=200)]
CallId = Annotated[str, Meta(max_length=1000)]


class View(StrEnum):
    """What a whole list is: all its owner ever had, or what we gave back plus news."""

    HISTORY = "history"
    CONTEXT = "context"


class Adopt(StrEnum):
    """Whether a prepared compaction takes effect by itself, is offered, or left alone."""

    AUTO = "auto"
    OFFER = "offer"
    NEVER = "never"


class SeenBody(Struct, forbid_unknown_fields=True, frozen=True):
    """The pair the caller last saw."""

    version: Count
    length: Count


class UsageBody(Struct, forbid_unknown_fields=True, frozen=True):
    """Usage of the last reply. `input_tokens` = the whole prompt, cached parts included."""

    input_tokens: Counted
    version: Count
    length: Count | None = None
    """Length of the prepare answer the model call was made from; default: `seen.length`."""
    output_tokens: Counted = 0
    cache_read_tokens: Counted = 0
    cache_write_tokens: Counted = 0
    reasoning_tokens: Counted | None = None
    """Of the output, what the model thought; unsaid where the provider does not tell."""
    server_tools: bool = False
    """The reply used tools that run at the provider: the counts sum up several passes and are no base."""


class AppendBody(Struct, forbid_unknown_fields=True, frozen=True):
    """POST …/messages."""

    messages: list[Raw]
    seen: SeenBody | None = None
    pinned: list[Count] = []
    usage: UsageBody | None = None
    model: ModelName | None = None


ABSENT = Raw(b"")


class PrefixBody(Struct, forbid_unknown_fields=True, frozen=True):
    """What stands in front of the messages in the caller's requests; `digest` alone once it was sent in full."""

    digest: Annotated[str, Meta(max_length=64)] | None = None
    system: Raw = field(default_factory=lambda: ABSENT)
    tools: Raw = field(default_factory=lambda: ABSENT)
    params: Raw = field(default_factory=lambda: ABSENT)


class PrepareBody(Struct, forbid_unknown_fields=True, frozen=True):
    """POST …/prepare."""

    format: Format | None = None
    model: ModelName | None = None
    window: Tokens | None = None
    max_output: Tokens | None = None
    seen: SeenBody | None = None
    messages: list[Raw] | None = None
    pinned: list[Count] = []
    view: View | None = None
    heal: bool = False
    usage: UsageBody | None = None
    adopt: Adopt = Adopt.AUTO
    overflow: bool = False
    wait: Annotated[float, Meta(ge=0, le=600)] = 0.0
    have: Annotated[str, Meta(max_length=64)] | None = None
    prefix: PrefixBody | None = None
    render: bool = False
    open_calls: Annotated[dict[CallId, Literal["pending", "dead"]], Meta(max_length=1000)] = {}


class CreateBody(Struct, forbid_unknown_fields=True, frozen=True):
    """POST /v1/sessions."""

    id: SessionId
    format: Format
    model: ModelName | None = None
    window: Tokens | None = None
    max_output: Tokens | None = None
    parent: SessionId | None = None
    recreate: bool = False


class ReplaceBody(Struct, forbid_unknown_fields=True, frozen=True):
    """Another message in the place of one."""

    seq: Count
    message: Raw


class RewindBody(Struct, forbid_unknown_fields=True, frozen=True):
    """POST …/rewind: exactly one of `to`, `replace`, `redact`."""

    seen: SeenBody
    to: Count | None = None
    replace: ReplaceBody | None = None
    redact: Annotated[list[Count], Meta(min_length=1)] | None = None


class ForkBody(Struct, forbid_unknown_fields=True, frozen=True):
    """POST …/fork."""

    id: SessionId
    to: Count | None = None


class AdoptBody(Struct, forbid_unknown_fields=True, frozen=True):
    """POST …/adopt; without `candidate` the newest open one."""

    candidate: CandidateId | None = None


class DeclineBody(Struct, forbid_unknown_fields=True, frozen=True):
    """POST …/decline."""

    candidate: CandidateId


class CompactBody(Struct, forbid_unknown_fields=True, frozen=True, rename={"start": "from"}):
    """POST …/compact."""

    focus: Annotated[str, Meta(max_length=4000)] | None = None
    start: Count | None = None
    upto: Count | None = None
    dry_run: bool = False


class ResultBody(Struct, forbid_unknown_fields=True, frozen=True):
    """`POST …/result`: the reply to a client-run request, as the provider gave it."""

    request: Annotated[str, Meta(max_length=64)]
    """Its id."""
    reply: Raw


class EmptyBody(Struct, forbid_unknown_fields=True, frozen=True):
    """A call that needs nothing said."""


class TenantBody(Struct, forbid_unknown_fields=True, frozen=True):
    """POST /v1/tenants."""

    tenant: Annotated[str, Meta(max_length=64)]


class KeyBody(Struct, forbid_unknown_fields=True, frozen=True):
    """POST /v1/keys."""

    tenant: Annotated[str, Meta(max_length=64)] | None = None
    scopes: Annotated[list[Literal["agent", "ops", "admin", "platform"]], Meta(min_length=1)] = field(
        default_factory=lambda: ["agent"]
    )
