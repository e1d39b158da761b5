"""The Python client of precompact: compacted contexts for agent loops, without waiting for a summary.

session = precompact.Client(url, key).session("chat-17", format="anthropic", model="claude-sonnet-4-6")
context = session.prepare([{"role": "user", "content": "..."}])
reply = anthropic.messages.create(messages=context.messages, ...)
session.record(reply)
"""

from __future__ import annotations

from precompact.async_client import AsyncClient, AsyncSession
from precompact.client import Client, Session
from precompact.context import (
    Candidate,
    Compacted,
    Compaction,
    Context,
    Format,
    Job,
    Recalled,
    RequestHints,
    Status,
)
from precompact.errors import (
    CandidateRefusedError,
    HistoryDivergedError,
    HistoryRewrittenError,
    NotAuthorizedError,
    PrecompactError,
    ProblemError,
    ServiceUnreachableError,
    SessionDeletedError,
    SessionNotFoundError,
    UnexpectedAnswerError,
    UnseenEndError,
)
from precompact.splice import apply_context
from precompact.steps import Retry

__all__ = [
    "AsyncClient",
    "AsyncSession",
    "Candidate",
    "CandidateRefusedError",
    "Client",
    "Compacted",
    "Compaction",
    "Context",
    "Format",
    "HistoryDivergedError",
    "HistoryRewrittenError",
    "Job",
    "NotAuthorizedError",
    "PrecompactError",
    "ProblemError",
    "Recalled",
    "RequestHints",
    "Retry",
    "ServiceUnreachableError",
    "Session",
    "SessionDeletedError",
    "SessionNotFoundError",
    "Status",
    "UnexpectedAnswerError",
    "UnseenEndError",
    "apply_context",
]
