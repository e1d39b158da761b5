"""What went over the wire between the client and the service, seen without touching either."""

from __future__ import annotations

import json
from typing import Any

import httpx

from precompact_cli.sender import Statement


class Wiretap(httpx.BaseTransport):
    """A transport that keeps the last answer to `prepare`; the client beneath knows nothing of it."""

    def __init__(self) -> None:
        self._inner = httpx.HTTPTransport()
        self._inserts: dict[str, tuple[Any, ...]] = {}
        self.answer: dict[str, Any] = {}

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Passes the request on and reads along."""
        response = self._inner.handle_request(request)
        raw = response.read()
        if request.url.path.endswith("/prepare") and response.status_code == httpx.codes.OK:
            self.answer = json.loads(raw)
        return response

    def close(self) -> None:
        """Gives the connections back."""
        self._inner.close()

    @property
    def blocked_s(self) -> float:
        """How long the last `prepare` was blocked on a job, by the service's own clock."""
        return float((self.answer.get("compaction") or {}).get("blocked_s") or 0.0)

    def statement(self) -> Statement:
        """The context as last stated; an insert that was left out is the one sent before for that checkpoint."""
        context = self.answer["context"]
        checkpoint = context.get("checkpoint")
        if checkpoint is not None and "insert" in context:
            self._inserts[checkpoint] = tuple(context["insert"])
        insert = context.get("insert")
        if insert is None:
            insert = self._inserts.get(checkpoint or "", ())
        return Statement(
            checkpoint, tuple(insert), int(context.get("keep_from") or 0), tuple(context.get("edits") or ())
        )
