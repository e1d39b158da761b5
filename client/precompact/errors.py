"""What can go wrong, as one tree: catch `PrecompactError` for all of it, a leaf for the case you can act on.

No message holds conversation text, a key or a header value.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class PrecompactError(Exception):
    """Root of everything this package raises on purpose."""


class ServiceUnreachableError(PrecompactError):
    """No usable answer after all attempts. Nothing is lost: what was not delivered goes with the next call."""


class UnexpectedAnswerError(PrecompactError):
    """The service answered something this client does not understand; compare the versions of both."""


class ProblemError(PrecompactError):
    """The service refused a call: `status`, the stable `code`, its advice in `detail`, further `facts`."""

    def __init__(self, status: int, code: str, detail: str, facts: Mapping[str, Any]) -> None:
        super().__init__(f"{code} ({status}): {detail}")
        self.status = status
        self.code = code
        self.detail = detail
        self.facts = dict(facts)


class NotAuthorizedError(ProblemError):
    """The key is missing, unknown or may not do this: check the key given to the client."""


class SessionNotFoundError(ProblemError):
    """No such session for this key's tenant: `prepare` with `format` and `window` creates it."""


class SessionDeletedError(ProblemError):
    """The session was deleted; use another id, or create it again on purpose."""


class HistoryRewrittenError(ProblemError):
    """Somebody else changed entries this session had already seen: call `session.reload()`, then go on."""


class HistoryDivergedError(ProblemError):
    """Another writer added entries this session does not have: call `session.reload()`, or `fork` your own."""


class UnseenEndError(ProblemError):
    """A removal was refused because the history has a newer end: call `session.reload()`, then decide again."""


class CandidateRefusedError(ProblemError):
    """The candidate cannot be adopted (`facts["reason"]` says why); go on without it."""


_BY_CODE: dict[str, type[ProblemError]] = {
    "unauthorized": NotAuthorizedError,
    "forbidden": NotAuthorizedError,
    "session_not_found": SessionNotFoundError,
    "session_deleted": SessionDeletedError,
    "history_rewritten": HistoryRewrittenError,
    "history_diverged": HistoryDivergedError,
    "unseen_end": UnseenEndError,
    "candidate_refused": CandidateRefusedError,
}
_STANDARD = {"type", "title", "status", "detail", "code", "instance"}


def problem(status: int, body: Mapping[str, Any]) -> ProblemError:
    """The error for one problem document; an unknown code gives a plain `ProblemError`."""
    code = str(body.get("code", "unknown"))
    facts = {name: value for name, value in body.items() if name not in _STANDARD}
    detail = str(body.get("detail") or body.get("title") or "the service gave no detail")
    return _BY_CODE.get(code, ProblemError)(status, code, _with_advice(code, detail), facts)


def _with_advice(code: str, detail: str) -> str:
    if code in {"history_rewritten", "history_diverged", "unseen_end"}:
        return f"{detail} With this client: session.reload() reads the history from the service."
    return detail
