"""What can go wrong with a call, one row each, and what every provider makes of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from precompact_shared.errors import PrecompactError
from precompact_standin.scenario import Fault, FaultKind
from precompact_worker.providers.verdicts import (
    ProviderFailed,
    ProviderLimited,
    ProviderMisconfigured,
    ProviderOverflow,
    ProviderRefused,
    ProviderRejected,
    ProviderTimeout,
    ProviderUnusable,
)
from tests.support.backends import CALLER, NATIVE, TEXT, Backend, Dialect

Family = type[PrecompactError]


@dataclass(frozen=True, slots=True)
class End:
    """What a call comes to: the error's family and the outcome on record, for each of `calls` calls."""

    family: Family
    outcome: str
    calls: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A fault and its end, by dialect (`:native`, `:stream`, `:json`), by `stream`, `json`, or `*` for all; what has no end there does not happen there."""

    id: str
    fault: Fault
    ends: Mapping[str, End]
    where: str = "any"
    """`stream`, `json` (also whole native replies), `answer` (also what a caller posts), `any` (every server)."""
    fields: Mapping[str, Any] = field(default_factory=dict)
    """Of the policy's provider."""

    def end_for(self, backend: Backend) -> End | None:
        """The end at this provider; None where it cannot happen."""
        if not _happens(self.where, backend):
            return None
        if backend.dialect is Dialect.COMPACT and self.where == "answer":
            return self.ends.get(Dialect.COMPACT)
        way = "stream" if backend.streams else "json"
        special = [f"{backend.dialect}:native"] if backend.is_native else []
        names = [*special, f"{backend.dialect}:{way}", backend.dialect, way, "*"]
        found = next((self.ends[name] for name in names if name in self.ends), None)
        return found if found is None or not backend.is_native else _once(found)


def _happens(where: str, backend: Backend) -> bool:
    if backend in CALLER:
        return where == "answer"
    if where == "stream":
        return backend.streams
    return where != "json" or not backend.streams


def _once(end: End) -> End:
    """A native call is made once: its request cannot be made smaller, its limit is high, its block is whole or none."""
    return End(end.family, end.outcome)


def same(family: Family, outcome: str, calls: int = 1) -> dict[str, End]:
    """The same end everywhere."""
    return {"*": End(family, outcome, calls)}


def by_dialect(family: Family, anthropic: str, aws: str, openai: str) -> dict[str, End]:
    """One family, each dialect's own word for it."""
    words: dict[Dialect, str] = {Dialect.ANTHROPIC: anthropic, Dialect.AWS: aws}
    return {str(dialect): End(family, words.get(dialect, openai)) for dialect in Dialect}


def spent_at_openai(code: str) -> dict[str, End]:
    """An account without money, which looks like a rate limit."""
    end = End(ProviderMisconfigured, code)
    return {Dialect.RESPONSES: end, Dialect.CHAT: end, Dialect.COMPACT: end}


def _fault(kind: FaultKind, **fields: Any) -> Fault:
    return Fault(**{"kind": kind, "message": "planted: the secret word is pomegranate", **fields})


K = FaultKind
SERVER_ERROR: dict[str, End] = {Dialect.COMPACT: End(ProviderFailed, "server_error")}
EMPTY: dict[str, End] = {**same(ProviderUnusable, "empty", 2), **SERVER_ERROR}
UNSAID: dict[str, End] = {f"{Dialect.RESPONSES}:native": End(ProviderUnusable, "empty"), **SERVER_ERROR}
"""A compaction item does not come, and nobody says why."""
OVERFLOW = End(ProviderOverflow, "prompt_too_long", 4)
QUICK: dict[str, Any] = {"call_timeout_s": 0.4, "idle_timeout_s": 0.3}
STATUS: tuple[Case, ...] = (
    Case(
        id="rate-limit",
        fault=_fault(K.RATE_LIMITED, retry_after="7"),
        ends=by_dialect(ProviderLimited, "rate_limit_error", "ThrottlingException", "rate_limit_exceeded"),
    ),
    Case(
        id="spent",
        fault=_fault(K.SPEND_LIMITED),
        ends={
            **by_dialect(ProviderMisconfigured, "enforced_spend_limit_reached", "", "insufficient_quota"),
            Dialect.AWS: End(ProviderLimited, "ThrottlingException"),
        },
    ),
    *(
        Case(id=code, fault=_fault(K.SPEND_LIMITED, code=code), ends=spent_at_openai(code))
        for code in ("credit_balance_exhausted", "project_spend_limit_exceeded")
    ),
    Case(
        id="overloaded",
        fault=_fault(K.OVERLOADED),
        ends=by_dialect(
            ProviderFailed, "overloaded_error", "ServiceUnavailableException", "server_is_overloaded"
        ),
    ),
    Case(
        id="compaction-unavailable",
        fault=_fault(K.COMPACTION_UNAVAILABLE),
        ends=by_dialect(
            ProviderFailed, "compaction_unavailable", "ServiceUnavailableException", "server_is_overloaded"
        ),
    ),
    Case(
        id="server-error",
        fault=_fault(K.SERVER_ERROR),
        ends=by_dialect(ProviderFailed, "api_error", "InternalServerException", "server_error"),
    ),
    Case(
        id="gateway-timeout",
        fault=_fault(K.GATEWAY_TIMEOUT),
        ends=by_dialect(ProviderFailed, "timeout_error", "ModelTimeoutException", "server_error"),
    ),
    Case(
        id="unauthorized",
        fault=_fault(K.UNAUTHORIZED),
        ends=by_dialect(
            ProviderMisconfigured, "authentication_error", "UnrecognizedClientException", "invalid_api_key"
        ),
    ),
    Case(
        id="unpaid",
        fault=_fault(K.PAYMENT_REQUIRED),
        ends=by_dialect(ProviderMisconfigured, "billing_error", "AccessDeniedException", "billing_error"),
    ),
    Case(
        id="forbidden",
        fault=_fault(K.FORBIDDEN),
        ends=by_dialect(
            ProviderMisconfigured, "permission_error", "AccessDeniedException", "unsupported_country"
        ),
    ),
    Case(
        id="not-found",
        fault=_fault(K.NOT_FOUND),
        ends=by_dialect(
            ProviderMisconfigured, "not_found_error", "ResourceNotFoundException", "model_not_found"
        ),
    ),
    Case(
        id="bad-request",
        fault=_fault(K.BAD_REQUEST),
        ends=by_dialect(
            ProviderRejected, "invalid_request_error", "ValidationException", "invalid_request_error"
        ),
    ),
    *(
        Case(
            id=code,
            fault=_fault(K.BAD_REQUEST, code=code),
            ends={f"{Dialect.ANTHROPIC}:native": End(ProviderRejected, code)},
        )
        for code in (
            "compaction_block_misplaced",
            "compaction_block_ambiguous",
            "compaction_signature_invalid",
            "compaction_content_mismatch",
            "compaction_incomplete_turn",
            "compaction_nothing_to_summarize",
            "compaction_too_many_tool_references",
            "compaction_tool_changes_mismatch",
        )
    ),
    Case(
        id="not-on-this-platform",
        fault=Fault(kind=K.BAD_REQUEST, message="compaction.instructions is not available on this platform"),
        ends={f"{Dialect.AWS}:native": End(ProviderRejected, "ValidationException")},
    ),
    Case(
        id="too-long",
        fault=Fault(kind=K.CONTEXT_OVERFLOW),
        ends={
            Dialect.ANTHROPIC: OVERFLOW,
            Dialect.AWS: OVERFLOW,
            "*": End(ProviderOverflow, "context_length_exceeded", 4),
        },
    ),
    Case(
        id="too-large",
        fault=Fault(kind=K.TOO_LARGE),
        ends={Dialect.AWS: OVERFLOW, "*": End(ProviderOverflow, "request_too_large", 4)},
    ),
    Case(
        id="filtered-prompt",
        fault=Fault(kind=K.CONTENT_FILTERED),
        ends=same(ProviderRefused, "content_filter"),
    ),
    Case(id="page-500", fault=_fault(K.HTML_500), ends=same(ProviderFailed, "http_500")),
    Case(id="page-502", fault=_fault(K.HTML_502), ends=same(ProviderFailed, "http_502")),
    Case(
        id="page-200",
        fault=_fault(K.HTML_200),
        ends={
            "json": End(ProviderFailed, "garbled"),
            f"{Dialect.AWS}:stream": End(ProviderFailed, "garbled"),
            "stream": End(ProviderFailed, "cut_off"),
        },
    ),
    Case(
        id="page-200-as-json",
        fault=_fault(K.HTML_200, media_type="application/json"),
        ends={
            "json": End(ProviderFailed, "garbled"),
            f"{Dialect.AWS}:stream": End(ProviderFailed, "garbled"),
            "stream": End(ProviderFailed, "cut_off"),
        },
    ),
    Case(
        id="nothing-200",
        fault=_fault(K.EMPTY_200),
        ends={"json": End(ProviderFailed, "garbled"), "stream": End(ProviderFailed, "cut_off")},
    ),
)
"""Answers in place of a reply."""
ANSWER: tuple[Case, ...] = (
    Case(
        id="refusal",
        where="answer",
        fault=_fault(K.REFUSAL),
        ends={**same(ProviderRefused, "refusal"), **UNSAID},
    ),
    Case(
        id="refusal-by-category",
        where="answer",
        fault=_fault(K.REFUSAL, code="cyber"),
        ends={
            Dialect.ANTHROPIC: End(ProviderRefused, "refusal"),
            Dialect.AWS: End(ProviderRefused, "refusal"),
        },
    ),
    Case(id="no-content", where="answer", fault=_fault(K.EMPTY_CONTENT), ends=EMPTY),
    Case(id="blank", where="answer", fault=_fault(K.BLANK_TEXT), ends=EMPTY),
    Case(
        id="tool-call",
        where="answer",
        fault=_fault(K.TOOL_CALL),
        ends={**same(ProviderUnusable, "tool_call", 2), **UNSAID},
    ),
    Case(
        id="cut-at-limit",
        where="answer",
        fault=_fault(K.TRUNCATED),
        ends=same(ProviderUnusable, "max_tokens", 2),
    ),
    Case(
        id="filtered-output",
        where="answer",
        fault=_fault(K.INCOMPLETE, code="content_filter"),
        ends={
            Dialect.ANTHROPIC: End(ProviderRefused, "refusal"),
            Dialect.AWS: End(ProviderRefused, "refusal"),
            "*": End(ProviderRefused, "content_filter"),
        },
    ),
    Case(
        id="incomplete-for-another-reason",
        where="answer",
        fault=_fault(K.INCOMPLETE, code="max_messages"),
        ends={Dialect.RESPONSES: End(ProviderUnusable, "incomplete", 2)},
    ),
    Case(
        id="paused",
        where="answer",
        fault=_fault(K.PAUSED),
        ends={
            Dialect.ANTHROPIC: End(ProviderUnusable, "pause_turn", 2),
            Dialect.AWS: End(ProviderUnusable, "pause_turn", 2),
        },
    ),
    Case(
        id="window-met",
        where="answer",
        fault=_fault(K.WINDOW_EXCEEDED),
        ends={
            Dialect.ANTHROPIC: End(ProviderOverflow, "window_exceeded", 4),
            Dialect.AWS: End(ProviderOverflow, "window_exceeded", 4),
            "*": End(ProviderUnusable, "max_tokens", 2),
        },
    ),
    Case(
        id="null-block",
        where="answer",
        fault=_fault(K.NULL_COMPACTION),
        ends=EMPTY,
    ),
    Case(
        id="failed",
        where="answer",
        fault=_fault(K.FAILED),
        ends={Dialect.RESPONSES: End(ProviderFailed, "server_error"), **EMPTY},
    ),
    Case(
        id="failed-by-limit",
        where="answer",
        fault=_fault(K.FAILED, code="rate_limit_exceeded"),
        ends={Dialect.RESPONSES: End(ProviderLimited, "rate_limit_exceeded")},
    ),
    Case(
        id="failed-by-policy",
        where="answer",
        fault=_fault(K.FAILED, code="invalid_prompt"),
        ends={Dialect.RESPONSES: End(ProviderRefused, "invalid_prompt")},
    ),
)
"""Good HTTP answers without a usable text."""
WAY: tuple[Case, ...] = (
    Case(id="hangs-up", fault=_fault(K.RESET), ends=same(ProviderFailed, "unreachable")),
    Case(
        id="says-nothing",
        fault=_fault(K.SLOW_FIRST_BYTE, duration_s=30),
        fields=QUICK,
        ends=same(ProviderTimeout, "timeout"),
    ),
    Case(
        id="breaks-in-the-middle",
        fault=_fault(K.RESET_STREAM),
        ends=same(ProviderFailed, "unreachable"),
    ),
    Case(
        id="falls-silent",
        where="stream",
        fault=_fault(K.STALLED_STREAM, duration_s=30),
        fields={"idle_timeout_s": 0.3},
        ends=same(ProviderTimeout, "timeout"),
    ),
    Case(
        id="falls-silent-in-its-body",
        where="json",
        fault=_fault(K.STALLED_STREAM, duration_s=30),
        fields=QUICK,
        ends=same(ProviderTimeout, "timeout"),
    ),
    Case(
        id="only-pings",
        where="stream",
        fault=_fault(K.PINGED_STREAM, duration_s=3),
        fields=QUICK,
        ends=same(ProviderTimeout, "timeout"),
    ),
    Case(
        id="ends-early",
        where="stream",
        fault=_fault(K.CUT_STREAM),
        ends=same(ProviderFailed, "cut_off"),
    ),
    Case(
        id="ends-before-its-last-event",
        where="stream",
        fault=_fault(K.CUT_STREAM, after_events=9_999),
        ends=same(ProviderFailed, "cut_off"),
    ),
    Case(
        id="error-in-the-stream",
        where="stream",
        fault=_fault(K.ERROR_EVENT),
        ends=by_dialect(ProviderFailed, "overloaded_error", "serviceUnavailableException", "server_error"),
    ),
    Case(
        id="flat-error-in-the-stream",
        where="stream",
        fault=_fault(K.FLAT_ERROR_EVENT),
        ends=by_dialect(ProviderFailed, "overloaded_error", "serviceUnavailableException", "server_error"),
    ),
    Case(
        id="limit-in-the-stream",
        where="stream",
        fault=_fault(K.ERROR_EVENT, code="rate_limit_error"),
        ends={Dialect.ANTHROPIC: End(ProviderLimited, "rate_limit_error")},
    ),
    Case(
        id="wrong-request-in-the-stream",
        where="stream",
        fault=_fault(K.ERROR_EVENT, code="invalid_request_error"),
        ends={Dialect.ANTHROPIC: End(ProviderRejected, "invalid_request_error")},
    ),
    Case(
        id="throttled-in-the-stream",
        where="stream",
        fault=_fault(K.ERROR_EVENT, code="throttlingException"),
        ends={Dialect.AWS: End(ProviderLimited, "throttlingException")},
    ),
    Case(
        id="too-long-in-the-stream",
        where="stream",
        fault=_fault(
            K.ERROR_EVENT, code="validationException", message="Input is too long for requested model."
        ),
        ends={Dialect.AWS: OVERFLOW},
    ),
    Case(
        id="spent-in-the-stream",
        where="stream",
        fault=_fault(K.FLAT_ERROR_EVENT, code="insufficient_quota"),
        ends=spent_at_openai("insufficient_quota"),
    ),
)
"""What goes wrong underway."""
CASES: tuple[Case, ...] = (*STATUS, *ANSWER, *WAY)


def rows() -> Iterator[tuple[Backend, Case, End]]:
    """Every provider with everything that can happen to it."""
    for backend in (*TEXT, *NATIVE, *CALLER):
        for case in CASES:
            end = case.end_for(backend)
            if end is not None:
                yield backend, case, end
