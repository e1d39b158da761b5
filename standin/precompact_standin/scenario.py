"""What a run of the stand-in is told to be: its models, keys, limits, lies, replies and faults. Plain data."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Any

import msgspec


class FaultKind(StrEnum):
    """What can go wrong. Where a kind has a number or a text to choose, a field of `Fault` takes it."""

    # answered instead of the request, before it is looked at
    RATE_LIMITED = "rate_limited"
    SPEND_LIMITED = "spend_limited"
    OVERLOADED = "overloaded"
    COMPACTION_UNAVAILABLE = "compaction_unavailable"
    SERVER_ERROR = "server_error"
    GATEWAY_TIMEOUT = "gateway_timeout"
    HTML_500 = "html_500"
    HTML_502 = "html_502"
    HTML_200 = "html_200"
    EMPTY_200 = "empty_200"
    BAD_REQUEST = "bad_request"
    CONTEXT_OVERFLOW = "context_overflow"
    UNAUTHORIZED = "unauthorized"
    PAYMENT_REQUIRED = "payment_required"
    FORBIDDEN = "forbidden"
    NOT_FOUND = "not_found"
    TOO_LARGE = "too_large"
    CONTENT_FILTERED = "content_filtered"
    # a good HTTP answer that holds no usable text
    REFUSAL = "refusal"
    EMPTY_CONTENT = "empty_content"
    BLANK_TEXT = "blank_text"
    TOOL_CALL = "tool_call"
    TRUNCATED = "truncated"
    PAUSED = "paused"
    WINDOW_EXCEEDED = "window_exceeded"
    NULL_COMPACTION = "null_compaction"
    FAILED = "failed"
    INCOMPLETE = "incomplete"
    # on the way
    CUT_STREAM = "cut_stream"
    RESET_STREAM = "reset_stream"
    STALLED_STREAM = "stalled_stream"
    PINGED_STREAM = "pinged_stream"
    """Nothing but signs of life for `duration_s`, then the rest."""
    ERROR_EVENT = "error_event"
    FLAT_ERROR_EVENT = "flat_error_event"
    SLOW_FIRST_BYTE = "slow_first_byte"
    RESET = "reset"


class Fault(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One thing going wrong. Fields a kind has no use for are ignored."""

    kind: FaultKind
    retry_after: str = ""
    """Sent as the header's value, word for word; "" = none."""
    code: str = ""
    """Error code, incomplete reason or refusal category instead of the kind's usual one."""
    message: str = ""
    media_type: str = ""
    """Content type of a page instead of its own: `text/html`, and JSON where there is none."""
    duration_s: float = 3600.0
    """How long a stalled stream or a slow first byte lasts, unless the client leaves before."""
    after_events: int = 3
    """How many stream events still go out before a fault on the way."""


class FaultRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """When a fault happens: to every, n-th or named requests (from 1) among those whose path ends in `path`."""

    fault: Fault
    path: str = ""
    every: int = 1
    on: tuple[int, ...] = ()
    times: int = 0
    """At most so often; 0 = without end."""


class ToolCall(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A call the model makes."""

    name: str
    input: dict[str, Any] = {}


class Reply(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What the model says in one reply."""

    text: str = ""
    thinking: str = ""
    calls: tuple[ToolCall, ...] = ()


class Step(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One entry of the script, used up by one generating request: a fault, a reply, or neither (the usual answer)."""

    fault: Fault | None = None
    reply: Reply | None = None


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A minute's allowance per key and model; 0 = unlimited."""

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    charge_max_tokens: bool = False
    """Whether the output limit is charged with `max_tokens` in advance (unsettled outside; off)."""


class CacheLies(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How the prompt cache disappoints. Writes are billed all the same."""

    evict_every: int = 0
    """Before every n-th look-up everything is forgotten; 0 = never."""
    other_workspace: bool = False
    """Every request lands where nobody wrote before."""
    concurrent_writer_s: float = 0.0
    """What was written can be read only so much later."""


class Pace(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How long answers take, in real time."""

    first_byte_s: float = 0.0
    per_token_s: float = 0.0


class ModelRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A model of the scenario; what is left out is taken from the built-in row of that name."""

    window: int = 0
    max_output: int = 0
    factor: float = 0.0
    cache_min_tokens: int = 0


class Scenario(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Everything the stand-in can be told. The default is a truthful, unlimited, healthy provider."""

    keys: dict[str, str] = {}
    """Key -> workspace. Empty: every key is good and has a workspace of its own."""
    signers: dict[str, str] = {}
    """Access key -> secret of those who sign requests as AWS does. Empty: signatures are read, not checked."""
    models: dict[str, ModelRow] = {}
    only_known_models: bool = False
    """Whether a model that neither the scenario nor the built-in table knows is refused with 404."""
    paths_off: tuple[str, ...] = ()
    """Ends of paths that this server does not have: 404 as from a web framework."""
    rules_off: tuple[str, ...] = ()
    """Ids of validity rules that are not enforced (`A9b`, `O4`, …)."""
    foreign_signatures: bool = True
    """Whether thinking blocks and reasoning items that were not made here pass; they cannot be checked."""
    limits: Limits = Limits()
    cache: CacheLies = CacheLies()
    pace: Pace = Pace()
    faults: tuple[FaultRule, ...] = ()
    script: tuple[Step, ...] = ()
    reply_text: str = "Done. The change is in place and the tests pass."
    start_s: float | None = None
    """Where the clock stands still until it is moved; nothing = real time."""
    secret: str = "stand-in"  # noqa: S105 - signs what this server itself hands out, so that it survives a restart


def read_scenario(path: Path) -> Scenario:
    """Read a scenario from TOML or JSON, by the file's ending. Raises `msgspec.ValidationError` for what it cannot be."""
    content = path.read_bytes()
    if path.suffix == ".toml":
        return msgspec.toml.decode(content, type=Scenario)
    return msgspec.json.decode(content, type=Scenario)
