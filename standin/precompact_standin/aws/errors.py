"""Errors as Bedrock writes them: a message in the body, the kind in a header."""

from __future__ import annotations

from collections.abc import Mapping

from precompact_standin.answers import Answer, as_json
from precompact_standin.anthropic import errors as anthropic
from precompact_standin.aws import eventstream
from precompact_standin.refusal import Refusal
from precompact_standin.scenario import Fault, FaultKind

ID_HEADER = "x-amzn-requestid"
_KINDS: Mapping[int, str] = {
    400: "ValidationException",
    401: "UnrecognizedClientException",
    402: "AccessDeniedException",
    403: "AccessDeniedException",
    404: "ResourceNotFoundException",
    408: "ModelTimeoutException",
    413: "ValidationException",
    424: "ModelErrorException",
    429: "ThrottlingException",
    500: "InternalServerException",
    503: "ServiceUnavailableException",
    504: "ModelTimeoutException",
    529: "ServiceUnavailableException",
}
_STATUS: Mapping[int, int] = {401: 403, 402: 403, 413: 400, 504: 408, 529: 503}
"""Where Bedrock has no such status."""
_TEXTS: Mapping[FaultKind, str] = {
    FaultKind.CONTEXT_OVERFLOW: "Input is too long for requested model.",
    FaultKind.SPEND_LIMITED: "Too many tokens per day, please wait before trying again.",
    FaultKind.TOO_LARGE: "Input is too long for requested model.",
}


def refused(refusal: Refusal, _request_id: str) -> Answer:
    """The refusal as AWS writes it; there are no codes in the body."""
    kind = refusal.code if (refusal.code or "").endswith("Exception") else _KINDS.get(refusal.status)
    headers = {**refusal.headers, "x-amzn-errortype": kind or "InternalServerException"}
    status = _STATUS.get(refusal.status, refusal.status)
    return as_json({"message": refusal.message}, status=status, headers=headers)


def faulty(fault: Fault, request_id: str) -> Answer | None:
    """The answer of a fault that comes instead of a reply; nothing for the other kinds."""
    return anthropic.faulty(fault, request_id, write=refused, texts=_TEXTS)


def error_events(fault: Fault | None) -> dict[str, bytes]:
    """What a stream breaks off with."""
    kind = (fault.code if fault else "") or "serviceUnavailableException"
    event = eventstream.exception(kind, (fault.message if fault else "") or "The service is unavailable")
    return {FaultKind.ERROR_EVENT: event, FaultKind.FLAT_ERROR_EVENT: event}
